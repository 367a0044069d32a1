"""Before a run: is the model being given the sound?"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from otoscope.acoustics.codec import AudioError
from otoscope.audits.items import Items
from otoscope.models.base import AudioInput, Request
from otoscope.models.guards import audio_input_check, with_silence

T = TypeVar("T")


def hearing(
    model: Any, items: Items, question_ids: Iterable[str], fill: Callable[[str], Request]
) -> str:
    """Whether the model's input changes with the sound: a clip, silence and another clip.

    Raises:
        ModelError: It does not.
    """
    first = next(readable(fill, question_ids), None)
    if first is None:
        return "not checked: no clip can be read"
    sound = first.audio_inputs[-1]
    audio_inputs = readable(items.sound, [row["id"] for row in items.rows])
    backwards = replace(sound, samples=sound.samples[::-1].copy(), sha256="reversed")
    other = next((s for s in audio_inputs if s.sha256 != sound.sha256), backwards)
    return audio_input_check(model, first, with_silence(first), _with_last(first, other)).message


def readable(read: Callable[[str], T], names: Iterable[str]) -> Iterator[T]:
    """What can be read; the rest is told of when its turn comes."""
    for name in names:
        try:
            yield read(name)
        except AudioError:
            continue


def _with_last(asked: Request, sound: AudioInput) -> Request:
    last = max(i for i, part in enumerate(asked.parts) if isinstance(part, AudioInput))
    return replace(asked, parts=(*asked.parts[:last], sound, *asked.parts[last + 1 :]))
