"""Two sets of answers to the same questions, taken as independent questions.

Where several questions are about one source, see `otoscope.statistics.clustered_pairs`.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool
from scipy.fft import next_fast_len
from scipy.stats import binomtest

N_DRAWS = 10_000
ROUNDING = 1e-12  # no probability below this can be told from an error of the transform


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

    The four counts of a resample are multinomial, so the distribution of their difference is
    known: that of one question, convolved with itself as often as there are questions. How often
    each difference comes up in all resamples together is then one multinomial draw, however many
    questions there are.

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
    differences, weights = _difference_distribution(counts)
    times = rng.multinomial(n_draws, weights)
    return difference_of_draws(
        (counts.only_first - counts.only_second) / counts.n,
        np.repeat(differences, times) / counts.n,
        confidence,
    )


def _difference_distribution(counts: PairedCounts) -> tuple[np.ndarray, np.ndarray]:
    """Each possible difference of a resample's counts, and its probability."""
    n = counts.n
    size = next_fast_len(2 * n + 1, real=True)  # room for -n to n; negative ones wrap to the end
    one = np.zeros(size)
    one[[1, -1, 0]] = counts.only_first, counts.only_second, counts.both + counts.neither
    spectrum = np.fft.rfft(one / n)
    power = np.abs(spectrum) ** n * np.exp(1j * n * np.angle(spectrum))
    weights = np.fft.irfft(power, size)
    weights[weights < ROUNDING] = 0
    differences = np.arange(size)
    differences[differences > size // 2] -= size
    order = np.argsort(differences)
    return differences[order], weights[order] / weights.sum()


def difference_of_draws(estimate: float, draws: np.ndarray, confidence: float) -> Difference:
    """The middle `confidence` of the draws, never leaving the estimate outside."""
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Difference(estimate, min(float(low), estimate), max(float(high), estimate))


def _check(counts: PairedCounts) -> None:
    if min(counts) < 0:
        raise ValueError(f"counts cannot be negative, got {counts}")
