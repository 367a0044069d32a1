"""Measures of the sample values themselves: sample-and-hold, and a grid coarser than 16 bits.

Both rest on exact equality of values: they describe the file, not the signal after playback, and
resampling erases them.
"""

import numpy as np
from jaxtyping import Float

from otoscope.acoustics.codec import FULL_SCALE
from otoscope.acoustics.measures.analysis import ClipAnalysis
from otoscope.acoustics.measures.base import Track, windows

WINDOW_S, HOP_S = 0.05, 0.025
FINE_QUANTILE = 0.05
RESOLVED = 4.0


def sample_hold(clip: ClipAnalysis) -> Track:
    """Length of a hold, log2 of a number of samples, 50 ms windows.

    0 when every sample differs from the one before, 3 when each is held for eight. NaN where equal
    neighbours are no evidence, because the smallest steps (their 5 % quantile) are not four times
    finer than the RMS step: near silence, and on a grid as coarse as the signal.
    """
    place, rows = windows(clip.once(_in_steps), clip.sampling_rate, WINDOW_S, HOP_S)
    step = np.abs(np.diff(rows, axis=1))
    changes = step > 0
    n_changes = changes.sum(axis=1)
    # 5 % quantile of the steps that are not zero: zeros come first in the sorted row
    ordered = np.sort(step, axis=1)
    fine_at = step.shape[1] - n_changes + (FINE_QUANTILE * n_changes).astype(int)
    fine = ordered[np.arange(len(step)), np.minimum(fine_at, step.shape[1] - 1)]
    energy = np.einsum("ij,ij->i", step, step, dtype=np.float64)
    rms = np.sqrt(energy / np.maximum(n_changes, 1))
    resolved = (n_changes > 0) & (fine * RESOLVED <= rms)
    held = -np.log2(np.where(resolved, n_changes, step.shape[1]) / step.shape[1])
    return Track(place, np.where(resolved, held, np.nan))


def quantisation_step(clip: ClipAnalysis) -> Track:
    """Spacing of the values in use, log2 of 16-bit steps, 50 ms windows.

    How often two samples of a window are equal, compared with a Gaussian of the same standard
    deviation on the 16-bit grid. 0 on that grid, 8 when only 8 bits are in use. Held samples
    count once. NaN where fewer than two values follow one another (silence).

    The chance that two samples fall on one value is step / (2·√π·deviation) for a Gaussian much
    wider than the step; counting pairs estimates it without bias, however few samples there are.
    """
    place, rows = windows(clip.once(_in_steps), clip.sampling_rate, WINDOW_S, HOP_S)
    # keep one of each hold, sort, and count pairs of equal values
    fresh = np.ones(rows.shape, bool)
    fresh[:, 1:] = rows[:, 1:] != rows[:, :-1]
    n = fresh.sum(axis=1)
    values = np.sort(np.where(fresh, rows, np.inf), axis=1)
    pairs = _equal_pairs(values)
    measurable = n > 1
    deviation = rows.std(axis=1, dtype=np.float64)
    step = 2 * np.sqrt(np.pi) * deviation * pairs / np.where(measurable, n * (n - 1), 1)
    return Track(place, np.where(measurable, np.log2(np.maximum(step, 1)), np.nan))


def _in_steps(clip: ClipAnalysis) -> Float[np.ndarray, " n_samples"]:
    """Samples in 16-bit steps: float32 if all are whole, which is exact and faster to sort."""
    steps = clip.speech * FULL_SCALE
    return steps.astype(np.float32) if np.array_equal(steps, np.rint(steps)) else steps


def _equal_pairs(values: Float[np.ndarray, "n_rows n_values"]) -> Float[np.ndarray, " n_rows"]:
    """Ordered pairs of equal finite values in each sorted row."""
    first = np.ones(values.shape, bool)
    first[:, 1:] = values[:, 1:] != values[:, :-1]
    starts = np.flatnonzero(first)
    count = np.diff(np.append(starts, values.size)).astype(float)
    count[np.isinf(values.ravel()[starts])] = 0
    pairs = np.zeros(len(values))
    np.add.at(pairs, starts // values.shape[1], count * (count - 1))
    return pairs
