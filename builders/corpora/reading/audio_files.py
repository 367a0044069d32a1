"""Audio files of a folder, by their extensions."""

import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from builders.corpora.archives import unpack_hint
from builders.corpora.base import CorpusError, Skipped, existing_folder

EXTENSIONS = {
    *(".wav", ".wave", ".w64", ".rf64", ".caf", ".au", ".snd", ".aif", ".aiff", ".aifc"),
    *(".flac", ".ogg", ".oga", ".opus", ".mp3"),
}
TABLES = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
"""Tables that are looked for in the folder."""


class AudioFolder(NamedTuple):
    """What lies below a folder.

    Attributes:
        files: Audio files by relative path, sorted.
        passed_over: What else is there, hidden files and folders apart; unknown extensions counted.
        unreadable: Folders that may not be opened and links to audio that lead nowhere.
    """

    files: dict[str, Path]
    passed_over: list[Skipped]
    unreadable: list[Skipped]


def list_audio(root: str | Path) -> dict[str, Path]:
    """Audio files below a folder by relative path; hidden files and folders are passed over.

    Raises:
        CorpusError: Not a folder, no audio in it, or something that cannot be read.
    """
    found = walk_audio(root)
    reject_unreadable(root, found)
    return found.files


def walk_audio(root: str | Path) -> AudioFolder:
    """The audio files below a folder, and everything else that is there.

    Links to files are followed, links to folders are not.

    Raises:
        CorpusError: Not a folder, or no audio in it.
    """
    root = existing_folder(root)
    files: dict[str, Path] = {}
    passed_over: list[Skipped] = []
    unreadable: list[Skipped] = []
    extensions: Counter[str] = Counter()

    def name_of(path: str | Path) -> str:
        return Path(path).relative_to(root).as_posix()

    def note(error: OSError) -> None:
        unreadable.append(Skipped(name_of(error.filename), error.strerror or str(error)))

    for where, folders, names in os.walk(root, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for path in (Path(where, name) for name in folders):
            if path.is_symlink():
                passed_over.append(Skipped(name_of(path), "a link to a folder, not followed"))
        for path in (Path(where, name) for name in names if not name.startswith(".")):
            if path.suffix.lower() not in EXTENSIONS:
                extensions[path.suffix.lower()] += path.name not in TABLES
            elif path.is_file():
                files[name_of(path)] = path
            elif path.is_symlink() and not path.exists():
                unreadable.append(Skipped(name_of(path), f"a link to {path.readlink()}, not there"))
            else:
                passed_over.append(Skipped(name_of(path), "a device, pipe or socket"))
    if not files and not unreadable:
        raise CorpusError(
            f"{root} and its subfolders hold no audio file; "
            f"looked for {', '.join(sorted(EXTENSIONS))}{unpack_hint(root)}"
        )
    for extension, n in sorted(extensions.items()):
        if n:
            name = f"*{extension}" if extension else "files without an extension"
            passed_over.append(Skipped(name, f"no audio by extension, {n} of them"))
    return AudioFolder(dict(sorted(files.items())), passed_over, unreadable)


def reject_unreadable(root: str | Path, found: AudioFolder) -> None:
    """Rejects a folder of which a part cannot be read.

    Raises:
        CorpusError: Naming the first of what cannot be.
    """
    if found.unreadable:
        name, reason = found.unreadable[0]
        n_more = len(found.unreadable) - 1
        more = f"; and {n_more} more that cannot be read" if n_more else ""
        raise CorpusError(
            f"{Path(root) / name}: {reason}{more}; mend or "
            "remove it, or list the files to take in metadata.csv"
        )
