"""Which weights exactly: the commit of a Hub repository, or a hash of a local folder."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from otoscope.errors import InputError

MAX_FULLY_HASHED_BYTES = 64 * 2**20
"""Larger files are hashed by samples."""
MAX_HEADER_BYTES = 100_000_000
"""Of a safetensors file, by its format."""
SAMPLE = 4096
"""Bytes read at the start, the middle and the end of each tensor of a larger file."""
IGNORED_SUFFIXES = {".md", ".lock", ".png", ".jpg", ".gitattributes"}


class DamagedWeights(InputError, ValueError):
    """A file of weights that is cut short or damaged; the message names it."""


def identity(name: str, revision: str | None, marker: str = "config.json") -> dict[str, Any]:
    """Everything that pins the weights behind a name, ready for JSON.

    Args:
        name: A local folder or a Hub repository.
        revision: Of the repository; branch, tag or commit.
        marker: A small file that every such repository has; its cached path has the commit.

    Returns:
        `{"name", "content"}` for a folder, `{"name", "revision", "commit"}` for a repository. The
        name of a folder is its last part, so that it does not depend on where the folder is.

    Raises:
        OSError: Neither a folder nor a repository with such a file (also when offline).
        DamagedWeights: A large file of weights is cut short or damaged.
    """
    if Path(name).is_dir():
        return {"name": Path(name).resolve().name, "content": folder_hash(Path(name))}
    from huggingface_hub import hf_hub_download

    cached = Path(hf_hub_download(name, marker, revision=revision))
    return {"name": name, "revision": revision, "commit": cached.parent.name}


def checkpoint_file(name: str, revision: str | None, file: str) -> Path | None:
    """A file of a local folder or a Hub repository; None where it has none of that name."""
    if Path(name).is_dir():
        path = Path(name) / file
        return path if path.is_file() else None
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    try:
        return Path(hf_hub_download(name, file, revision=revision))
    except EntryNotFoundError:
        return None


def safetensors_error() -> type[Exception]:
    """What a damaged file of weights raises, which is no ValueError."""
    from safetensors import SafetensorError

    return SafetensorError


def folder_hash(folder: Path) -> str:
    """A SHA-256 that changes with any file of a checkpoint, without reading tens of gigabytes.

    Of a large safetensors file the size, the header and three samples of every tensor are hashed,
    so that other weights of the same shapes differ. Of any other large file the size and samples of
    the whole are hashed. Modification times are not, so a copy has the same hash.

    Raises:
        DamagedWeights: A large safetensors file is cut short, or its header is damaged.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if not path.is_file() or hidden or path.suffix in IGNORED_SUFFIXES:
            continue
        digest.update(f"{relative.as_posix()}\0{path.stat().st_size}\0".encode())
        for chunk in _hashed_bytes(path):
            digest.update(chunk)
    return digest.hexdigest()


def _hashed_bytes(path: Path) -> Iterator[bytes]:
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= MAX_FULLY_HASHED_BYTES:
            yield file.read()
            return
        spans = [(0, size)]
        if path.suffix == ".safetensors":
            header = _header(file)
            yield header
            try:
                spans = _tensor_spans(header)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise DamagedWeights(
                    f"{path}: its header is damaged or cut short; copy or download it again"
                ) from error
            if spans and (missing := max(last for _, last in spans) - size) > 0:
                raise DamagedWeights(
                    f"{path}: cut short, {missing:,} bytes are missing; copy or download it again"
                )
        for first, last in spans:
            for offset in (first, (first + last) // 2, last - SAMPLE):
                file.seek(max(first, offset))
                yield file.read(min(SAMPLE, last - max(first, offset)))


def _header(file: BinaryIO) -> bytes:
    """The JSON header of a safetensors file: its length in 8 bytes, little endian, then itself."""
    length = int.from_bytes(file.read(8), "little")
    return file.read(length) if length <= MAX_HEADER_BYTES else b""


def _tensor_spans(header: bytes) -> list[tuple[int, int]]:
    """Where each tensor begins and ends in its file."""
    start, tensors = 8 + len(header), json.loads(header)
    tensors.pop("__metadata__", None)
    offsets = (tensor["data_offsets"] for tensor in tensors.values())
    return sorted((start + first, start + last) for first, last in offsets)
