"""Fundamental frequency and tempo."""

from collections.abc import Iterator

import numpy as np
import soxr
from jaxtyping import Bool, Float
from scipy import fft, ndimage

from otoscope.acoustics.measures.analysis import ClipAnalysis
from otoscope.acoustics.measures.base import (
    BYTES_AT_ONCE,
    Track,
    band_powers,
    mean_squares,
    windows,
)

NEARBY_S = 0.4  # loudness is judged among neighbours, so that later changes of level do not count
SILENT = 1e-10  # of the span's greatest power: below is silence

PITCH_RATE_HZ = 8000
PITCH_HOP_S = 0.01
N_COMPARED = 200  # samples of 25 ms, at `PITCH_RATE_HZ`
LOWEST_HZ, HIGHEST_HZ = 60.0, 500.0
LONGEST_LAG = round(PITCH_RATE_HZ / LOWEST_HZ) + 1
VOICED = 0.5
STEADY_SEMITONES = 2.0
LAG_COST = 0.1  # a lag of 16 ms must correlate this much better than one near 0
FAINT = 1e-3  # windows this far below the loudest nearby (30 dB) are pulled towards unvoiced
RANGE = (0.6, 1.7)  # of one speaker around their median
REFERENCE_HZ = 100.0

TEMPO_HOP_S, SMOOTHING_S = 0.005, 0.05
LOW_HZ = 100.0
N_PARTS = 8
LEAST_FRAMES = 4 * N_PARTS
STILL_DB = 1e-6  # a spectrum that moves less than this in 5 ms is stationary


def pitch(clip: ClipAnalysis) -> Track:
    """F0 in semitones re 100 Hz every 10 ms; NaN where unvoiced.

    Normalised cross-correlation at 8 kHz, twice: freely from 60 to 500 Hz, then only within 0.6
    to 1.7 times the median of the first pass, which excludes most octave errors. F0 that is not
    sustained for three windows, within 2 semitones from one to the next, is discarded.

    Source: D. Talkin (1995), "A robust algorithm for pitch tracking"; the two passes after
    C. De Looze and D. Hirst (2008), "Detecting changes in key and range".
    """
    speech = clip.speech
    if clip.sampling_rate != PITCH_RATE_HZ:
        speech = soxr.resample(speech, clip.sampling_rate, PITCH_RATE_HZ, quality="MQ")
    length_s = (N_COMPARED + LONGEST_LAG) / PITCH_RATE_HZ
    place, rows = windows(speech, PITCH_RATE_HZ, length_s, PITCH_HOP_S)
    if not rows.any():
        return Track(place, np.full(len(rows), np.nan))
    # first pass over the full range; its median sets the range of the second
    similarity = _correlation(rows)
    score = _peak_scores(similarity)
    f0, best = _best_peak(similarity, score, LOWEST_HZ, HIGHEST_HZ)
    if np.any(best > VOICED):
        median = np.median(f0[best > VOICED])
        low, high = max(LOWEST_HZ, median * RANGE[0]), min(HIGHEST_HZ, median * RANGE[1])
        f0, best = _best_peak(similarity, score, low, high)
    semitones = np.where(best > VOICED, 12 * np.log2(f0 / REFERENCE_HZ), np.nan)
    return Track(place, np.where(_sustained(semitones), semitones, np.nan))


def _sustained(semitones: Float[np.ndarray, " n_windows"]) -> Bool[np.ndarray, " n_windows"]:
    """Windows whose neighbours on both sides have nearly the same pitch; NaN has none."""
    steady = np.abs(np.diff(semitones)) < STEADY_SEMITONES
    return np.append(False, steady) & np.append(steady, False)


def _correlation(
    rows: Float[np.ndarray, "n_windows length"],
) -> Float[np.ndarray, "n_windows n_lags"]:
    """Correlation of each window's first 25 ms with the same length a lag later, -1 to 1."""
    energy = np.concatenate([mean_squares(c[:, :N_COMPARED]) for c in _centred(rows)]) * N_COMPARED
    # a constant in the denominator pulls faint windows towards 0, that is, unvoiced (as in RAPT)
    loud = ndimage.maximum_filter1d(energy, round(NEARBY_S / PITCH_HOP_S))
    faint = FAINT * np.maximum(loud, energy.max() * SILENT)[:, None]
    # all lags at once by FFT; energies of the shifted windows by what each shift adds and drops
    n_fft = fft.next_fast_len(rows.shape[1], real=True)
    similarity, first = np.empty((len(rows), LONGEST_LAG + 1)), 0
    for centred in _centred(rows):
        some = slice(first, first + len(centred))
        start = fft.rfft(centred[:, :N_COMPARED], n_fft)
        product = fft.irfft(start.conj() * fft.rfft(centred, n_fft), n_fft)
        squared = np.square(centred, out=centred)
        shifted = np.empty((len(centred), LONGEST_LAG + 1))
        shifted[:, 0] = energy[some]
        np.subtract(squared[:, N_COMPARED:], squared[:, :LONGEST_LAG], out=shifted[:, 1:])
        np.cumsum(shifted, axis=1, out=shifted)
        shifted += faint[some]
        shifted *= shifted[:, :1].copy()
        np.divide(
            product[:, : LONGEST_LAG + 1], np.sqrt(shifted, out=shifted), out=similarity[some]
        )
        first += len(centred)
    return similarity


def _centred(
    rows: Float[np.ndarray, "n_windows length"],
) -> Iterator[Float[np.ndarray, "n_some length"]]:
    """Windows less their mean, a few at a time."""
    n_at_once = BYTES_AT_ONCE // (rows.itemsize * rows.shape[1])
    for first in range(0, len(rows), n_at_once):
        some = rows[first : first + n_at_once]
        yield some - some.mean(axis=1, keepdims=True)


def _peak_scores(
    similarity: Float[np.ndarray, "n_windows n_lags"],
) -> Float[np.ndarray, "n_windows n_lags"]:
    """Correlation less the cost of its lag at every peak, -inf elsewhere."""
    inner = similarity[:, 1:-1]
    peak = (inner >= similarity[:, :-2]) & (inner > similarity[:, 2:])
    score = np.full_like(similarity, -np.inf)
    cost = LAG_COST * np.arange(1, inner.shape[1] + 1) / LONGEST_LAG
    np.subtract(inner, cost, out=score[:, 1:-1], where=peak)
    return score


def _best_peak(
    similarity: Float[np.ndarray, "n_windows n_lags"],
    score: Float[np.ndarray, "n_windows n_lags"],
    low_hz: float,
    high_hz: float,
) -> tuple[Float[np.ndarray, " n_windows"], Float[np.ndarray, " n_windows"]]:
    """F0 in Hz of the best peak in a range, between lags by parabola, and its correlation.

    A window without a peak there has correlation 0.
    """
    shortest = max(2, int(PITCH_RATE_HZ / high_hz))
    longest = min(LONGEST_LAG - 1, int(np.ceil(PITCH_RATE_HZ / low_hz)))
    at = shortest + np.argmax(score[:, shortest : longest + 1], axis=1)
    row = np.arange(len(at))
    before, top, after = similarity[row, at - 1], similarity[row, at], similarity[row, at + 1]
    # vertex of the parabola through the peak and its neighbours
    bend = before - 2 * top + after
    shift = np.where(bend < 0, 0.5 * (before - after) / np.where(bend < 0, bend, -1), 0)
    return PITCH_RATE_HZ / (at + np.clip(shift, -0.5, 0.5)), np.where(
        score[row, at] > -np.inf, top, 0.0
    )


def pace(clip: ClipAnalysis) -> Track:
    """Speed relative to the span's mean, in octaves (log2), in eight parts of equal *content*.

    Time is measured by spectral change: the path length of the spectral shape (30 bands, in dB less
    their mean, smoothed over 50 ms). The path is cut into eight parts of equal length, and a part
    that takes twice as long has half the speed. Time stretching moves no boundary in the content,
    so `place` is a fraction of the path, not of the time. It includes faint components, and so
    depends on noise, filters and level as well; `tempo` does not. NaN when the span is silent or
    its spectrum is stationary; empty when it is shorter than about 0.2 s.
    """
    return _by_content(clip, n_bands=30, high_hz=8000.0, range_db=50.0, window_s=0.025)


def tempo(clip: ClipAnalysis) -> Track:
    """`pace` from loud, low components: 16 bands up to 2 kHz, to 25 dB below the loudest nearby.

    Less sensitive, and nearly independent of level, bandwidth and faint noise.
    """
    return _by_content(
        clip,
        n_bands=16,
        high_hz=2000.0,
        range_db=25.0,
        window_s=0.028,
        nearby_s=NEARBY_S,
    )


def _by_content(
    clip: ClipAnalysis,
    *,
    n_bands: int,
    high_hz: float,
    range_db: float,
    window_s: float,
    nearby_s: float | None = None,
) -> Track:
    """Speed from the path of the spectrum.

    Args:
        clip: As for every measure.
        n_bands, high_hz: Bands from 100 Hz up.
        range_db: Movement this far below the loudest band does not count.
        window_s: Of the spectra.
        nearby_s: Dips shorter than this are bridged in the level of the loudest band, so that steps
            of level do not count; None takes the loudest of the span.
    """
    place = (np.arange(N_PARTS) + 0.5) / N_PARTS
    unmeasured = Track(place, np.full(N_PARTS, np.nan))
    # spectral shape: band levels with a soft floor below the loudest band, less their mean
    _, powers = clip.over_spectra(
        window_s,
        TEMPO_HOP_S,
        lambda power, hz: band_powers(power, hz, n_bands, LOW_HZ, high_hz),
        high_hz,
    )
    bands = powers.astype(np.float64)
    if len(bands) < LEAST_FRAMES:
        return Track(np.empty(0), np.empty(0))
    if not bands.any():
        return unmeasured
    loudest = bands.max(axis=1)
    nearby = np.full_like(loudest, loudest.max())
    if nearby_s is not None:
        bridged = ndimage.grey_closing(loudest, round(nearby_s / TEMPO_HOP_S))
        nearby = np.maximum(bridged, loudest.max() * SILENT)
    shape = 10 * np.log10(bands + nearby[:, None] / 10 ** (range_db / 10))
    shape -= shape.mean(axis=1, keepdims=True)
    # path length of the smoothed shape, cut into equal parts; their durations give the speed
    taper = np.hanning(round(SMOOTHING_S / TEMPO_HOP_S) + 1)[1:-1]
    smooth = ndimage.convolve1d(shape, taper / taper.sum(), axis=0, mode="nearest")
    travelled = np.append(0, np.cumsum(np.linalg.norm(np.diff(smooth, axis=0), axis=1)))
    if not travelled[-1] > STILL_DB * len(travelled):
        return unmeasured
    bounds = np.linspace(0, travelled[-1], N_PARTS + 1)
    when = np.interp(bounds, travelled, np.linspace(0, 1, len(travelled)))
    when[0] = 0  # the first part includes stillness before it
    return Track(place, -np.log2(N_PARTS * np.diff(when)))
