"""Measures of level, noise floor and spectral extent."""

import numpy as np

from otoscope.acoustics.measures.analysis import ClipAnalysis
from otoscope.acoustics.measures.base import Track, decibels, less_rounding, quantile, windows

LEVEL_S, LEVEL_HOP_S = 0.02, 0.01
SPECTRUM_S, SPECTRUM_HOP_S = 0.032, 0.016
BANDWIDTH_S, BANDWIDTH_HOP_S = 0.05, 0.025
FLOOR_QUANTILE = 0.1
FLOOR_LOW_HZ, FLOOR_TOP = 200.0, 0.95  # excludes hum and the slope of anti-aliasing filters
INAUDIBLE_DB = 40.0  # a floor this far below the window's mean spectrum counts as no noise
ROLL_OFF = 0.99
HIGH_BAND_HZ = 3000.0


def level(clip: ClipAnalysis) -> Track:
    """Short-time level in dB re full scale (RMS 1 is 0 dB), 20 ms windows; NaN in silence."""
    place, rows = windows(clip.speech, clip.sampling_rate, LEVEL_S, LEVEL_HOP_S)
    return Track(place, decibels(np.mean(rows**2, axis=1)))


def _floor(clip: ClipAnalysis) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, and per window the mean and the low quantile of power over frequency."""
    place, power, hz = clip.spectra(SPECTRUM_S, SPECTRUM_HOP_S)
    power = less_rounding(power, share=-np.log1p(-FLOOR_QUANTILE))  # that quantile of noise
    top_hz = FLOOR_TOP * clip.sampling_rate / 2
    power = power[:, np.searchsorted(hz, FLOOR_LOW_HZ, "right") : np.searchsorted(hz, top_hz)]
    if not power.size:
        return np.empty(0), np.empty(0), np.empty(0)
    low, mean = quantile(np.sort(power, axis=1), FLOOR_QUANTILE), power.mean(axis=1)
    return place, mean, low + mean / 10 ** (INAUDIBLE_DB / 10)


def noise_floor(clip: ClipAnalysis) -> Track:
    """Power per bin in the emptiest tenth of the spectrum, in dB, 32 ms windows.

    Broadband noise fills the parts of the spectrum that speech leaves empty, between harmonics and
    above them. Soft limit: a floor 40 dB below the window's own mean spectrum counts as none, so
    that inaudible differences do not decide. NaN in silence.
    """
    place, _, low = clip.once(_floor)
    return Track(place, decibels(low))


def snr(clip: ClipAnalysis) -> Track:
    """Mean power per bin over the noise floor, in dB, 32 ms windows; NaN in silent ones."""
    place, mean, low = clip.once(_floor)
    return Track(place, decibels(mean) - decibels(low))


def bandwidth(clip: ClipAnalysis) -> Track:
    """Octaves re 1 kHz below which 99 % of the summed magnitudes lie, 50 ms windows.

    Magnitudes rather than powers, so that the weak high end of speech counts. NaN in silence.
    """
    place, power, hz = clip.spectra(BANDWIDTH_S, BANDWIDTH_HOP_S)
    summed = np.cumsum(np.sqrt(less_rounding(power)), axis=1)
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
