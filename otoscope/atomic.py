"""Atomic writes: a file is complete or absent, and a checksum tells whether it still is."""

import errno
import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


def write_atomic(
    path: Path,
    content: bytes | Callable[[Path], object],
    *,
    via: Path | None = None,
    sync: bool = False,
) -> Path:
    """Writes under a temporary name, then renames; bytes that are there already are left alone.

    Args:
        path: Where to; folders are made.
        content: The bytes, or a function that writes a file at the path it is given.
        via: Folder for the temporary file, on the same disk; beside `path` by default. What a kill
            leaves is then in that folder.
        sync: Flush to disk before renaming, so that the file survives a power failure.

    Raises:
        OSError: The disk is full, for example; it names `path`. What was there before stays.
    """
    if isinstance(content, bytes) and path.is_file() and path.read_bytes() == content:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = via or path.parent
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{path.name}.{uuid.uuid4().hex}"
    try:
        temporary.write_bytes(content) if isinstance(content, bytes) else content(temporary)
        if sync:
            sync_to_disk(temporary)
        os.replace(temporary, path)
    except OSError as error:
        # a full disk names no file, and nobody knows the temporary name
        error.filename, error.filename2 = os.fspath(path), None
        raise
    finally:
        temporary.unlink(missing_ok=True)
    return path


@contextmanager
def naming_disk_errors(path: Path) -> Iterator[None]:
    """Gives an error of a full or failing disk, which names no file, the path of what is written.

    Raises:
        OSError: As it came, with its file name.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in DISK_ERRORS:
            error.filename = os.fspath(path)
        raise


def sync_to_disk(path: Path) -> None:
    """Flushes a file, or the names in a folder, so that a power failure loses none of it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal digits.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(
    path: Path, content: Any, *, via: Path | None = None, sync: bool = False, **style: Any
) -> Path:
    """Writes JSON and a line break with `write_atomic`; `style` is for `json.dumps`."""
    text = json.dumps(content, **{"indent": 1, **style}) + "\n"
    return write_atomic(path, text.encode(), via=via, sync=sync)
