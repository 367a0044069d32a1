"""Encoded audio brought to one form: 16 kHz, mono, 16-bit FLAC.

A lossy codec may decode to more than full scale, and a resampler may overshoot. Such a clip is
attenuated as a whole until its peak fits; nothing is clipped.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soxr
from jaxtyping import Int16

from otoscope.acoustics import codec
from otoscope.atomic import write_atomic

SAMPLING_RATE = 16_000
QUALITY = "HQ"


class ResampledFile(NamedTuple):
    """The file that was written, and by how many dB the clip was attenuated; 0 for most."""

    path: Path
    attenuation_db: float


def resample(source: Path, folder: Path) -> ResampledFile:
    """Writes a file's audio as 16 kHz mono FLAC, named after its content.

    Channels are averaged.

    Args:
        source: Any audio file.
        folder: Where the FLAC goes.

    Raises:
        AudioError: Not readable, cut short, empty, not finite, or nothing left after resampling.
    """
    samples, sampling_rate, _ = codec.decode(source)
    pcm, attenuation_db = to_16k_mono(samples, sampling_rate, name=str(source))
    flac = codec.encode_flac(pcm, SAMPLING_RATE)
    name = f"{source.stem}-{hashlib.sha256(flac).hexdigest()[:16]}.flac"
    return ResampledFile(write_atomic(folder / name, flac), attenuation_db)


def to_16k_mono(
    samples: np.ndarray, sampling_rate: int, *, name: str
) -> tuple[Int16[np.ndarray, "1 n_samples"], float]:
    """Samples at 16 kHz with channels averaged, as 16-bit PCM, and the attenuation in dB.

    Args:
        samples: `(n_channels, n_samples)`, int16 or floats within about ±1.
        sampling_rate: In Hz.
        name: Of the clip, in errors.

    Raises:
        AudioError: Not finite, or nothing left after resampling.
    """
    scale = codec.FULL_SCALE if samples.dtype == np.int16 else 1
    mono = (samples.astype(np.float64) / scale).mean(axis=0)
    resampled = soxr.resample(mono, sampling_rate, SAMPLING_RATE, quality=QUALITY)
    if resampled.size == 0:
        raise codec.AudioError(f"{name}: too short to be resampled to {SAMPLING_RATE} Hz")
    resampled, attenuation_db = codec.within_full_scale(resampled, most=codec.MAX_PEAK)
    return codec.round_to_pcm(resampled[np.newaxis], name=name), attenuation_db


def attenuation_notes(attenuations_db: Sequence[float], n_clips: int, when: str) -> list[str]:
    """A sentence for the card about clips that were attenuated; none where none were.

    Args:
        attenuations_db: Of those clips, in dB.
        n_clips: Attenuated or not.
        when: What brought them beyond full scale, e.g. `after decoding`.
    """
    if not attenuations_db:
        return []
    n = len(attenuations_db)
    return [
        f"{n} of {n_clips} clips {'was' if n == 1 else 'were'} beyond full scale {when}, and "
        f"{'was' if n == 1 else 'were'} attenuated as a whole, by "
        f"{max(attenuations_db):.1f} dB at most."
    ]
