"""Paired comparison of two sets of answers to the same questions, taken as independent.

Where several questions are about one source, see `otoscope.statistics.clustered_pairs`.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool
from scipy.stats import binomtest

from otoscope.statistics.intervals import check_draws, percentile_interval

N_DRAWS = 10_000


class PairedCounts(NamedTuple):
    """Questions that both answered correctly, only the first, only the second, or neither."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def n(self) -> int:
        """Number of questions."""
        return sum(self)


class PairedDifference(NamedTuple):
    """Share right in the first minus share right in the second, within -1 to 1, or all NaN."""

    estimate: float
    low: float
    high: float


UNKNOWN_DIFFERENCE = PairedDifference(float("nan"), float("nan"), float("nan"))


class McNemarResult(NamedTuple):
    """McNemar's test: the discordant counts and the p-value they give."""

    only_first: int
    only_second: int
    p_value: float


def paired_counts(
    first: Bool[np.ndarray, " n_items"], second: Bool[np.ndarray, " n_items"]
) -> PairedCounts:
    """Counts of the four outcomes; item i of both must be the same question."""
    return PairedCounts(
        both=int(np.sum(first & second)),
        only_first=int(np.sum(first & ~second)),
        only_second=int(np.sum(second & ~first)),
        neither=int(np.sum(~first & ~second)),
    )


def mcnemar_exact(counts: PairedCounts) -> McNemarResult:
    """Two-sided exact test of "both are right equally often".

    Only discordant questions carry information. Without any, p is 1.

    >>> mcnemar_exact(PairedCounts(40, 1, 7, 12)).p_value  # 2 · (1 + 8) / 256
    0.0703125

    Source: Q. McNemar (1947), https://doi.org/10.1007/BF02295996, as a binomial test on the
    discordant questions.
    """
    _check(counts)
    discordant = counts.only_first + counts.only_second
    p_value = 1.0 if discordant == 0 else float(binomtest(counts.only_first, discordant).pvalue)
    return McNemarResult(counts.only_first, counts.only_second, p_value)


def bootstrap_difference(
    counts: PairedCounts,
    *,
    rng: np.random.Generator,
    n_draws: int = N_DRAWS,
    confidence: float = 0.95,
) -> PairedDifference:
    """Percentile bootstrap interval of the difference in shares, for independent questions.

    The four counts of a resample are multinomial, so they are drawn directly: two numbers a
    resample, however many questions there are.

    The width is zero where all questions have the same outcome. No questions: NaN.

    Args:
        counts: As `paired_counts` gives them.
        rng: Where the draws come from.
        n_draws: How many resamples.
        confidence: Coverage, 0.95 by default.

    Raises:
        ValueError: A negative count, no draws, or a confidence outside (0, 1).
    """
    _check(counts)
    check_draws(confidence, n_draws=n_draws)
    if counts.n == 0:
        return UNKNOWN_DIFFERENCE
    outcomes = np.array([counts.only_first, counts.only_second, counts.both + counts.neither])
    draws = rng.multinomial(counts.n, outcomes / counts.n, size=n_draws)
    estimate = (counts.only_first - counts.only_second) / counts.n
    return difference_of_draws(estimate, (draws[:, 0] - draws[:, 1]) / counts.n, confidence)


def difference_of_draws(estimate: float, draws: np.ndarray, confidence: float) -> PairedDifference:
    """Percentile interval of a difference; it always contains the estimate."""
    return PairedDifference(*percentile_interval(estimate, draws, confidence))


def _check(counts: PairedCounts) -> None:
    if min(counts) < 0:
        raise ValueError(f"counts cannot be negative, got {counts}")
