"""A clip as a model takes it: at the model's rate, as samples or as a file in memory."""

from typing import Literal, NamedTuple, get_args

import numpy as np
import soxr
from jaxtyping import Float

from otoscope.acoustics import codec
from otoscope.errors import InvalidValue
from otoscope.models.base import AudioInput, ModelError

OnLong = Literal["reject", "flag"]
STORED_ON_LONG = {"reject": "refuse", "flag": "flag"}
"""The words in descriptions of models."""

RESAMPLER = "soxr HQ"
FORMATS = {"wav": "WAV", "flac": "FLAC"}


def resampled(audio: AudioInput, sampling_rate: int) -> Float[np.ndarray, " n_resampled"]:
    """The clip at another rate: float32, not clipped, its length kept to within a sample.

    Raises:
        ModelError: The clip is empty, or its rate is not positive.
    """
    if audio.sampling_rate <= 0 or len(audio.samples) == 0:
        raise ModelError(
            f"clip {audio.id!r} has {len(audio.samples)} samples at {audio.sampling_rate} Hz"
        )
    samples = np.asarray(audio.samples, dtype=np.float32)
    if audio.sampling_rate == sampling_rate:
        return samples
    return soxr.resample(samples, audio.sampling_rate, sampling_rate, quality="HQ")


def validate_on_long(on_long: str) -> None:
    """Rejects any other value than those of `OnLong`.

    Raises:
        InvalidValue: It is another one.
    """
    if on_long not in get_args(OnLong):
        raise InvalidValue(f"on_long must be 'reject' or 'flag', not {on_long!r}")


def within_window(
    audio: AudioInput, sampling_rate: int, window_s: float | None, on_long: OnLong
) -> tuple[Float[np.ndarray, " n_samples"], bool]:
    """The clip at the model's rate, and whether its end was left out.

    Args:
        sampling_rate: Of the model, in Hz.
        window_s: The longest clip that it takes, in seconds; None where there is no limit.
        on_long: `reject` a longer one, or `flag` it and give its start.

    Raises:
        ModelError: It is longer and to be rejected.
    """
    samples = resampled(audio, sampling_rate)
    if window_s is None or len(samples) <= window_s * sampling_rate:
        return samples, False
    if on_long != "flag":
        raise ModelError(
            f"clip {audio.id!r} lasts {audio.duration_s:.2f} s but the model takes at most "
            f"{window_s:g} s; leave it out, or give its start with --on-long flag"
        )
    return samples[: int(window_s * sampling_rate)], True


class AudioFile(NamedTuple):
    """A file, and how many samples were beyond full scale after resampling and were clipped."""

    data: bytes
    n_clipped: int


def audio_file(audio: AudioInput, sampling_rate: int | None, kind: str = "wav") -> AudioFile:
    """A clip as the bytes of a mono 16-bit file; at its own rate its 16-bit samples are exact.

    Resampling overshoots at steep edges, so a clip near full scale can exceed it.

    Args:
        sampling_rate: Of the file in Hz; None for the clip's own.
        kind: A key of `FORMATS`.

    Raises:
        AudioError: The clip itself is not finite or beyond full scale.
        ModelError: It is empty, or its rate is not positive.
    """
    name = f"clip {audio.id!r}"
    codec.round_to_pcm(audio.samples[None], name=name)  # validates before resampling hides it
    rate = sampling_rate or audio.sampling_rate
    samples = resampled(audio, rate)
    clipped = np.clip(samples, -1, 1)
    data = codec.encode(codec.round_to_pcm(clipped[None], name=name), rate, FORMATS[kind])
    return AudioFile(data, int(np.sum(clipped != samples)))
