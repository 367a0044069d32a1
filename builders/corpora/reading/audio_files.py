"""Audio files of a folder, by their extensions."""

from pathlib import Path

from builders.corpora.base import CorpusError, existing_folder

EXTENSIONS = {
    *(".wav", ".wave", ".w64", ".rf64", ".caf", ".au", ".snd", ".aif", ".aiff", ".aifc"),
    *(".flac", ".ogg", ".oga", ".opus", ".mp3"),
}


def list_audio(root: str | Path) -> dict[str, Path]:
    """Audio files below a folder by relative path; hidden files and folders are passed over.

    Raises:
        CorpusError: Not a folder, or no audio in it.
    """
    root = existing_folder(root)
    files = {}
    for path in root.rglob("*"):
        relative = path.relative_to(root)
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.suffix.lower() in EXTENSIONS and not hidden and path.is_file():
            files[relative.as_posix()] = path
    if not files:
        raise CorpusError(
            f"{root} and its subfolders hold no audio file; "
            f"looked for {', '.join(sorted(EXTENSIONS))}"
        )
    return files
