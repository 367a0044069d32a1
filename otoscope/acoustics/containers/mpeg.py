"""MPEG audio (MP3 and its older layers): frames counted one by one.

libsndfile reads as many samples as a Xing, Info or VBRI header says and, without one, as many as it
guesses from the file's size. So frames are counted, and a file without that header is given one.

Source: ISO/IEC 11172-3, section 2.4; the headers as LAME and FhG encoders write them.
"""

from typing import NamedTuple

from otoscope.acoustics.containers.damage import ContainerError, cut_short, joined, uncounted
from otoscope.acoustics.containers.tags import after_tags, id3v2_size

V1, V2 = "1", "2"
VERSIONS = {3: V1, 2: V2, 0: "2.5"}
RATES = {V1: (44_100, 48_000, 32_000), V2: (22_050, 24_000, 16_000), "2.5": (11_025, 12_000, 8_000)}
_LOW = (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256)
_SMALL = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
KBIT_S = {
    (V1, 1): tuple(range(32, 449, 32)),
    (V1, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (V1, 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (V2, 1): _LOW,
    (V2, 2): _SMALL,
    (V2, 3): _SMALL,
}
MONO = 3
HAS_FRAMES, HAS_BYTES = 1, 2
INFO_BYTES = 16  # name, flags, number of frames, number of bytes
AT_DELAY = 33  # of the encoder, where the number of bytes is left out
DECODER_DELAY = 529  # samples that mpg123 leaves out where a header counts the frames


class MpegFrame(NamedTuple):
    """A frame's header: version, layer, rate in Hz, length in bytes, and whether it is mono."""

    version: str
    layer: int
    rate: int
    n_bytes: int
    mono: bool

    @property
    def n_samples(self) -> int:
        """Samples of each channel."""
        if self.layer == 1:
            return 384
        return 576 if self.layer == 3 and self.version != V1 else 1152

    @property
    def at_info(self) -> int:
        """Where a Xing or Info header stands in a frame: behind the side information."""
        sizes = (17, 32) if self.version == V1 else (9, 17)
        return 4 + sizes[0 if self.mono else 1]


def is_mpeg(data: bytes) -> bool:
    """Whether a frame begins here, of whatever bitrate."""
    return len(data) >= 4 and _parts(data, 0) is not None


def whole(data: bytes) -> tuple[bytes, int | None]:
    """The file, with a header that counts its frames where it had none.

    Also the number of its samples in the older layers, for which there is no such header.

    Raises:
        ContainerError: Frames are missing, cut short, more than the header counts, or cannot be
            counted; or something else than a tag stands between or behind them.
    """
    first = _frame(data, 0)
    if first is None:
        raise ContainerError(
            "MPEG audio of free format, whose frames cannot be counted; write it anew with another "
            "program"
        )
    stated = _stated_frames(data, 0, first)
    n_frames, end = _count(data, first)
    _validate_rest(data, end, first)
    if first.layer != 3:
        return data[:end], n_frames * first.n_samples
    if stated is None:
        return _counting(data, first, n_frames) + data[:end], None
    # the frame that holds the number is none of audio, though some encoders count it
    n_frames -= 1
    counted, n_bytes, is_vbri = stated
    one_more = counted == n_frames + 1 and (is_vbri or n_bytes == end)
    if counted > n_frames and not one_more:
        raise ContainerError(
            f"cut short: its header counts {counted} frames but {n_frames} are there"
        )
    if 0 < counted < n_frames:
        raise ContainerError(
            f"its header counts {counted} frames but {n_frames} are there; write it anew with "
            "another program"
        )
    if counted == n_frames and not is_vbri:
        return data, None
    return _counting(data, first, n_frames) + data[first.n_bytes : end], None


def _parts(data: bytes, at: int) -> tuple[str, int, int, int, bool, int] | None:
    """Version, layer, code of bitrate, rate, padding and channel mode of a header."""
    head = data[at : at + 4]
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    version, layer = VERSIONS.get(head[1] >> 3 & 3), 4 - (head[1] >> 1 & 3)
    code, rate = head[2] >> 4, head[2] >> 2 & 3
    if version is None or layer == 4 or code == 15 or rate == 3:
        return None
    return version, layer, code, RATES[version][rate], bool(head[2] & 2), head[3] >> 6


def _frame(data: bytes, at: int) -> MpegFrame | None:
    parts = _parts(data, at)
    if parts is None or parts[2] == 0:
        return None
    version, layer, code, rate, padded, mode = parts
    bits = 1000 * KBIT_S[V1 if version == V1 else V2, layer][code - 1]
    if layer == 1:
        n_bytes = (12 * bits // rate + padded) * 4
    else:
        half = layer == 3 and version != V1
        n_bytes = (72 if half else 144) * bits // rate + padded
    return MpegFrame(version, layer, rate, n_bytes, mode == MONO)


def _count(data: bytes, first: MpegFrame) -> tuple[int, int]:
    """How many frames follow each other from the start, and where they end."""
    n_frames, at = 0, 0
    while (frame := _frame(data, at)) is not None and frame[:3] == first[:3]:
        if at + frame.n_bytes > len(data):
            raise cut_short(at + frame.n_bytes - len(data))
        if n_frames and _stated_frames(data, at, frame):
            raise joined(at)
        n_frames, at = n_frames + 1, at + frame.n_bytes
    return n_frames, at


def _validate_rest(data: bytes, end: int, first: MpegFrame) -> None:
    rest = after_tags(data, end)
    if rest == len(data):
        return
    tagged = any(id3v2_size(data, at) for at in range(end, rest)) or data[end : end + 3] == b"TAG"
    if _frame(data, rest) is not None and (tagged or rest == end):
        raise joined(rest)
    raise uncounted(len(data) - rest, f"the frame that ends at byte {end}")


def _stated_frames(data: bytes, at: int, frame: MpegFrame) -> tuple[int, int, bool] | None:
    """Frames and bytes that a header counts, 0 where it leaves them out; and whether it is VBRI."""
    if frame.layer != 3:
        return None
    if data[at + 36 : at + 40] == b"VBRI":
        n_bytes, n_frames = (int.from_bytes(data[at + k : at + k + 4], "big") for k in (46, 50))
        return n_frames, n_bytes, True
    info = data[at + frame.at_info : at + frame.at_info + INFO_BYTES]
    if info[:4] not in (b"Xing", b"Info"):
        return None
    flags, *numbers = (int.from_bytes(info[k : k + 4], "big") for k in (4, 8, 12))
    n_frames = numbers.pop(0) if flags & HAS_FRAMES else 0
    return n_frames, numbers[0] if flags & HAS_BYTES else 0, False


def _counting(data: bytes, first: MpegFrame, n_frames: int) -> bytes:
    """Two frames without audio: one that counts the frames after it, and one that is left out.

    mpg123 would leave out the delay of its decoder. The second frame holds that delay, and the
    stated delay of the encoder is the rest of that frame: every frame of audio is kept as a whole.
    """
    delay = (first.n_samples - DECODER_DELAY) << 12
    info = b"Info" + HAS_FRAMES.to_bytes(4, "big") + (n_frames + 1).to_bytes(4, "big")
    info = (info + b"LAME").ljust(AT_DELAY, b"\0") + delay.to_bytes(3, "big")
    return _empty_frame(data, first.at_info, info) + _empty_frame(data, first.at_info, b"")


def _empty_frame(data: bytes, at: int, content: bytes) -> bytes:
    """The smallest frame like the file's first that can hold the content."""
    for code in range(1, 15):
        # without checksum and padding
        head = bytes([data[0], data[1] | 1, code << 4 | data[2] & 0x0C, data[3]])
        frame = _frame(head, 0)
        if frame is not None and frame.n_bytes >= at + len(content) + 8:
            break
    return (head.ljust(at, b"\0") + content).ljust(frame.n_bytes, b"\0")  # type: ignore[union-attr]
