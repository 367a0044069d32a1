"""Chunks of RIFF, AIFF and their relatives: a name, a size, content, padding."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from otoscope.acoustics.containers.damage import ContainerError, uncounted
from otoscope.acoustics.containers.tags import after_tags

Order = Literal["little", "big"]

UNKNOWN_64 = 1 << 62
"""No file is as large: such a size was never filled in."""

NEAR_2_GIB, NEAR_4_GIB = (0x7FFF_E000, 0x8000_1000), (0xFFFF_E000, 0xFFFF_FFFF)
MAX_RIFF = 0xFFFF_0000
FILES = {b"RIFF", b"RIFX", b"RF64", b"BW64", b"riff", b"FORM", b"caff"}
"""What looks like a chunk and is another file."""


class Chunk(NamedTuple):
    """A chunk of a file: its name, the start of its content, and its stated size."""

    kind: bytes
    start: int
    size: int

    @property
    def end(self) -> int:
        """Where its content ends, by its own size."""
        return self.start + self.size


def walk(
    data: bytes, at: int, order: Order, known: Collection[bytes], *, pad: int = 2, n_size: int = 4
) -> Iterator[Chunk]:
    """The chunks from a place on.

    A program may forget the byte that pads a chunk of odd length; then the name of a known chunk
    stands where the padding should.
    """
    while at + 4 + n_size <= len(data):
        size = int.from_bytes(data[at + 4 : at + 4 + n_size], order)
        chunk = Chunk(data[at : at + 4], at + 4 + n_size, size)
        yield chunk
        padding = -size % pad
        unpadded = padding and data[chunk.end : chunk.end + 4] in known
        at = chunk.end + (0 if unpadded else padding)


def validate_rest(
    data: bytes, at: int, chunks: Iterable[Chunk], known: Collection[bytes], *, pad: int = 2
) -> None:
    """What follows the audio has to be chunks, tags or zeros.

    Args:
        at: Where the audio ends, its padding included.
        chunks: What would be chunks from there on.

    Raises:
        ContainerError: It is something else, or another file.
    """
    for chunk in chunks:
        fits = chunk.end <= len(data) and all(32 <= byte < 127 for byte in chunk.kind)
        if chunk.kind in FILES or (not fits and chunk.kind not in known):
            break
        at = min(len(data), chunk.end + -chunk.size % pad)
    end = after_tags(data, at)
    if end < len(data):
        raise uncounted(len(data) - end, "its audio")


def is_placeholder(size: int) -> bool:
    """Whether a size is one that programs write before they know it, as into a pipe.

    All ones, or 2 GiB, less or more by a header or so; sox writes 7FFFF000.
    """
    near = any(low <= size <= high for low, high in (NEAR_2_GIB, NEAR_4_GIB))
    return near or size >= UNKNOWN_64


def only(chunks: Iterable[Chunk], kind: bytes, form: str) -> Chunk:
    """The one chunk of a kind.

    Raises:
        ContainerError: There is none, or several.
    """
    found = [chunk for chunk in chunks if chunk.kind == kind]
    name = kind.decode().strip()
    if not found:
        raise ContainerError(f"holds no samples: a {form} file without its {name!r} chunk")
    if len(found) > 1:
        raise ContainerError(
            f"{len(found)} {name!r} chunks, where a {form} file has one; write it anew with "
            "another program"
        )
    return found[0]


def form(magic: bytes, kind: bytes, parts: Iterable[tuple[bytes, bytes]], order: Order) -> bytes:
    """A file of the given chunks, sizes and padding in order.

    Raises:
        ContainerError: More than 4 GiB, which no such file can hold.
    """
    to_bytes: Callable[[int], bytes] = lambda n: n.to_bytes(4, order)  # noqa: E731
    body = kind
    for name, content in parts:
        if len(content) > MAX_RIFF:
            raise ContainerError("its sizes are open and it holds more than 4 GiB; split it")
        body += name + to_bytes(len(content)) + content + b"\0" * (len(content) % 2)
    return magic + to_bytes(len(body)) + body


def any_unpadded(chunks: Sequence[Chunk]) -> bool:
    """Whether a chunk of odd length is followed by the next without padding."""
    pairs = pairwise(chunks)
    return any(chunk.size % 2 and chunk.end + 8 == after.start for chunk, after in pairs)
