"""A clip as a model takes it: at the model's own rate, and never cut without a word."""

from typing import Literal

import numpy as np
import soxr
from jaxtyping import Float

from otoscope.models.base import AudioInput, ModelError

OnLong = Literal["refuse", "flag"]
RESAMPLER = "soxr HQ"


def resampled(audio: AudioInput, sampling_rate: int) -> Float[np.ndarray, " n_resampled"]:
    """The clip at another rate: float32, not clipped, its length kept to within a sample.

    Raises:
        ModelError: The clip is empty, or its rate is no rate.
    """
    if audio.sampling_rate <= 0 or len(audio.samples) == 0:
        raise ModelError(
            f"clip {audio.id!r} has {len(audio.samples)} samples at {audio.sampling_rate} Hz; "
            "there is nothing to hear"
        )
    if audio.sampling_rate == sampling_rate:
        return np.asarray(audio.samples, dtype=np.float32)
    samples = np.asarray(audio.samples, dtype=np.float32)
    return soxr.resample(samples, audio.sampling_rate, sampling_rate, quality="HQ")


def within_window(
    audio: AudioInput, sampling_rate: int, window_s: float | None, on_long: OnLong
) -> tuple[Float[np.ndarray, " n_heard"], bool]:
    """The clip at the model's rate, and whether its end had to be left out.

    Args:
        sound: The clip.
        sampling_rate: Of the model, in Hz.
        window_s: The longest clip it hears, in seconds; None where there is no limit.
        on_long: `refuse` a longer one, or `flag` it and give its beginning.

    Raises:
        ModelError: It is longer and to be refused.
    """
    samples = resampled(audio, sampling_rate)
    if window_s is None or len(samples) <= window_s * sampling_rate:
        return samples, False
    if on_long == "refuse":
        raise ModelError(
            f"clip {audio.id!r} lasts {audio.duration_s:.2f} s but the model hears at most "
            f"{window_s:g} s; leave it out, or ask about its beginning with --on-long flag"
        )
    return samples[: int(window_s * sampling_rate)], True
