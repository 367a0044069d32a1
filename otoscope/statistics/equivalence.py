"""Equivalence test (TOST) of two paired shares: is their difference within a margin?"""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from otoscope.statistics.intervals import UNKNOWN, Interval, check_draws
from otoscope.statistics.pairs import N_DRAWS, PairedCounts, bootstrap_difference
from otoscope.statistics.tango import tango_interval, tango_score


class Equivalence(NamedTuple):
    """Result of two one-sided tests at a margin; intervals have confidence 1 - 2·alpha.

    Attributes:
        margin: Largest difference, in either direction, that counts as none.
        established: Tango's interval lies inside ±margin. This is the decision.
        gain_below: Its upper end lies below the margin: larger gains are excluded.
        tango, p_tango: Score interval, and the larger of the two one-sided p-values.
        wald, p_wald: The same by the normal approximation, NaN where its variance is 0.
        bootstrap: Percentile interval.
    """

    margin: float
    established: bool
    gain_below: bool
    tango: Interval
    p_tango: float
    wald: Interval
    p_wald: float
    bootstrap: Interval


def equivalence(
    counts: PairedCounts,
    *,
    margin: float,
    rng: np.random.Generator,
    alpha: float = 0.05,
    n_draws: int = N_DRAWS,
) -> Equivalence:
    """Whether the difference of two paired shares is shown to lie within ±margin.

    Fix the margin before the data are seen. No questions: nothing is established, and NaN.

    Raises:
        ValueError: A negative count, or a margin or an alpha outside their ranges.

    Source: D. J. Schuirmann (1987), https://doi.org/10.1007/BF01068419; score test: Tango (1998).
    """
    check_margin(margin, alpha)
    confidence = 1 - 2 * alpha
    tango = tango_interval(counts, confidence=confidence)
    wald, p_wald = _wald(counts, margin, confidence)
    return Equivalence(
        margin=margin,
        established=-margin < tango.low and tango.high < margin,
        gain_below=tango.high < margin,
        tango=tango,
        p_tango=_score_p_value(counts, margin),
        wald=wald,
        p_wald=p_wald,
        bootstrap=bootstrap_difference(counts, rng=rng, n_draws=n_draws, confidence=confidence),
    )


def check_margin(margin: float, alpha: float) -> None:
    """Rejects a margin outside (0, 1) and a one-sided level outside (0, 0.5)."""
    if not 0 < margin < 1:
        raise ValueError(f"margin must lie between 0 and 1, got {margin}")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha must lie between 0 and 0.5, got {alpha}")


def _score_p_value(counts: PairedCounts, margin: float) -> float:
    if counts.n == 0:
        return float("nan")
    _, b, c, _ = counts
    below = norm.cdf(tango_score(b, c, counts.n, margin))
    above = norm.sf(tango_score(b, c, counts.n, -margin))
    return float(max(below, above))


def _wald(counts: PairedCounts, margin: float, confidence: float) -> tuple[Interval, float]:
    check_draws(confidence)
    if counts.n == 0:
        return UNKNOWN, float("nan")
    difference = (counts.only_first - counts.only_second) / counts.n
    spread = (counts.only_first + counts.only_second) / counts.n - difference**2
    error = (max(0.0, spread) / counts.n) ** 0.5
    if error == 0:
        return Interval(difference, float("nan"), float("nan")), float("nan")
    reach = float(norm.ppf((1 + confidence) / 2)) * error
    p_value = float(norm.sf((margin - abs(difference)) / error))
    return Interval(difference, difference - reach, difference + reach), p_value
