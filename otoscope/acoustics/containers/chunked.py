"""AIFF, AU, CAF and NIST: the sizes in their headers and what the files hold."""

from collections.abc import Callable

from otoscope.acoustics.containers.chunks import (
    Chunk,
    any_unpadded,
    form,
    is_placeholder,
    only,
    validate_rest,
    walk,
)
from otoscope.acoustics.containers.damage import cut_short, uncounted, unknown
from otoscope.acoustics.containers.tags import after_tags

AIFF_KNOWN = {
    *(b"COMM", b"SSND", b"FVER", b"MARK", b"INST", b"COMT", b"NAME", b"AUTH", b"(c) ", b"ANNO"),
    *(b"APPL", b"ID3 ", b"CHAN", b"PEAK", b"basc", b"trns", b"cate", b"MIDI", b"AESD"),
}
CAF_KNOWN = {
    *(b"desc", b"data", b"free", b"chan", b"kuki", b"pakt", b"info", b"uuid", b"strg", b"mark"),
    *(b"regn", b"peak", b"ovvw", b"edct", b"midi", b"umid", b"inst"),
}
SOX_AIFF = 0x7F00_0000  # written by sox into a pipe, in bytes of samples
UNKNOWN_AU = b"\xff" * 4


def aiff(data: bytes) -> bytes:
    """AIFF and AIFC; libsndfile takes the length from the SSND chunk, not from COMM.

    Raises:
        ContainerError: See `wave.whole`.
    """
    if data[8:12] not in (b"AIFF", b"AIFC"):
        raise unknown(data)  # another form, of the Amiga
    chunks = list(walk(data, 12, "big", AIFF_KNOWN))
    sound, common = only(chunks, b"SSND", "AIFF"), only(chunks, b"COMM", "AIFF")
    is_open = is_placeholder(sound.size) or SOX_AIFF <= sound.size <= SOX_AIFF + 64
    if is_open or (sound.size == 0 and data[sound.start : sound.start + 4] not in AIFF_KNOWN):
        is_open, sound = True, sound._replace(size=len(data) - sound.start)
    if sound.end > len(data):
        raise cut_short(sound.end - len(data))
    if not is_open:
        last = max(sound, common, key=lambda chunk: chunk.end)
        at = last.end + (last.size % 2 and data[last.end : last.end + 4] not in AIFF_KNOWN)
        validate_rest(data, at, walk(data, at, "big", AIFF_KNOWN), AIFF_KNOWN)
    # an uncompressed file says its length twice
    content = data[common.start : common.end]
    n_channels, n_samples, bits = (int.from_bytes(content[a:b], "big") for a, b in _COMM)
    plain = data[8:12] == b"AIFF" or content[18:22] in (b"NONE", b"twos", b"sowt")
    block = n_channels * (-(-bits // 8))
    held = sound.size - 8 - int.from_bytes(data[sound.start : sound.start + 4], "big")
    if plain and not is_open and n_samples * block > held:
        raise cut_short(n_samples * block - held)
    if plain and is_open:
        n_held = held // block if block else 0
        content = content[:2] + n_held.to_bytes(4, "big") + content[6:]
    elif not any_unpadded(chunks):
        return data
    others = [(c.kind, data[c.start : c.end]) for c in chunks if c.kind == b"FVER"]
    parts = [*others, (b"COMM", content), (b"SSND", data[sound.start : sound.end])]
    return form(b"FORM", data[8:12], parts, "big")


_COMM = ((0, 2), (2, 6), (6, 8))


def au(data: bytes) -> bytes:
    """AU, where nothing follows the audio; a size of 0 before audio is unknown, as all ones are.

    Raises:
        ContainerError: More or less audio than the header says.
    """
    start, size = (int.from_bytes(data[at : at + 4], "big") for at in (4, 8))
    held = len(data) - start
    if size == 0 and held > 0:
        return data[:8] + UNKNOWN_AU + data[12:]
    if is_placeholder(size):
        return data[:8] + UNKNOWN_AU + data[12:]
    return _validated(data, Chunk(b"data", start, size), "the audio that its header counts")


def caf(data: bytes) -> bytes:
    """CAF, whose data chunk of unknown size (-1) is the last.

    Raises:
        ContainerError: More or less audio than its chunk says, or no such chunk.
    """
    chunks = list(walk(data, 8, "big", (), pad=1, n_size=8))
    audio = only(chunks, b"data", "CAF")
    if is_placeholder(audio.size):
        size = len(data) - audio.start
        return data[: audio.start - 8] + size.to_bytes(8, "big") + data[audio.start :]
    if audio.end > len(data):
        raise cut_short(audio.end - len(data))
    rest = walk(data, audio.end, "big", (), pad=1, n_size=8)
    validate_rest(data, audio.end, rest, CAF_KNOWN, pad=1)
    return data


def nist(data: bytes) -> bytes:
    """NIST SPHERE, whose header counts the samples.

    Raises:
        ContainerError: More or less audio than that.
    """
    lines = data[:1024].decode("latin-1").split("\n")
    fields = {line.split()[0]: line.split()[-1] for line in lines[2:] if line.strip()}
    try:
        start = int(lines[1])
        parts = (fields[name] for name in ("sample_count", "sample_n_bytes", "channel_count"))
        n_samples, n_bytes, n_channels = map(int, parts)
    except (KeyError, IndexError, ValueError):
        return data  # libsndfile rejects it
    audio = Chunk(b"data", start, n_samples * n_bytes * n_channels)
    return _validated(data, audio, "the audio that its header counts")


def _validated(data: bytes, audio: Chunk, where: str) -> bytes:
    if audio.end > len(data):
        raise cut_short(audio.end - len(data))
    end = after_tags(data, audio.end)
    if end < len(data):
        raise uncounted(len(data) - end, where)
    return data


FORMATS: dict[bytes, Callable[[bytes], bytes]] = {
    b"FORM": aiff,
    b".snd": au,
    b"caff": caf,
    b"NIST": nist,
}
