"""Measures of level, noise floor and spectral extent."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from otoscope.acoustics.measures.analysis import ClipAnalysis
from otoscope.acoustics.measures.base import (
    Track,
    decibels,
    less_rounding,
    mean_squares,
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
BLOCK = 32  # bins that are summed before the place is looked for among them
BANDWIDTH_RANGE_DB = 30.0  # weaker components of a quiet half are lost in rounding, and inaudible
HIGH_BAND_HZ = 3000.0


def level(clip: ClipAnalysis) -> Track:
    """Short-time level in dB re full scale (RMS 1 is 0 dB), 20 ms windows; NaN in silence."""
    place, rows = windows(clip.speech, clip.sampling_rate, LEVEL_S, LEVEL_HOP_S)
    return Track(place, decibels(mean_squares(rows)))


class _Levels(NamedTuple):
    """What several measures need of each spectrum: powers, one a window.

    Attributes:
        place: The middle of each window, as a fraction of the span.
        floor, mean: Noise floor and mean of the bins from 200 Hz to just below half the rate.
        high, total: Sums above 3 kHz, and over all bins.
    """

    place: Float[np.ndarray, " n_windows"]
    floor: Float[np.ndarray, " n_windows"]
    mean: Float[np.ndarray, " n_windows"]
    high: Float[np.ndarray, " n_windows"]
    total: Float[np.ndarray, " n_windows"]


def _levels(clip: ClipAnalysis) -> _Levels:
    top_hz = FLOOR_TOP * clip.sampling_rate / 2
    in_quantile = -np.log1p(-FLOOR_QUANTILE)  # that quantile of noise, as a share of its mean

    def summary(power: np.ndarray, hz: np.ndarray) -> np.ndarray:
        less_rounding(power, len(hz), in_quantile)
        part = power[:, np.searchsorted(hz, FLOOR_LOW_HZ, "right") : np.searchsorted(hz, top_hz)]
        if not part.shape[1]:  # at rates of a few hundred hertz
            part = np.zeros((len(power), 1), np.float32)
        mean = part.mean(axis=1)
        floor = quantile(np.sort(part, axis=1), FLOOR_QUANTILE) + mean / 10 ** (INAUDIBLE_DB / 10)
        # only the quantile's share of the rounding is off as yet: now the rest as well
        less_rounding(mean, len(hz), 1 - in_quantile)
        less_rounding(power, len(hz), 1 - in_quantile)
        high = power[:, np.searchsorted(hz, HIGH_BAND_HZ) :].sum(axis=1)
        return np.stack([floor, mean, high, power.sum(axis=1)], axis=1)

    place, values = clip.over_spectra(SPECTRUM_S, SPECTRUM_HOP_S, summary)
    return _Levels(place, *values.T.astype(np.float64))


def noise_floor(clip: ClipAnalysis) -> Track:
    """Power per bin in the emptiest tenth of the spectrum, in dB, 32 ms windows.

    Broadband noise fills the parts of the spectrum that speech leaves empty, between harmonics and
    above them. Soft limit: a floor 40 dB below the window's own mean spectrum counts as none, so
    that inaudible differences do not decide. NaN in silence.
    """
    of = clip.once(_levels)
    return Track(of.place, decibels(of.floor))


def snr(clip: ClipAnalysis) -> Track:
    """Mean power per bin over the noise floor, in dB, 32 ms windows; NaN within rounding noise."""
    of = clip.once(_levels)
    return Track(of.place, decibels(of.mean) - decibels(of.floor))


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

    def summary(power: np.ndarray, hz: np.ndarray) -> np.ndarray:
        less_rounding(power, len(hz))
        if range_db < np.inf:
            power -= power.max(axis=1, keepdims=True) / 10 ** (range_db / 10)
            np.maximum(power, 0, out=power)
        at = np.maximum(_place_of(ROLL_OFF, np.sqrt(power, out=power)), 1)
        octaves = np.log2(hz[np.minimum(at, len(hz) - 1)] / 1000)
        return np.where(power.any(axis=1), octaves, np.nan)[:, None]

    place, octaves = clip.over_spectra(BANDWIDTH_S, BANDWIDTH_HOP_S, summary)
    return Track(place, octaves[:, 0])


def _place_of(
    share: float, values: Float[np.ndarray, "n_rows n_values"]
) -> Int[np.ndarray, " n_rows"]:
    """Where in each row the sum reaches a share of the whole.

    >>> _place_of(0.9, np.array([[1.0, 0.0, 5.0, 2.0, 2.0], [8.0, 1.0, 1.0, 0.0, 0.0]])).tolist()
    [4, 1]
    """
    # first the block, by the sums of blocks, then the place within it
    row, start = np.arange(len(values))[:, None], np.arange(0, values.shape[1], BLOCK)
    summed = np.cumsum(np.add.reduceat(values, start, axis=1), axis=1, dtype=np.float64)
    wanted = share * summed[:, -1:]
    block = np.argmax(summed >= wanted, axis=1)[:, None]
    within = np.minimum(block * BLOCK + np.arange(BLOCK), values.shape[1] - 1)
    inside = np.cumsum(values[row, within], axis=1, dtype=np.float64)
    before = np.where(block > 0, summed[row, block - 1], 0)
    return within[row[:, 0], np.argmax(before + inside >= wanted, axis=1)]


def high_band_level(clip: ClipAnalysis) -> Track:
    """Level above 3 kHz relative to the total, in dB, 32 ms windows; NaN where there is none."""
    of = clip.once(_levels)
    return Track(of.place, decibels(of.high) - decibels(of.total))
