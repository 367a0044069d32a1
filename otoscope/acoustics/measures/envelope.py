"""Measures of the amplitude envelope: modulation, and the depth of its valleys."""

from functools import cache

import numpy as np
from jaxtyping import Float
from scipy import ndimage, signal

from otoscope.acoustics.measures.analysis import ClipAnalysis
from otoscope.acoustics.measures.base import (
    Track,
    band_powers,
    decibels,
    less_rounding,
    mean_squares,
    over_windows,
    quantile,
    windows,
)

ENVELOPE_S, ENVELOPE_HOP_S = 0.01, 0.005
TREMOR_HZ = (10.0, 25.0)  # above syllables, up to the fastest tremor of the benchmark
TREMOR_S = 0.25
NEARBY_S = 0.4
FAINT_DB = 30.0  # a mean this far below the peak nearby no longer normalises
SILENT = 1e-4  # of the span's peak: below is no envelope
STILL = 1e-9  # -90 dB

BAND_S, BAND_HOP_S = 0.02, 0.01
N_BANDS, LOW_HZ, HIGH_HZ = 30, 300.0, 8000.0
VALLEY_S = 0.2
VALLEY, PEAK = 0.05, 0.95
STATIONARY = 0.25  # valleys this high are those of steady noise, which has no reverberation


def modulation(clip: ClipAnalysis) -> Track:
    """Share of the envelope's power that fluctuates at 10 to 25 Hz, in dB, over 250 ms.

    The envelope is the RMS in 10 ms. Relative to its mean square nearby, hence blind to level.
    Empty when the span is silent or not longer than 250 ms.
    """
    place, rows = windows(clip.speech, clip.sampling_rate, ENVELOPE_S, ENVELOPE_HOP_S)
    envelope = np.sqrt(mean_squares(rows))
    n_mean = round(TREMOR_S / ENVELOPE_HOP_S)
    if len(envelope) <= n_mean or not envelope.max() > 0:
        return Track(np.empty(0), np.empty(0))
    # band-pass the envelope, square and smooth: the power of its fluctuation at 10 to 25 Hz
    taper = np.hanning(n_mean + 2)[1:-1]
    taper /= taper.sum()
    tremor = np.convolve(signal.sosfiltfilt(_band(), envelope) ** 2, taper, mode="valid")
    around = np.convolve(envelope**2, taper, mode="valid")
    # normalised by the envelope's mean square; in pauses the peak nearby keeps the ratio finite
    nearby = ndimage.maximum_filter1d(envelope, round(NEARBY_S / ENVELOPE_HOP_S))
    nearby = np.maximum(nearby[n_mean // 2 :][: len(around)], SILENT * envelope.max())
    share = tremor / (around + nearby**2 / 10 ** (FAINT_DB / 10))
    middle = place[n_mean // 2 :][: len(share)]
    step = slice(None, None, n_mean // 4)
    return Track(middle[step], decibels(share[step] + STILL))


@cache
def _band() -> Float[np.ndarray, "n_sections 6"]:
    """The band-pass for the envelope, as second-order sections."""
    sections: Float[np.ndarray, "n_sections 6"] = signal.butter(
        2, TREMOR_HZ, "bandpass", fs=1 / ENVELOPE_HOP_S, output="sos"
    )
    return sections


def reverberance(clip: ClipAnalysis) -> Track:
    """Height of the envelope's valleys as a share of its peaks (0 to 0.25), in 200 ms.

    In each of 30 bands the 5 % quantile of the amplitude over its 95 % quantile; the mean over the
    bands. It grows in proportion to the amplitude of reverberation. NaN where the envelope is as
    flat as that of steady noise, and in silence.
    """
    # amplitude in bands over time, then the two quantiles over 20 frames of each band
    place, amplitude = clip.over_spectra(BAND_S, BAND_HOP_S, _amplitudes)
    n_frames = round(VALLEY_S / BAND_HOP_S)
    ordered = np.sort(over_windows(amplitude, n_frames, n_frames // 4), axis=-1)
    low, high = quantile(ordered, VALLEY), quantile(ordered, PEAK)
    filled = np.mean(low / np.where(high > 0, high, np.inf), axis=1)
    filled[(high.max(axis=1, initial=0) <= 0) | (filled > STATIONARY)] = np.nan
    middle = over_windows(place[:, None], n_frames, n_frames // 4).mean(axis=(1, 2))
    return Track(middle, filled)


def _amplitudes(
    power: Float[np.ndarray, "n_windows n_bins"], hz: Float[np.ndarray, " n_bins"]
) -> Float[np.ndarray, "n_windows n_bands"]:
    less_rounding(power, len(hz))
    amplitude: Float[np.ndarray, "n_windows n_bands"] = np.sqrt(
        band_powers(power, hz, N_BANDS, LOW_HZ, HIGH_HZ)
    )
    return amplitude
