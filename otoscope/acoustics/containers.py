"""Missing audio data of a file, by the sizes in its own header.

libsndfile silently shortens truncated files of most formats. FLAC and MP3 need nothing here: their
stated and decoded number of samples differ, which `codec.read` checks. An MP3 without that number
cannot be checked.
"""

from collections.abc import Iterator
from typing import NamedTuple

UNKNOWN_32 = 0xFFFFFFFF  # written by programs that stream to a pipe
UNKNOWN_64 = 0xFFFFFFFFFFFFFFFF
OGG_LAST_PAGE = 4


class Chunk(NamedTuple):
    """A chunk of a file: its name, the start of its content, and its stated size."""

    kind: bytes
    start: int
    size: int


def missing_bytes(data: bytes) -> int:
    """Bytes of audio that the header states and the file lacks; 0 when nothing is missing.

    Also 0 for unknown formats. An Ogg stream marks only its end: without the mark, at least one
    byte is missing.
    """
    magic = data[:4]
    if magic in (b"RIFF", b"RIFX") and data[8:12] == b"WAVE":
        order = "little" if magic == b"RIFF" else "big"
        return _beyond(data, _chunks(data, 12, order=order), b"data")
    if magic in (b"RF64", b"BW64"):
        return _beyond(data, _rf64_chunks(data), b"data")
    # AIFF, Wave64 and CAF: the same chunks with other sizes and paddings
    if magic == b"FORM":
        return _beyond(data, _chunks(data, 12, order="big"), b"SSND")
    if magic == b"riff":
        return _beyond(data, _w64_chunks(data), b"data")
    if magic == b"caff":
        return _beyond(data, _chunks(data, 8, order="big", n_size=8, pad=1), b"data")
    # AU and NIST have a header of fixed fields; Ogg has pages and no size
    if magic == b".snd":
        start, size = (int.from_bytes(data[at : at + 4], "big") for at in (4, 8))
        return _beyond(data, iter([Chunk(b"data", start, size)]), b"data")
    if magic == b"NIST":
        return _beyond(data, iter([_nist_data(data)]), b"data")
    if magic == b"OggS":
        return _ogg_missing(data)
    return 0


def _beyond(data: bytes, chunks: Iterator[Chunk], wanted: bytes) -> int:
    for chunk in chunks:
        if chunk.kind == wanted and chunk.size not in (UNKNOWN_32, UNKNOWN_64):
            return max(0, chunk.start + chunk.size - len(data))
    return 0


def _chunks(data: bytes, at: int, *, order: str, n_size: int = 4, pad: int = 2) -> Iterator[Chunk]:
    """Name of four bytes, size, content, padding to a multiple of `pad`."""
    while at + 4 + n_size <= len(data):
        size = int.from_bytes(data[at + 4 : at + 4 + n_size], order)  # type: ignore[arg-type]
        yield Chunk(data[at : at + 4], at + 4 + n_size, size)
        at += 4 + n_size + size + -size % pad


def _rf64_chunks(data: bytes) -> Iterator[Chunk]:
    """RIFF whose data chunk may leave its size to the `ds64` chunk before it."""
    long_size = UNKNOWN_64
    for chunk in _chunks(data, 12, order="little"):
        if chunk.kind == b"ds64":
            long_size = int.from_bytes(data[chunk.start + 8 : chunk.start + 16], "little")
        if chunk.kind == b"data" and chunk.size == UNKNOWN_32:
            chunk = chunk._replace(size=long_size)
        yield chunk


def _w64_chunks(data: bytes) -> Iterator[Chunk]:
    """Names of 16 bytes (four suffice); a size includes its header and is padded to 8."""
    at = 40
    while at + 24 <= len(data):
        size = max(24, int.from_bytes(data[at + 16 : at + 24], "little"))
        yield Chunk(data[at : at + 4], at + 24, size - 24)
        at += size + -size % 8


def _nist_data(data: bytes) -> Chunk:
    lines = data[:1024].decode("latin-1").split("\n")
    fields = {line.split()[0]: line.split()[-1] for line in lines[2:] if line.strip()}
    try:
        start = int(lines[1])
        parts = (fields[name] for name in ("sample_count", "sample_n_bytes", "channel_count"))
        n_samples, n_bytes, n_channels = map(int, parts)
    except (KeyError, IndexError, ValueError):
        return Chunk(b"data", 0, 0)
    return Chunk(b"data", start, n_samples * n_bytes * n_channels)


def _ogg_missing(data: bytes) -> int:
    at = data.rfind(b"OggS")
    header = data[at : at + 27]
    if len(header) < 27:
        return 27 - len(header)
    lengths = data[at + 27 : at + 27 + header[26]]
    short = at + 27 + header[26] + sum(lengths) - len(data)
    return max(0, short) or int(not header[5] & OGG_LAST_PAGE)
