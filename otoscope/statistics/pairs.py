"""Paired comparison of two sets of answers to the same questions, taken as independent.

Where several questions are about one source, see `otoscope.statistics.clustered_pairs`.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool
from scipy.stats import binomtest

from otoscope.statistics.intervals import UNKNOWN, Interval, check_draws, percentile_interval

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


def mcnemar_exact(counts: PairedCounts) -> float:
    """Two-sided exact p-value of "both are right equally often" (McNemar's test).

    Only discordant questions carry information; 1 without any.

    >>> mcnemar_exact(PairedCounts(40, 1, 7, 12))  # 2 · (1 + 8) / 256
    0.0703125

    Source: Q. McNemar (1947), https://doi.org/10.1007/BF02295996, as a binomial test on the
    discordant questions.
    """
    check_counts(counts)
    discordant = counts.only_first + counts.only_second
    return 1.0 if discordant == 0 else float(binomtest(counts.only_first, discordant).pvalue)


def bootstrap_difference(
    counts: PairedCounts,
    *,
    rng: np.random.Generator,
    n_draws: int = N_DRAWS,
    confidence: float = 0.95,
) -> Interval:
    """Percentile bootstrap interval of the difference in shares, for independent questions.

    The four counts of a resample are multinomial and drawn directly. The width is zero where all
    questions have the same outcome. No questions: NaN.

    Raises:
        ValueError: A negative count, no draws, or a confidence outside (0, 1).
    """
    check_counts(counts)
    check_draws(confidence, n_draws=n_draws)
    if counts.n == 0:
        return UNKNOWN
    outcomes = np.array([counts.only_first, counts.only_second, counts.both + counts.neither])
    draws = rng.multinomial(counts.n, outcomes / counts.n, size=n_draws)
    estimate = (counts.only_first - counts.only_second) / counts.n
    return percentile_interval(estimate, (draws[:, 0] - draws[:, 1]) / counts.n, confidence)


def check_counts(counts: PairedCounts) -> None:
    """Rejects a negative count."""
    if min(counts) < 0:
        raise ValueError(f"counts cannot be negative, got {counts}")
