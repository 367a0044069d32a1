"""FLAC: the length in STREAMINFO and the frames that are there.

libsndfile reads as many samples as STREAMINFO says, whatever follows, and cannot read a file that
leaves this number open. The last frame tells where a file ends: frames are numbered.

Source: RFC 9639, sections 8.2 and 9.1.
"""

from collections.abc import Iterator
from typing import NamedTuple

from otoscope.acoustics.containers.damage import ContainerError, cut_short, joined
from otoscope.acoustics.containers.tags import after_tags

MAGIC = b"fLaC"
STREAMINFO = (b"\0\0\0\x22", b"\x80\0\0\x22")  # the header of this block, first or only one
AT_TOTAL, MASK = slice(18, 26), (1 << 36) - 1
BLOCK_SIZES = {1: 192, **{k: 144 << k for k in range(2, 6)}, **{k: 1 << k for k in range(8, 16)}}
EXTRA_RATE_BYTES = {12: 1, 13: 2, 14: 2}


class FlacFrame(NamedTuple):
    """Where a frame begins, the number of samples up to its end, and its `_kind`."""

    start: int
    n_samples: int
    kind: tuple[int, int]


def whole(data: bytes) -> bytes:
    """The file; with its length in STREAMINFO where that was left open.

    Raises:
        ContainerError: A second file or anything but a tag follows, the frames hold more than
            STREAMINFO counts, or the file ends within a frame.
    """
    if data[4:8] not in STREAMINFO:
        return data  # libsndfile rejects it
    for header in STREAMINFO:
        if (second := data.find(MAGIC + header, 4)) > 0:
            raise joined(second)
    fields = int.from_bytes(data[AT_TOTAL], "big")
    first = _first_frame(data)
    if first is None:
        return data  # libsndfile rejects it
    stated, frames = fields & MASK, _frames_backwards(data, first)
    if stated:
        last = next((frame for frame in frames if frame.kind == _kind(data, first)), None)
        if last is not None and last.n_samples > stated:
            raise ContainerError(
                f"its header counts {stated} samples but its frames hold {last.n_samples}; write "
                "it anew, e.g. with `flac --decode` and `flac`"
            )
        if last is not None and last.n_samples == stated and not _ends_with_file(data, last):
            raise ContainerError(
                "cut short, damaged, or something is appended: its last frame does not end where "
                "the file does, and what follows is no tag"
            )
        return data
    # a header may stand in a frame's middle by chance, but then its checksum is wrong
    last = next((frame for frame in frames if _ends_with_file(data, frame)), None)
    if last is None:
        raise cut_short(1)
    if last.kind != _kind(data, first):
        raise ContainerError("its rate, channels or depth change on the way; split it")
    return data[:18] + (fields | last.n_samples).to_bytes(8, "big") + data[26:]


def _kind(data: bytes, at: int) -> tuple[int, int]:
    """The rate and depth of a frame, as coded in its header."""
    return data[at + 2] & 0x0F, data[at + 3] & 0x0F


def _frames_backwards(data: bytes, first: int) -> Iterator[FlacFrame]:
    """Frames from the last one on; each header has its own checksum."""
    sync = data[first : first + 2]
    fixed = int.from_bytes(data[8:10], "big")  # the block size, where all frames have the same
    at = len(data)
    while (at := data.rfind(sync, first, at)) >= 0:
        head = data[at : at + 16]
        if len(head) > 5 and (end := _end_of(head, fixed)) is not None:
            yield FlacFrame(at, end, _kind(data, at))


def _first_frame(data: bytes) -> int | None:
    """Where the metadata ends."""
    at, is_last = 4, False
    while not is_last and at + 4 <= len(data):
        is_last = bool(data[at] & 0x80)
        at += 4 + int.from_bytes(data[at + 1 : at + 4], "big")
    sync = data[at : at + 2]
    return at if sync in (b"\xff\xf8", b"\xff\xf9") else None


def _end_of(head: bytes, fixed: int) -> int | None:
    """The number of samples up to a frame's end, from its header; None where that is no header."""
    variable, code = bool(head[1] & 1), head[2] >> 4
    number, n_bytes = _coded_number(head[4:11])
    at = 4 + n_bytes
    if n_bytes == 0 or code == 0:
        return None
    # the block size may follow, less one, and then the rate
    size = BLOCK_SIZES.get(code, 0)
    if code in (6, 7):
        size = int.from_bytes(head[at : at + code - 5], "big") + 1
        at += code - 5
    at += EXTRA_RATE_BYTES.get(head[2] & 0x0F, 0)
    if at >= len(head) or _crc8(head[:at]) != head[at]:
        return None
    return (number if variable else number * fixed) + size


def _coded_number(data: bytes) -> tuple[int, int]:
    """A number coded as UTF-8 codes characters, and how many bytes it takes; 0 for none."""
    lead = data[0] if data else 0xFF
    if lead < 0x80:
        return lead, 1
    n_ones = 8 - (lead ^ 0xFF).bit_length()
    more = data[1:n_ones]
    if not 2 <= n_ones <= 7 or len(more) < n_ones - 1 or any(b >> 6 != 2 for b in more):
        return 0, 0
    number = lead & (0x7F >> n_ones)
    for byte in more:
        number = number << 6 | byte & 0x3F
    return number, n_ones


def _ends_with_file(data: bytes, frame: FlacFrame) -> bool:
    """Whether a frame ends where the file does, tags and zeros apart: its CRC-16 is then 0."""
    crc = 0
    for at in range(frame.start, len(data)):
        crc = (crc << 8 & 0xFFFF) ^ CRC_16[crc >> 8 ^ data[at]]
        if crc == 0 and after_tags(data, at + 1) == len(data):
            return True
    return False


def _crc8(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc = CRC_8[crc ^ byte]
    return crc


def _table(polynomial: int, n_bits: int) -> tuple[int, ...]:
    """CRCs of single bytes, most significant bit first."""
    table, top, mask = [], 1 << (n_bits - 1), (1 << n_bits) - 1
    for byte in range(256):
        crc = byte << (n_bits - 8)
        for _ in range(8):
            crc = (crc << 1 ^ (polynomial if crc & top else 0)) & mask
        table.append(crc)
    return tuple(table)


CRC_8, CRC_16 = _table(0x07, 8), _table(0x8005, 16)
