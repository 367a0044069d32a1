"""WAV in its forms: RIFF, RIFX, RF64, BW64 and Wave64."""

from collections.abc import Iterator

from otoscope.acoustics.containers.chunks import (
    UNKNOWN_64,
    Chunk,
    Order,
    any_unpadded,
    form,
    is_placeholder,
    only,
    validate_rest,
    walk,
)
from otoscope.acoustics.containers.damage import ContainerError, cut_short

ORDERS: dict[bytes, Order] = {
    b"RIFF": "little",
    b"RIFX": "big",
    b"RF64": "little",
    b"BW64": "little",
}
WAVE64 = b"riff"
KNOWN = {
    *(b"fmt ", b"data", b"fact", b"LIST", b"INFO", b"bext", b"cue ", b"smpl", b"inst", b"id3 "),
    *(b"ID3 ", b"PEAK", b"JUNK", b"junk", b"PAD ", b"iXML", b"cart", b"plst", b"axml", b"chna"),
    *(b"afsp", b"SAUR", b"LGWV", b"_PMX", b"note", b"labl", b"ltxt", b"FLLR", b"umid", b"minf"),
}
PLAIN = {1, 3, 6, 7}  # PCM, float, A-law, µ-law: every block is one sample of each channel
EXTENSIBLE = 0xFFFE
MPEG = {0x50, 0x55}


def is_wave(data: bytes) -> bool:
    """Whether the bytes are one of these forms."""
    return data[:4] == WAVE64 or (data[:4] in ORDERS and data[8:12] == b"WAVE")


def whole(data: bytes) -> bytes:
    """The file, or one with the same audio whose sizes, order and padding are right.

    A size that a pipe left open means "to the end of the file".

    Raises:
        ContainerError: Cut short, several data chunks or none, a part of a sample at the end, or
            bytes behind the audio that no chunk accounts for.
    """
    order = ORDERS.get(data[:4], "little")
    chunks = list(_chunks(data, order))
    audio = only(chunks, b"data", "WAV")
    layout = only(chunks, b"fmt ", "WAV")
    content = data[layout.start : layout.end]
    # to the end of the file where nobody knew the size
    is_open = is_placeholder(audio.size) or _left_at_zero(data, audio)
    if is_open:
        audio = audio._replace(size=len(data) - audio.start)
    if audio.end > len(data):
        raise cut_short(audio.end - len(data))
    if not is_open:
        _validate_rest(data, audio)
    audio = _in_whole_samples(data, audio, content, order, is_open)
    # of Wave64 it reads what follows the audio as audio too
    more = data[:4] == WAVE64 and audio.end + 8 <= len(data)
    if not is_open and not any_unpadded(chunks) and not more:
        return data
    # libsndfile needs sizes and padding as they should be
    kept = [c for c in chunks if c.kind == b"fact"] + [audio]
    parts = [(c.kind, data[c.start : c.end]) for c in kept]
    magic = b"RIFX" if order == "big" else b"RIFF"
    return form(magic, b"WAVE", [(b"fmt ", content), *parts], order)


def mpeg_frames(data: bytes) -> bytes:
    """The MPEG frames that a WAV wraps, as some recorders write MP3; nothing in any other."""
    order = ORDERS.get(data[:4], "little")
    found = {chunk.kind: data[chunk.start : chunk.end] for chunk in _chunks(data, order)}
    tag = int.from_bytes(found[b"fmt "][:2], order)
    return found[b"data"] if tag in MPEG else b""


def _chunks(data: bytes, order: Order) -> Iterator[Chunk]:
    if data[:4] == WAVE64:
        yield from _wave64_chunks(data)
        return
    long_size = UNKNOWN_64
    for chunk in walk(data, 12, order, KNOWN):
        # RF64 may leave the size of its data to the `ds64` chunk before it
        if chunk.kind == b"ds64":
            long_size = int.from_bytes(data[chunk.start + 8 : chunk.start + 16], "little")
        is_64 = data[:4] in (b"RF64", b"BW64") and chunk.size == 0xFFFF_FFFF
        if chunk.kind == b"data" and is_64:
            yield chunk._replace(size=long_size)
            continue
        yield chunk


def _wave64_chunks(data: bytes, at: int = 40) -> Iterator[Chunk]:
    """Names of 16 bytes (four suffice); a size includes its header and is padded to 8."""
    while at + 24 <= len(data):
        size = max(24, int.from_bytes(data[at + 16 : at + 24], "little"))
        yield Chunk(data[at : at + 4], at + 24, size - 24)
        at += size + -size % 8


def _left_at_zero(data: bytes, audio: Chunk) -> bool:
    """Whether a size of 0 stands before audio, and not before another chunk or nothing."""
    rest = data[audio.start : audio.start + 4]
    return audio.size == 0 and bool(rest) and rest not in KNOWN


def _validate_rest(data: bytes, audio: Chunk) -> None:
    """What follows the audio has to be chunks, tags or zeros."""
    if data[:4] == WAVE64:
        at = audio.end + -audio.size % 8
        validate_rest(data, at, _wave64_chunks(data, at), (), pad=8)
        return
    at = audio.end
    if audio.size % 2 and data[at : at + 4] not in KNOWN:
        at += 1
    validate_rest(data, at, walk(data, at, ORDERS[data[:4]], KNOWN), KNOWN)


def _in_whole_samples(
    data: bytes, audio: Chunk, layout: bytes, order: Order, is_open: bool
) -> Chunk:
    """The audio, without the byte that pads a file of unknown size."""
    tag, block = (int.from_bytes(layout[at : at + 2], order) for at in (0, 12))
    if tag == EXTENSIBLE:
        tag = int.from_bytes(layout[24:26], order)
    over = audio.size % block if tag in PLAIN and block else 0
    if over == 1 and is_open and data[audio.end - 1] == 0:
        return audio._replace(size=audio.size - 1)
    if over:
        raise ContainerError(f"cut short, it ends after {over} of the {block} bytes of a sample")
    return audio
