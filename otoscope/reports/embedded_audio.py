"""Audio in a page, as `data:` addresses within a size limit; each clip once."""

from collections.abc import Sequence
from typing import NamedTuple

from otoscope.reports.writing import data_uri

MAX_AUDIO_BYTES = 1_800_000
MEDIA_TYPES = {b"fLaC": "audio/flac", b"RIFF": "audio/wav", b"OggS": "audio/ogg"}


class SampleAudio(NamedTuple):
    """A player's address, or where the player of the same clip is, or why there is none.

    Attributes:
        address: The clip as a `data:` address where this answer has the player, else empty.
        missing: Why there is no player.
        number: Of the clip, where there is a player for it.
    """

    address: str
    missing: str
    number: int | None = None


def embedded(clips: Sequence[tuple[bytes, str]], order: Sequence[int]) -> list[SampleAudio]:
    """A player, a link or a reason for each clip.

    Args:
        clips: Their bytes, or none and why there is no player.
        order: Positions of `clips`; the first come in before the limit is reached.
    """
    n_left, chosen = MAX_AUDIO_BYTES, set()
    for at in order:
        data = clips[at][0]
        if data and data not in chosen and len(data) <= n_left:
            chosen.add(data)
            n_left -= len(data)
    numbers: dict[bytes, int] = {}
    found = []
    for data, missing in clips:
        if data in numbers:
            found.append(SampleAudio("", "", numbers[data]))
        elif data in chosen:
            numbers[data] = len(numbers) + 1
            address = data_uri(data, MEDIA_TYPES.get(data[:4], "audio/mpeg"))
            found.append(SampleAudio(address, "", numbers[data]))
        else:
            found.append(SampleAudio("", missing or "size limit of the page reached"))
    return found
