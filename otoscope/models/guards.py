"""Checks before a run: does the audio reach the model, and within which bandwidth?"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from otoscope.models.base import (
    AudioInput,
    FingerprintsInput,
    ModelError,
    Request,
    calling,
    validate_method_names,
)

AUDIBLE_DB = -60.0
"""Content at this level or below, relative to the clip's power, counts as none."""


class AudioInputCheck(NamedTuple):
    """`checked` is False where the check was not possible; `run.json` stores the message."""

    checked: bool
    message: str


def with_silence(request: Request) -> Request:
    """The same question with silence of the same length for every clip."""
    return replace(
        request,
        parts=tuple(
            replace(part, samples=np.zeros_like(part.samples), sha256="")
            if isinstance(part, AudioInput)
            else part
            for part in request.parts
        ),
    )


def audio_input_check(
    model: Any, request: Request, silence: Request, other: Request
) -> AudioInputCheck:
    """Whether a model's input changes with the audio.

    Args:
        model: Checked when it is a `FingerprintsInput`.
        request: A question about a clip that is not silent.
        silence: The same question with silence (`with_silence`).
        other: The same question about another clip.

    Raises:
        ModelError: The input is empty, or the same for two of the three; or the model's method
            has the name of version 0.1.
    """
    validate_method_names(model)
    if not isinstance(model, FingerprintsInput):
        return AudioInputCheck(False, "not checked: the model does not say what it is given")
    if _audio_bytes(request) in (_audio_bytes(silence), _audio_bytes(other)):
        return AudioInputCheck(False, "not checked: the clips to tell apart are the same")
    with calling(model, "input_fingerprint"):
        inputs = {
            name: model.input_fingerprint(one)
            for name, one in (("a clip", request), ("silence", silence), ("another clip", other))
        }
        again = model.input_fingerprint(request)
    for given in (*inputs.values(), again):
        if not isinstance(given, bytes | bytearray | memoryview):
            raise ModelError(
                f"{type(model).__name__}.input_fingerprint returns a {type(given).__name__}, not "
                "bytes"
            )
    if again != inputs["a clip"]:
        return AudioInputCheck(
            False, "not checked: the input for one clip varies, so inputs cannot be compared"
        )
    if empty := [name for name, given in inputs.items() if not given]:
        raise ModelError(f"the audio does not reach the model: its input for {empty[0]} is empty")
    for first, second in combinations(inputs, 2):
        if inputs[first] == inputs[second]:
            raise ModelError(
                f"the audio does not reach the model: its input is the same for {first} and for "
                f"{second}"
            )
    return AudioInputCheck(True, "the model is given the sound")


def _audio_bytes(request: Request) -> bytes:
    return b"".join(audio.samples.tobytes() for audio in request.audio_inputs)


class LostBandwidth(NamedTuple):
    """Content of some clips above half a model's sampling rate.

    `n_affected` of `n_clips` clips have content above `limit_hz`, half the model's rate; in the
    worst of them that part is `worst_db` relative to the clip's power (−∞ when there is none).
    """

    n_clips: int
    n_affected: int
    limit_hz: float
    worst_db: float

    @property
    def message(self) -> str:
        """One line to print once, or nothing when no clip is affected."""
        if not self.n_affected:
            return ""
        return (
            f"{self.n_affected} of {self.n_clips} checked clips have content above "
            f"{self.limit_hz:g} Hz, which an input of {2 * self.limit_hz:g} Hz leaves out "
            f"(up to {self.worst_db:.1f} dB of a clip's power)"
        )


def lost_bandwidth(
    sampling_rate: int | None, audio_inputs: Iterable[AudioInput]
) -> LostBandwidth | None:
    """Content of some clips above half a model's sampling rate; None if the rate is not known."""
    if sampling_rate is None:
        return None
    limit_hz = sampling_rate / 2
    lost_db = np.array([_level_above(audio, limit_hz) for audio in audio_inputs])
    worst = float(lost_db.max(initial=-np.inf))
    return LostBandwidth(lost_db.size, int(np.sum(lost_db > AUDIBLE_DB)), limit_hz, worst)


def _level_above(audio: AudioInput, limit_hz: float) -> float:
    """Power above a frequency in dB relative to the clip's power, without its mean."""
    if audio.sampling_rate / 2 <= limit_hz:
        return -np.inf
    samples = np.asarray(audio.samples, dtype=np.float64)
    windowed = (samples - samples.mean()) * np.hanning(samples.size)
    power = np.abs(np.fft.rfft(windowed)) ** 2
    above = power[np.fft.rfftfreq(samples.size, 1 / audio.sampling_rate) > limit_hz].sum()
    if above == 0:
        return -np.inf
    return float(10 * np.log10(above / power.sum()))
