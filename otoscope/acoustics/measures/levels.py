"""Measures of level, noise floor and spectral extent."""

import numpy as np

from otoscope.acoustics.measures.base import (
    Samples,
    Track,
    decibels,
    less_rounding,
    power_spectra,
    speech_of,
    windows,
)
from otoscope.acoustics.spans import Span

LEVEL_S, LEVEL_HOP_S = 0.02, 0.01
SPECTRUM_S, SPECTRUM_HOP_S = 0.032, 0.016
BANDWIDTH_S, BANDWIDTH_HOP_S = 0.05, 0.025
FLOOR_QUANTILE = 0.1
FLOOR_LOW_HZ, FLOOR_TOP = 200.0, 0.95  # excludes hum and the slope of anti-aliasing filters
INAUDIBLE_DB = 40.0  # a floor this far below the window's mean spectrum counts as no noise
ROLL_OFF = 0.99
HIGH_BAND_HZ = 3000.0


def level(samples: Samples, sampling_rate: int, span: Span) -> Track:
    """Short-time level in dB re full scale (RMS 1 is 0 dB), 20 ms windows; NaN in silence."""
    place, rows = windows(
        speech_of(samples, sampling_rate, span), sampling_rate, LEVEL_S, LEVEL_HOP_S
    )
    return Track(place, decibels(np.mean(rows**2, axis=1)))


def _floor(
    samples: Samples, sampling_rate: int, span: Span
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, and per window the mean and the low quantile of power over frequency."""
    speech = speech_of(samples, sampling_rate, span)
    place, power, hz = power_spectra(speech, sampling_rate, SPECTRUM_S, SPECTRUM_HOP_S)
    power = less_rounding(power, share=-np.log1p(-FLOOR_QUANTILE))  # that quantile of noise
    power = power[:, (hz > FLOOR_LOW_HZ) & (hz < FLOOR_TOP * sampling_rate / 2)]
    if not power.size:
        return np.empty(0), np.empty(0), np.empty(0)
    low = np.quantile(power, FLOOR_QUANTILE, axis=1)
    mean = power.mean(axis=1)
    return place, mean, low + mean / 10 ** (INAUDIBLE_DB / 10)


def noise_floor(samples: Samples, sampling_rate: int, span: Span) -> Track:
    """Power per bin in the emptiest tenth of the spectrum, in dB, 32 ms windows.

    Broadband noise fills the parts of the spectrum that speech leaves empty, between harmonics and
    above them. Soft limit: a floor 40 dB below the window's own mean spectrum counts as none, so
    that inaudible differences do not decide. NaN in silence.
    """
    place, _, low = _floor(samples, sampling_rate, span)
    return Track(place, decibels(low))


def snr(samples: Samples, sampling_rate: int, span: Span) -> Track:
    """Mean power per bin over the noise floor, in dB, 32 ms windows; NaN in silent ones."""
    place, mean, low = _floor(samples, sampling_rate, span)
    return Track(place, decibels(mean) - decibels(low))


def bandwidth(samples: Samples, sampling_rate: int, span: Span) -> Track:
    """Octaves re 1 kHz below which 99 % of the summed magnitudes lie, 50 ms windows.

    Magnitudes rather than powers, so that the weak high end of speech counts. NaN in silence.
    """
    speech = speech_of(samples, sampling_rate, span)
    place, power, hz = power_spectra(speech, sampling_rate, BANDWIDTH_S, BANDWIDTH_HOP_S)
    summed = np.cumsum(np.sqrt(less_rounding(power)), axis=1)
    total = summed[:, -1:]
    at = np.maximum(np.sum(summed < ROLL_OFF * total, axis=1), 1)
    octaves = np.log2(hz[np.minimum(at, len(hz) - 1)] / 1000)
    return Track(place, np.where(total[:, 0] > 0, octaves, np.nan))


def high_band_level(samples: Samples, sampling_rate: int, span: Span) -> Track:
    """Level above 3 kHz relative to the total, in dB, 32 ms windows; NaN where there is none."""
    speech = speech_of(samples, sampling_rate, span)
    place, power, hz = power_spectra(speech, sampling_rate, SPECTRUM_S, SPECTRUM_HOP_S)
    power = less_rounding(power)
    high = power[:, hz >= HIGH_BAND_HZ].sum(axis=1)
    return Track(place, decibels(high) - decibels(power.sum(axis=1)))
