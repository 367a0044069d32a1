"""Parts shared by all measures: the form of the result, windows, spectra and bands."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int16
from scipy import fft

from otoscope.acoustics.codec import FULL_SCALE, AudioError
from otoscope.acoustics.spans import Span

MEL_CORNER_HZ = 700.0
BYTES_AT_ONCE = 1 << 18  # so that what lies between two steps stays in the processor's cache
ROUNDING = 1 / 12 / FULL_SCALE**2
"""Power of the rounding error of 16 bits: a twelfth of the squared step."""

Samples = (
    Float[np.ndarray, " n_samples"]
    | Float[np.ndarray, "n_channels n_samples"]
    | Int16[np.ndarray, " n_samples"]
    | Int16[np.ndarray, "n_channels n_samples"]
)
"""A waveform: float in [-1, 1) or 16-bit PCM, one channel or several."""


class Track(NamedTuple):
    """A measure over a span, window by window.

    Attributes:
        place: The middle of each window, as a fraction of the span, rising.
        value: In the measure's unit; NaN where the window cannot be measured.
    """

    place: Float[np.ndarray, " n_windows"]
    value: Float[np.ndarray, " n_windows"]


Summary = Callable[
    [Float[np.ndarray, "n_windows n_bins"], Float[np.ndarray, " n_bins"]],
    Float[np.ndarray, "n_windows n_values"],
]
"""Power spectra, which it may overwrite, and the bins' frequencies in Hz to values a window."""


def speech_of(samples: Samples, sampling_rate: int, span: Span) -> Float[np.ndarray, " n_in_span"]:
    """The span of the mean of all channels, float64 in [-1, 1].

    Raises:
        AudioError: A rate that is not positive, a span that is empty or outside the clip, samples
            that are not finite.
    """
    if sampling_rate <= 0:
        raise AudioError(f"sampling_rate must be positive, got {sampling_rate}")
    if not 0 <= span[0] < span[1] <= samples.shape[-1]:
        raise AudioError(f"span {tuple(span)} is not within the clip's {samples.shape[-1]} samples")
    speech = np.atleast_2d(samples)[:, span[0] : span[1]].mean(axis=0, dtype=np.float64)
    if not np.isfinite(speech).all():
        raise AudioError(f"{np.sum(~np.isfinite(speech))} samples are NaN or infinite")
    return speech / FULL_SCALE if samples.dtype == np.int16 else speech


def windows(
    speech: Float[np.ndarray, " n_samples"], sampling_rate: int, length_s: float, hop_s: float
) -> tuple[Float[np.ndarray, " n_windows"], Float[np.ndarray, "n_windows length"]]:
    """Places and samples of whole windows; none when the span is shorter than one."""
    length, hop = max(1, round(length_s * sampling_rate)), max(1, round(hop_s * sampling_rate))
    if speech.size < length:
        return np.empty(0), np.empty((0, length))
    rows = np.lib.stride_tricks.sliding_window_view(speech, length)[::hop]
    return (np.arange(len(rows)) * hop + length / 2) / speech.size, rows


def mean_squares(
    rows: Float[np.ndarray, "n_windows length"],
) -> Float[np.ndarray, " n_windows"]:
    """Power of each window.

    >>> mean_squares(np.array([[3.0, 4.0], [0.0, 2.0]])).tolist()
    [12.5, 2.0]
    """
    power: Float[np.ndarray, " n_windows"] = np.einsum("ij,ij->i", rows, rows) / rows.shape[1]
    return power


def over_windows(
    rows: Float[np.ndarray, "n_frames n_columns"], n_frames_each: int, hop: int
) -> Float[np.ndarray, "n_windows n_columns n_frames_each"]:
    """Windows of successive frames; none when there are fewer frames than one window needs."""
    if len(rows) < n_frames_each:
        return np.empty((0, rows.shape[1], n_frames_each))
    return np.lib.stride_tricks.sliding_window_view(rows, n_frames_each, axis=0)[::hop]


def quantile(
    ordered: Float[np.ndarray, "*shape n_values"], share: float
) -> Float[np.ndarray, "*shape"]:
    """A quantile of values that are sorted along the last axis, as `np.quantile` has it.

    >>> quantile(np.array([[1.0, 2.0, 4.0]]), 0.75).tolist()
    [3.0]
    """
    at = share * (ordered.shape[-1] - 1)
    below = int(at)
    low, high = ordered[..., below], ordered[..., min(below + 1, ordered.shape[-1] - 1)]
    way = at - below
    between = high - low
    return low + between * way if way < 0.5 else high - between * (1 - way)


def decibels(power: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """10·log10 of a power; NaN where there is none.

    >>> decibels(np.array([1.0, 0.01, 0.0])).tolist()
    [0.0, -20.0, nan]
    """
    return 10 * np.log10(np.where(power > 0, power, np.nan))


def over_spectra(
    speech: Float[np.ndarray, " n_samples"],
    sampling_rate: int,
    length_s: float,
    hop_s: float,
    summary: Summary,
    highest_hz: float = np.inf,
) -> tuple[Float[np.ndarray, " n_windows"], Float[np.ndarray, "n_windows n_values"]]:
    """Places of Hann windows, and a summary of each one's power spectrum.

    A full-scale sine has power 1/2, spread over the three bins of the window's main lobe. Bins
    above the first at or over `highest_hz` are left out. All spectra of a clip would be far larger
    than a processor's cache, so a few at a time are made and summarised. They are in single
    precision, as is the transform: its error, some 1e-7 of the strongest bin, outweighs the rest.
    """
    place, rows = windows(speech.astype(np.float32), sampling_rate, length_s, hop_s)
    length = rows.shape[1]
    n_fft = 1 << (length - 1).bit_length()
    taper = np.hanning(length + 2)[1:-1]
    taper = (taper * np.sqrt(2 / (n_fft * np.sum(taper**2)))).astype(np.float32)
    hz = np.fft.rfftfreq(n_fft, 1 / sampling_rate)
    hz = hz[hz < highest_hz + sampling_rate / n_fft]
    padded = np.zeros((max(1, BYTES_AT_ONCE // (4 * n_fft)), n_fft), np.float32)
    found = []
    for first in range(0, max(1, len(rows)), len(padded)):
        some = rows[first : first + len(padded)]
        np.multiply(some, taper, out=padded[: len(some), :length])
        found.append(summary(_power(padded[: len(some)], len(hz)), hz))
    return place, np.concatenate(found)


def _power(
    padded: Float[np.ndarray, "n_windows n_fft"], n_bins: int
) -> Float[np.ndarray, "n_windows n_bins"]:
    """Squared magnitude of the first bins of each row's spectrum."""
    if not len(padded):
        return np.empty((0, n_bins), np.float32)
    parts = fft.rfft(padded, axis=-1)[:, :n_bins].view(np.float32)
    parts *= parts
    return parts[:, ::2] + parts[:, 1::2]


def less_rounding(power: Float[np.ndarray, "*shape"], n_bins: int, share: float = 1.0) -> None:
    """Take from power, in place, what rounding to 16 bits adds on average, or a share of it.

    Without that, the spectrum of a faint signal would look wide and flat.

    Args:
        power: Of some of the bins of a spectrum.
        n_bins: All bins, over which the rounding is spread.
        share: Of the rounding.
    """
    power -= share * ROUNDING / n_bins
    np.maximum(power, 0, out=power)


@lru_cache(maxsize=32)
def _band_weights(
    n_bins: int, last_hz: float, n_bands: int, low_hz: float, high_hz: float
) -> Float[np.ndarray, "n_bins n_bands"]:
    """Share of each bin in each band; the bands are equally wide on the mel scale."""
    high_hz = min(high_hz, last_hz)
    low_mel, high_mel = np.log1p(np.array([low_hz, high_hz]) / MEL_CORNER_HZ)
    mel = np.linspace(low_mel, high_mel, n_bands + 1)
    bounds = np.expm1(mel) * MEL_CORNER_HZ / last_hz * (n_bins - 1)
    # each bin is one bin wide; its weight is its overlap with the band
    upper = np.arange(n_bins)[:, None] + 0.5
    shares = np.clip(np.minimum(upper, bounds[1:]) - np.maximum(upper - 1, bounds[:-1]), 0, 1)
    return shares.astype(np.float32)


def band_powers(
    power: Float[np.ndarray, "n_windows n_bins"],
    frequency_hz: Float[np.ndarray, " n_bins"],
    n_bands: int,
    low_hz: float,
    high_hz: float,
) -> Float[np.ndarray, "n_windows n_bands"]:
    """Power in `n_bands` bands of equal width on the mel scale, up to the last bin at most."""
    return power @ _band_weights(len(frequency_hz), frequency_hz[-1], n_bands, low_hz, high_hz)
