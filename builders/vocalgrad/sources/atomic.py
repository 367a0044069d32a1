"""Writing a file so that it is either whole or absent."""

import os
import uuid
from pathlib import Path


def write_whole(path: Path, data: bytes) -> Path:
    """Puts `data` at `path` under a temporary name first; leaves a file that is already the same.

    Args:
        path: Where to; folders are made.
        data: Everything the file shall hold.
    """
    if path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path
