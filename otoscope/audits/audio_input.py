"""Before a run: does the audio reach the model, and within which bandwidth?"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from otoscope.acoustics.codec import AudioError
from otoscope.audits.plans import Plan
from otoscope.models.base import AudioInput, ModelError, Request
from otoscope.models.guards import audio_input_check, lost_bandwidth, with_silence

T = TypeVar("T")


def check_audio_input(model: Any, plan: Plan) -> str:
    """Whether the model's input changes with the audio: a clip, silence and another clip.

    Returns:
        The result for run.json.

    Raises:
        ModelError: It does not.
    """
    with_audio = [q.question_id for q in plan.questions.values() if q.clips]
    first = next(readable(plan.fill, with_audio), None)
    if first is None:
        return "not checked: no clip can be read" if with_audio else "not checked: no audio"
    audio = first.audio_inputs[-1]
    others = readable(plan.items.audio, (row["id"] for row in plan.items.rows))
    reversed_audio = replace(audio, samples=audio.samples[::-1].copy(), sha256="reversed")
    other = next((clip for clip in others if clip.sha256 != audio.sha256), reversed_audio)
    return audio_input_check(model, first, with_silence(first), _with_last(first, other)).message


def bandwidth_warning(model: Any, plan: Plan) -> str:
    """What a clip of each category loses above half the model's rate; empty if nothing.

    Raises:
        ModelError: The model's `sampling_rate` is no rate.
    """
    first = {q.category: q.question_id for q in reversed(plan.questions.values()) if q.clips}
    requests = readable(plan.fill, first.values())
    audio_inputs = [request.audio_inputs[-1] for request in requests]
    rate: Any = getattr(model, "sampling_rate", None)
    is_rate = isinstance(rate, int | float | np.number) and rate > 0
    if rate is not None and not is_rate:
        raise ModelError(f"{type(model).__name__}.sampling_rate: {rate!r} is no rate in Hz")
    lost = lost_bandwidth(rate, audio_inputs)
    return lost.message if lost is not None else ""


def readable(read: Callable[[str], T], names: Iterable[str]) -> Iterator[T]:
    """What can be read; the others are reported when their requests are due."""
    for name in names:
        try:
            yield read(name)
        except AudioError:
            continue


def _with_last(request: Request, audio: AudioInput) -> Request:
    last = max(i for i, part in enumerate(request.parts) if isinstance(part, AudioInput))
    return replace(request, parts=(*request.parts[:last], audio, *request.parts[last + 1 :]))
