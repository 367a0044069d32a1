"""Checks before a run: is the model given the sound, all of it, and can it hear what is asked?"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from otoscope.models.base import AudioInput, Hears, ModelError, Request

AUDIBLE_DB = -60.0
"""Content this far below a clip's whole power, or further, counts as none."""


class HearingReport(NamedTuple):
    """What came of the hearing check; `checked` is False where it could not be made.

    `n_bytes` is the size of the model's input for the clip, for silence and for the other clip.
    """

    checked: bool
    n_bytes: tuple[int, int, int] | None
    message: str


def with_silence(asked: Request) -> Request:
    """The same question with silence of the same length for every clip."""
    return replace(
        asked,
        parts=tuple(
            replace(part, samples=np.zeros_like(part.samples), sha256="")
            if isinstance(part, AudioInput)
            else part
            for part in asked.parts
        ),
    )


def hearing_check(model: Any, asked: Request, silence: Request, other: Request) -> HearingReport:
    """Whether a model's input changes with the sound.

    Args:
        model: Checked when it has `heard`, see `otoscope.models.base.Hears`.
        asked: A question about a clip that is not silent.
        silence: The same question with silence (`with_silence`).
        other: The same question about another clip.

    Raises:
        ModelError: The input is empty, or the same for two of the three.
    """
    if not isinstance(model, Hears):
        return HearingReport(False, None, "not checked: the model does not say what it is given")
    if _sound_bytes(asked) in (_sound_bytes(silence), _sound_bytes(other)):
        return HearingReport(False, None, "not checked: the clips to tell apart are the same")
    inputs = {
        name: model.heard(one)
        for name, one in (("a clip", asked), ("silence", silence), ("another clip", other))
    }
    if model.heard(asked) != inputs["a clip"]:
        return HearingReport(
            False, None, "not checked: one clip gives two inputs, so a difference says nothing"
        )
    names = list(inputs)
    if empty := [name for name in names if not inputs[name]]:
        raise ModelError(
            f"the model is not being given the sound: its input for {empty[0]} is empty"
        )
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            if inputs[first] == inputs[second]:
                raise ModelError(
                    "the model is not being given the sound: its input is the same for "
                    f"{first} and for {second}"
                )
    clip, silent, another = (len(inputs[name]) for name in names)
    return HearingReport(True, (clip, silent, another), "the model is given the sound")


def _sound_bytes(asked: Request) -> bytes:
    return b"".join(sound.samples.tobytes() for sound in asked.audio_inputs)


class Inaudible(NamedTuple):
    """How much of some clips a model cannot hear, its rate being too low.

    `n_affected` of `n_sounds` clips have content above `limit_hz`, half the model's rate; in the
    worst of them that part is `worst_db` of the clip's whole power (−∞ when there is none).
    """

    n_sounds: int
    n_affected: int
    limit_hz: float
    worst_db: float

    @property
    def message(self) -> str:
        """One line to print once, or nothing when all can be heard."""
        if not self.n_affected:
            return ""
        return (
            f"{self.n_affected} of {self.n_sounds} clips have content above {self.limit_hz:g} Hz, "
            f"which the model cannot hear (up to {self.worst_db:.1f} dB of a clip's power)"
        )


def inaudible(sampling_rate: int | None, audio_inputs: Iterable[AudioInput]) -> Inaudible | None:
    """What of some clips lies above half the rate at which a model hears; None if not known."""
    if sampling_rate is None:
        return None
    limit_hz = sampling_rate / 2
    lost_db = np.array([_level_above(sound, limit_hz) for sound in audio_inputs])
    worst = float(lost_db.max(initial=-np.inf))
    return Inaudible(lost_db.size, int(np.sum(lost_db > AUDIBLE_DB)), limit_hz, worst)


def _level_above(sound: AudioInput, limit_hz: float) -> float:
    """Power above a frequency in dB re the clip's whole power, its mean left out."""
    if sound.sampling_rate / 2 <= limit_hz:
        return -np.inf
    samples = np.asarray(sound.samples, dtype=np.float64)
    windowed = (samples - samples.mean()) * np.hanning(samples.size)
    power = np.abs(np.fft.rfft(windowed)) ** 2
    above = power[np.fft.rfftfreq(samples.size, 1 / sound.sampling_rate) > limit_hz].sum()
    if above == 0:
        return -np.inf
    return float(10 * np.log10(above / power.sum()))


class TooLong(NamedTuple):
    """A clip that a model could not hear to its end."""

    id: str
    duration_s: float


def too_long(max_audio_s: float | None, audio_inputs: Iterable[AudioInput]) -> list[TooLong]:
    """The clips longer than a model's window; none when it has none.

    >>> too_long(30.0, [])
    []
    """
    if max_audio_s is None:
        return []
    return [TooLong(s.id, s.duration_s) for s in audio_inputs if s.duration_s > max_audio_s]
