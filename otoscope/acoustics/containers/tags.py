"""Tags around audio: ID3v2 before it; ID3v1, APE, Lyrics3 and zeros behind it."""

LYRICS = b"LYRICS200"


def n_leading(data: bytes) -> int:
    """Length of the ID3v2 tags at the start."""
    at = 0
    while size := id3v2_size(data, at):
        at += size
    # padding that the tag's own size leaves out
    return at + _n_zeros(data, at) if at else 0


def id3v2_size(data: bytes, at: int) -> int:
    """Length of the ID3v2 tag at a place, header and footer included; 0 where there is none."""
    head = data[at : at + 10]
    if len(head) < 10 or head[:3] != b"ID3" or max(head[3:5]) == 255 or max(head[6:]) > 127:
        return 0
    size = sum(byte << shift for byte, shift in zip(head[6:], (21, 14, 7, 0), strict=True))
    return 10 + size + (10 if head[5] & 0x10 else 0)


def after_tags(data: bytes, at: int) -> int:
    """The place behind all tags and zeros that begin at one."""
    while True:
        before = at
        at += _n_zeros(data, at)
        if data[at : at + 3] == b"TAG" and len(data) - at >= 128:
            at += 128
        elif data[at : at + 8] == b"APETAGEX":
            at += _ape_size(data, at)
        elif data[at : at + 11] == b"LYRICSBEGIN":
            end = data.find(LYRICS, at)
            at = end + len(LYRICS) if end >= 0 else at
        else:
            at += id3v2_size(data, at)
        if at == before:
            return min(at, len(data))


def _ape_size(data: bytes, at: int) -> int:
    """Bytes of an APE tag from its header, or of its footer where it has no header."""
    size, flags = (int.from_bytes(data[at + k : at + k + 4], "little") for k in (12, 20))
    return 32 + size if flags & 0x2000_0000 else 32


def _n_zeros(data: bytes, at: int) -> int:
    rest = data[at:]
    return len(rest) - len(rest.lstrip(b"\0"))
