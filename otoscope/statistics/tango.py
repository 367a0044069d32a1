"""Tango's score interval for the difference of two paired shares."""

import math

import numpy as np
from jaxtyping import Float, Real
from scipy.optimize import brentq
from scipy.stats import norm

from otoscope.statistics.intervals import UNKNOWN, Interval, check_draws
from otoscope.statistics.pairs import PairedCounts, check_counts


def tango_interval(counts: PairedCounts, *, confidence: float = 0.95) -> Interval:
    """Score interval of the difference in shares, for independent questions.

    Without discordant questions it is ±z²/(n + z²), never of width zero. No questions: NaN.

    >>> [round(end, 4) for end in tango_interval(PairedCounts(215, 7, 6, 12))]
    [0.0042, -0.0284, 0.0375]

    Raises:
        ValueError: A negative count, or a confidence outside (0, 1).

    Source: T. Tango (1998), https://doi.org/10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B
    """
    check_counts(counts)
    check_draws(confidence)
    return _interval(counts.only_first, counts.only_second, counts.n, confidence)


def tango_upper_bound(counts: PairedCounts, *, confidence: float = 0.95) -> float:
    """One-sided bound: the largest difference that the score test does not exclude.

    It is the upper end of the two-sided interval of confidence 2·confidence - 1.

    >>> round(tango_upper_bound(PairedCounts(215, 7, 6, 12)), 4)
    0.0313

    Raises:
        ValueError: A negative count, or a confidence that does not lie between 0.5 and 1.
    """
    if not 0.5 < confidence < 1:
        raise ValueError(f"confidence must lie between 0.5 and 1, got {confidence}")
    return tango_interval(counts, confidence=2 * confidence - 1).high


def tango_lower_bound(counts: PairedCounts, *, confidence: float = 0.95) -> float:
    """One-sided bound: the smallest difference that the score test does not exclude."""
    both, first, second, neither = counts
    return -tango_upper_bound(PairedCounts(both, second, first, neither), confidence=confidence)


def tango_at_size(
    only_first: float | int, only_second: float | int, n: float | int, *, confidence: float = 0.95
) -> Interval:
    """Tango's interval at an effective sample size: counts that need not be whole.

    Raises:
        ValueError: Counts that are negative or above n, or a confidence outside (0, 1).
    """
    check_draws(confidence)
    if min(only_first, only_second) < 0 or only_first + only_second > n * (1 + 1e-9):
        raise ValueError(
            f"impossible counts: only_first={only_first}, only_second={only_second}, n={n}"
        )
    return _interval(only_first, only_second, n, confidence)


def tango_score(
    only_first: Real[np.ndarray, "*outcomes"] | float | int,
    only_second: Real[np.ndarray, "*outcomes"] | float | int,
    n: float | int,
    difference: float,
) -> Float[np.ndarray, "*outcomes"]:
    """Score statistic of "the true difference is `difference`", standard normal if it is.

    0 where the counts are those expected without any variance, infinite where they cannot occur.
    """
    b, c = np.asarray(only_first, dtype=np.float64), np.asarray(only_second, dtype=np.float64)
    excess = b - c - n * difference
    root = np.sqrt(_variance(b, c, n, difference))
    certain = np.where(np.abs(excess) < 1e-12, 0.0, np.copysign(np.inf, excess))
    return np.where(root > 0, excess / np.where(root > 0, root, 1), certain)


def _interval(b: float | int, c: float | int, n: float | int, confidence: float) -> Interval:
    if n == 0:
        return UNKNOWN
    z = float(norm.ppf((1 + confidence) / 2))
    return Interval((b - c) / n, -_upper(c, b, n, z), _upper(b, c, n, z))


def _upper(b: float | int, c: float | int, n: float | int, z: float) -> float:
    """The difference above the estimate at which the score is -z."""
    # the variance is 0 at these estimates, where the score has a root that is not the bound
    if b + c == 0:
        return z**2 / (n + z**2)
    if c >= n:
        return (z**2 - n) / (z**2 + n)
    if b >= n:
        return 1.0

    def beyond(difference: float) -> float:
        root = math.sqrt(float(_variance(np.asarray(b), np.asarray(c), n, difference)))
        return b - c - n * difference + z * root

    return float(brentq(beyond, (b - c) / n, 1.0, xtol=1e-12))


def _variance(b: np.ndarray, c: np.ndarray, n: float | int, difference: float) -> np.ndarray:
    """Variance of b - c at the most likely share of c given the difference (Tango's q̃)."""
    linear = -b - c + (2 * n - b + c) * difference
    constant = -c * difference * (1 - difference)
    share = (np.sqrt(np.maximum(linear**2 - 8 * n * constant, 0)) - linear) / (4 * n)
    return np.asarray(np.maximum(n * (2 * share + difference * (1 - difference)), 0))
