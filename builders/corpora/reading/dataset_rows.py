"""Rows of a dataset whose audio is still encoded; the bytes become files named by their hash."""

import hashlib
from pathlib import Path, PurePosixPath

from builders.corpora.base import CorpusError
from builders.corpora.reading.audio_files import EXTENSIONS
from otoscope.atomic import write_atomic

MAGIC = {b"RIFF": ".wav", b"fLaC": ".flac", b"OggS": ".ogg", b"ID3": ".mp3", b"\xff\xfb": ".mp3"}


def require_revision(repository: str | Path, revision: str | None) -> None:
    """Rejects a Hub repository without a revision, whose content may change between two calls.

    Raises:
        CorpusError: No revision.
    """
    if not revision:
        raise CorpusError(
            f"{repository} is not on this disk, so it must be a Hub repository; pin it with a "
            "revision (a commit hash), or its content may change between two calls"
        )


def reject_revision_of_folder(path: Path, revision: str | None) -> None:
    """Rejects a revision of something on this disk, which has none.

    Raises:
        CorpusError: Naming both.
    """
    if revision is not None and path.exists():
        raise CorpusError(
            f"{path} is on this disk, where nothing has a revision; leave @{revision} out"
        )


def cell_text(value: object) -> str:
    """A cell as text, white space collapsed; empty for none."""
    return "" if value is None else " ".join(str(value).split())


def store_audio(folder: Path, data: bytes, stored_path: str) -> Path:
    """Writes the bytes under their hash, with the extension of the path or of their header."""
    suffix = PurePosixPath(stored_path).suffix.lower()
    if suffix not in EXTENSIONS:
        suffix = next((end for magic, end in MAGIC.items() if data.startswith(magic)), ".audio")
    return write_atomic(folder / f"{hashlib.sha256(data).hexdigest()[:32]}{suffix}", data)
