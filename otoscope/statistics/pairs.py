"""Two sets of answers to the same questions, taken as independent questions.

Where several questions are about one source, see `otoscope.statistics.clustered_pairs`.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool
from scipy.stats import binomtest

N_DRAWS = 10_000


class PairedCounts(NamedTuple):
    """How many questions both answered rightly, only the first, only the second, or neither."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def n(self) -> int:
        """Number of questions."""
        return sum(self)


class Difference(NamedTuple):
    """Share right in the first minus share right in the second, within -1 to 1, or all NaN."""

    estimate: float
    low: float
    high: float


UNKNOWN_DIFFERENCE = Difference(float("nan"), float("nan"), float("nan"))


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

    Only discordant questions say anything. With none, nothing speaks against it: p is 1.

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
) -> Difference:
    """Percentile bootstrap interval of the difference in shares, without resampling any question.

    The four counts of a resample are multinomial, and the difference needs only two of them:
    the number of discordant questions is binomial, and given it so is the number that only the
    first answered rightly. Drawing these gives the very distribution that resampling questions
    samples from, whatever their number.

    With no discordant questions, or nothing else of one kind, the width is zero: a bootstrap
    cannot see past its data. No questions: NaN.

    Args:
        counts: As `paired_counts` gives them.
        rng: Where the draws come from.
        n_draws: How many resamples.
        confidence: Coverage, 0.95 by default.

    Raises:
        ValueError: A negative count, no draws, or a confidence outside (0, 1).
    """
    _check(counts)
    if n_draws < 1:
        raise ValueError(f"n_draws must be at least 1, got {n_draws}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    if counts.n == 0:
        return UNKNOWN_DIFFERENCE
    n_discordant = counts.only_first + counts.only_second
    discordant = rng.binomial(counts.n, n_discordant / counts.n, size=n_draws)
    only_first = rng.binomial(discordant, counts.only_first / max(n_discordant, 1))
    return difference_of_draws(
        (counts.only_first - counts.only_second) / counts.n,
        (2 * only_first - discordant) / counts.n,
        confidence,
    )


def difference_of_draws(estimate: float, draws: np.ndarray, confidence: float) -> Difference:
    """The middle `confidence` of the draws, never leaving the estimate outside."""
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Difference(estimate, min(float(low), estimate), max(float(high), estimate))


def _check(counts: PairedCounts) -> None:
    if min(counts) < 0:
        raise ValueError(f"counts cannot be negative, got {counts}")
