"""Power of the exact McNemar test and of the equivalence test, by summing over all outcomes."""

import math
from typing import Literal

import numpy as np
from scipy.optimize import bisect
from scipy.stats import binom, norm

from otoscope.statistics.equivalence import check_margin
from otoscope.statistics.tango import tango_score

NEGLIGIBLE = 1e-12


def mcnemar_power(
    n: int, *, discordant_share: float, difference: float, alpha: float = 0.05
) -> float:
    """Probability that the exact two-sided McNemar test has p ≤ alpha.

    >>> round(mcnemar_power(240, discordant_share=7 / 240, difference=7 / 240), 2)
    0.7

    Args:
        n: Number of questions.
        discordant_share: Probability that exactly one of both is right.
        difference: True difference of the shares, at most `discordant_share` in size.

    Raises:
        ValueError: An argument outside its range.
    """
    _check(n, discordant_share, difference, alpha)
    if discordant_share == 0:
        return 0.0
    m = _likely(n, discordant_share)
    # the largest k with 2 · P(Bin(m, 1/2) ≤ k) ≤ alpha; -1 where there is none
    k = binom.ppf(alpha / 2, m, 0.5)
    k = np.where(2 * binom.cdf(k, m, 0.5) <= alpha, k, k - 1)
    win = _share_won(discordant_share, difference)
    rejected = binom.cdf(k, m, win) + binom.cdf(k, m, 1 - win)
    return float(binom.pmf(m, n, discordant_share) @ np.minimum(rejected, 1))


def minimum_detectable_gain(
    n: int, *, discordant_share: float, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Smallest difference of shares that the exact McNemar test finds with the given power.

    NaN where none is: a difference cannot exceed the share of discordant questions.
    `otoscope.statistics.power` has the normal approximation, which takes a design effect.

    >>> round(minimum_detectable_gain(240, discordant_share=0.10), 3)
    0.059

    Raises:
        ValueError: An argument outside its range.
    """
    if not 0 < power < 1:
        raise ValueError(f"power must lie between 0 and 1, got {power}")

    def missing(difference: float) -> float:
        found = mcnemar_power(
            n, discordant_share=discordant_share, difference=difference, alpha=alpha
        )
        return found - power

    if missing(discordant_share) < 0:
        return math.nan
    return float(bisect(missing, 0.0, discordant_share, xtol=1e-7))


def equivalence_power(
    n: int,
    *,
    discordant_share: float,
    margin: float,
    difference: float = 0.0,
    alpha: float = 0.05,
    method: Literal["tango", "wald"] = "tango",
) -> float:
    """Probability that the interval of confidence 1 - 2·alpha lies inside ±margin.

    Args:
        n, discordant_share, difference: As in `mcnemar_power`.
        margin: Largest difference, in either direction, that counts as none.
        method: The interval, as in `otoscope.statistics.equivalence`; Wald's finds equivalence
            more often than its level permits where there are few discordant questions.

    Raises:
        ValueError: An argument outside its range.
    """
    _check(n, discordant_share, difference, alpha)
    check_margin(margin, alpha)
    if n == 0:
        return 0.0
    m = _likely(n, discordant_share)
    only_first = np.arange(m[-1] + 1)[:, None]
    only_second = m - only_first
    win = _share_won(discordant_share, difference)
    chance = binom.pmf(m, n, discordant_share) * binom.pmf(only_first, m, win)
    b, c = np.broadcast_arrays(only_first, np.maximum(only_second, 0))
    below = np.array(_SCORES[method](b, c, n, margin))
    above = np.array(_SCORES[method](b, c, n, -margin))
    z = float(norm.isf(alpha))
    return float(chance[(below < -z) & (above > z) & (only_second >= 0)].sum())


def _wald_score(b: np.ndarray, c: np.ndarray, n: int, difference: float) -> np.ndarray:
    excess = (b - c) / n - difference
    error = np.sqrt(((b + c) / n - ((b - c) / n) ** 2) / n)
    return excess / np.maximum(error, NEGLIGIBLE)


_SCORES = {"tango": tango_score, "wald": _wald_score}


def _share_won(discordant_share: float, difference: float) -> float:
    """Probability that a discordant question is one that only the first answers correctly."""
    if discordant_share == 0:
        return 0.5
    return min(1.0, max(0.0, (1 + difference / discordant_share) / 2))


def _likely(n: int, share: float) -> np.ndarray:
    """Numbers of discordant questions, save those that almost never occur."""
    low, high = binom.ppf([NEGLIGIBLE, 1 - NEGLIGIBLE], n, share)
    return np.arange(max(0, int(low)), int(high) + 1)


def _check(n: int, discordant_share: float, difference: float, alpha: float) -> None:
    if n < 0:
        raise ValueError(f"n cannot be negative, got {n}")
    if not 0 <= discordant_share <= 1:
        raise ValueError(f"discordant_share must lie between 0 and 1, got {discordant_share}")
    if not abs(difference) <= discordant_share:
        raise ValueError(
            f"a difference cannot exceed the discordant share {discordant_share}, got {difference}"
        )
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha}")
