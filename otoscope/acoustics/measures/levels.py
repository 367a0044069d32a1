"""Measures of level, noise floor and spectral extent."""

import numpy as np

from otoscope.acoustics.measures.analysis import ClipAnalysis
from otoscope.acoustics.measures.base import (
    ROUNDING,
    Track,
    decibels,
    less_rounding,
    quantile,
    windows,
)

LEVEL_S, LEVEL_HOP_S = 0.02, 0.01
SPECTRUM_S, SPECTRUM_HOP_S = 0.032, 0.016
BANDWIDTH_S, BANDWIDTH_HOP_S = 0.05, 0.025
FLOOR_QUANTILE = 0.1
FLOOR_LOW_HZ, FLOOR_TOP = 200.0, 0.95  # excludes hum and the slope of anti-aliasing filters
INAUDIBLE_DB = 40.0  # a floor this far below the window's mean spectrum counts as no noise
ROLL_OFF = 0.99
BANDWIDTH_RANGE_DB = 30.0  # weaker components of a quiet half are lost in rounding, and inaudible
HIGH_BAND_HZ = 3000.0


def level(clip: ClipAnalysis) -> Track:
    """Short-time level in dB re full scale (RMS 1 is 0 dB), 20 ms windows; NaN in silence."""
    place, rows = windows(clip.speech, clip.sampling_rate, LEVEL_S, LEVEL_HOP_S)
    return Track(place, decibels(np.mean(rows**2, axis=1)))


def _floor(clip: ClipAnalysis) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, and per window the mean and the low quantile of power over frequency."""
    place, spectra, hz = clip.spectra(SPECTRUM_S, SPECTRUM_HOP_S)
    power = less_rounding(spectra, share=-np.log1p(-FLOOR_QUANTILE))  # that quantile of noise
    top_hz = FLOOR_TOP * clip.sampling_rate / 2
    power = power[:, np.searchsorted(hz, FLOOR_LOW_HZ, "right") : np.searchsorted(hz, top_hz)]
    if not power.size:
        return np.empty(0), np.empty(0), np.empty(0)
    low, mean = quantile(np.sort(power, axis=1), FLOOR_QUANTILE), power.mean(axis=1)
    # the mean has all of the rounding, of which only the quantile's share is off as yet
    rest = (1 + np.log1p(-FLOOR_QUANTILE)) * ROUNDING / spectra.shape[1]
    return place, np.maximum(mean - rest, 0), low + mean / 10 ** (INAUDIBLE_DB / 10)


def noise_floor(clip: ClipAnalysis) -> Track:
    """Power per bin in the emptiest tenth of the spectrum, in dB, 32 ms windows.

    Broadband noise fills the parts of the spectrum that speech leaves empty, between harmonics and
    above them. Soft limit: a floor 40 dB below the window's own mean spectrum counts as none, so
    that inaudible differences do not decide. NaN in silence.
    """
    place, _, low = clip.once(_floor)
    return Track(place, decibels(low))


def snr(clip: ClipAnalysis) -> Track:
    """Mean power per bin over the noise floor, in dB, 32 ms windows; NaN within rounding noise."""
    place, mean, low = clip.once(_floor)
    return Track(place, decibels(mean) - decibels(low))


def roll_off(clip: ClipAnalysis) -> Track:
    """Octaves re 1 kHz below which 99 % of the summed magnitudes lie, 50 ms windows.

    Magnitudes rather than powers, so that the weak high end of speech counts, down to the rounding
    of 16 bits: it depends on level as well, and `bandwidth` does not. NaN in silence.
    """
    return _roll_off(clip, np.inf)


def bandwidth(clip: ClipAnalysis) -> Track:
    """`roll_off` of what is stronger than 30 dB below the strongest bin of each window."""
    return _roll_off(clip, BANDWIDTH_RANGE_DB)


def _roll_off(clip: ClipAnalysis, range_db: float) -> Track:
    place, power, hz = clip.spectra(BANDWIDTH_S, BANDWIDTH_HOP_S)
    power = less_rounding(power)
    if range_db < np.inf:
        power -= power.max(axis=1, keepdims=True) / 10 ** (range_db / 10)
        np.maximum(power, 0, out=power)
    summed = np.cumsum(np.sqrt(power), axis=1)
    total = summed[:, -1:]
    at = np.maximum(np.sum(summed < ROLL_OFF * total, axis=1), 1)
    octaves = np.log2(hz[np.minimum(at, len(hz) - 1)] / 1000)
    return Track(place, np.where(total[:, 0] > 0, octaves, np.nan))


def high_band_level(clip: ClipAnalysis) -> Track:
    """Level above 3 kHz relative to the total, in dB, 32 ms windows; NaN where there is none."""
    place, power, hz = clip.spectra(SPECTRUM_S, SPECTRUM_HOP_S)
    power = less_rounding(power)
    high = power[:, hz >= HIGH_BAND_HZ].sum(axis=1)
    return Track(place, decibels(high) - decibels(power.sum(axis=1)))
