"""Sound as servers take it: a 16-bit file in memory, at the rate asked for."""

import io
from typing import NamedTuple

import numpy as np
import soundfile
import soxr
from jaxtyping import Int16

from otoscope.acoustics import codec
from otoscope.models.base import Sound

FORMATS = {"wav": "WAV", "flac": "FLAC"}


class SoundFile(NamedTuple):
    """A file, and how many samples stood beyond full scale after resampling and were clipped."""

    data: bytes
    n_clipped: int


def resampled(sound: Sound, sampling_rate: int | None) -> tuple[Int16[np.ndarray, " n"], int]:
    """16-bit samples at a rate, and the number clipped. The sound's own rate is exact.

    Resampling (soxr, HQ) overshoots at steep edges, where a clip near full scale goes beyond it.

    Raises:
        AudioError: The sound itself is not finite or beyond full scale, or its rate not positive.
    """
    name = f"clip {sound.id!r}"
    if sound.sampling_rate <= 0:
        raise codec.AudioError(f"{name}: a sampling rate of {sound.sampling_rate} Hz")
    pcm = codec.round_to_pcm(sound.samples[None], name=name)[0]
    if sampling_rate in (None, sound.sampling_rate):
        return pcm, 0
    moved = soxr.resample(sound.samples, sound.sampling_rate, sampling_rate, quality="HQ")
    inside = np.clip(moved, -1, 1)
    return codec.round_to_pcm(inside[None], name=name)[0], int(np.sum(inside != moved))


def sound_file(sound: Sound, sampling_rate: int | None, kind: str = "wav") -> SoundFile:
    """A clip as the bytes of a mono file.

    Args:
        sound: The clip.
        sampling_rate: Of the file in Hz; None for the clip's own.
        kind: A key of `FORMATS`.

    Raises:
        AudioError: As `resampled`.
    """
    pcm, n_clipped = resampled(sound, sampling_rate)
    buffer = io.BytesIO()
    rate = sampling_rate or sound.sampling_rate
    soundfile.write(buffer, pcm, rate, format=FORMATS[kind], subtype="PCM_16")
    return SoundFile(buffer.getvalue(), n_clipped)
