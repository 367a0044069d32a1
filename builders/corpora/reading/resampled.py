"""Encoded audio brought to one form: 16 kHz, mono, 16-bit FLAC.

A lossy codec may decode to more than full scale, and a resampler may overshoot. Such a clip is
attenuated as a whole until its peak fits; nothing is clipped.
"""

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soxr

from otoscope.acoustics import codec
from otoscope.atomic import write_atomic

SAMPLING_RATE = 16_000
QUALITY = "HQ"
MAX_PEAK = (codec.FULL_SCALE - 1) / codec.FULL_SCALE


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
    scale = codec.FULL_SCALE if samples.dtype == np.int16 else 1
    mono = (samples.astype(np.float64) / scale).mean(axis=0)
    resampled = soxr.resample(mono, sampling_rate, SAMPLING_RATE, quality=QUALITY)
    if resampled.size == 0:
        raise codec.AudioError(f"{source}: too short to be resampled to {SAMPLING_RATE} Hz")
    peak = float(np.max(np.abs(resampled)))
    attenuation_db = 0.0
    if peak > MAX_PEAK:
        resampled *= MAX_PEAK / peak
        attenuation_db = 20 * float(np.log10(peak / MAX_PEAK))
    pcm = codec.round_to_pcm(resampled[np.newaxis], name=str(source))
    flac = codec.encode_flac(pcm, SAMPLING_RATE)
    name = f"{source.stem}-{hashlib.sha256(flac).hexdigest()[:16]}.flac"
    return ResampledFile(write_atomic(folder / name, flac), attenuation_db)
