"""Files whose header and content disagree: made whole, or rejected with the reason.

libsndfile trusts headers: it shortens a file whose header counts too little or that is cut short,
and rejects one whose sizes a pipe left open. `streams` compares the header with the content first.
"""

from typing import NamedTuple

from otoscope.acoustics.containers import chunked, flac, mpeg, ogg, wave
from otoscope.acoustics.containers.damage import ContainerError, unknown
from otoscope.acoustics.containers.tags import n_leading

__all__ = ["ContainerError", "Stream", "streams"]


class Stream(NamedTuple):
    """Bytes for libsndfile; and the number of samples, where it cannot know it."""

    data: bytes
    n_samples: int | None = None


def streams(data: bytes) -> list[Stream]:
    """What libsndfile is to read in place of a file's bytes, one after the other.

    One stream, mostly the bytes themselves; several where an Ogg file is a chain. Tags before the
    audio are left out.

    Raises:
        ContainerError: Audio is missing, or is there that a reader would pass over; or the format
            is another one, whose length nothing here can check.
    """
    if (start := n_leading(data)) > 0:
        data = data[start:]
    magic = data[:4]
    if magic == b"OggS":
        return [Stream(link) for link in ogg.links(data)]
    if magic == b"fLaC":
        return [Stream(flac.whole(data))]
    if wave.is_wave(data):
        data = wave.whole(data)
        frames = wave.mpeg_frames(data)
        return [Stream(*mpeg.whole(frames)) if frames else Stream(data)]
    if magic in chunked.FORMATS:
        return [Stream(chunked.FORMATS[magic](data))]
    if mpeg.is_mpeg(data):
        return [Stream(*mpeg.whole(data))]
    raise unknown(data)
