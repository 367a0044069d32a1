"""Writing a file so that it is either whole or absent."""

import os
import uuid
from pathlib import Path


def write_atomic(path: Path, data: bytes, *, via: Path | None = None) -> Path:
    """Puts `data` at `path` under a temporary name first; leaves a file that is already the same.

    Args:
        path: Where to; folders are made.
        data: Everything the file shall hold.
        via: Folder for the temporary file, on the same disk; beside `path` by default. What a kill
            leaves is then found there.
    """
    if path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = via or path.parent
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{path.name}.{uuid.uuid4().hex}"
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path
