"""Paired answers against sums worked by hand, a plain bootstrap and published examples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap, multinomial

from otoscope.statistics.pairs import (
    PairedCounts,
    bootstrap_difference,
    mcnemar_exact,
    paired_counts,
)

COUNTS = st.builds(PairedCounts, *[st.integers(0, 60)] * 4)


def answers(counts):
    first = np.repeat([True, True, False, False], counts)
    second = np.repeat([True, False, True, False], counts)
    return first, second


@given(COUNTS)
def test_counts_come_back_from_answers(counts):
    assert paired_counts(*answers(counts)) == counts


@pytest.mark.parametrize(
    ("only_first", "only_second", "p_value"),
    [
        (1, 7, 2 * (1 + 8) / 2**8),
        (0, 6, 2 / 2**6),
        (3, 3, 1),
        (0, 1, 1),
        (0, 0, 1),
    ],
)
def test_mcnemar_is_the_sign_test_worked_by_hand(only_first, only_second, p_value):
    counts = PairedCounts(12, only_first, only_second, 9)
    assert mcnemar_exact(counts) == pytest.approx(p_value)


@given(COUNTS)
def test_mcnemar_does_not_mind_who_comes_first_nor_the_concordant(counts):
    both, first, second, neither = counts
    p_value = mcnemar_exact(counts)
    assert 0 < p_value <= 1
    assert mcnemar_exact(PairedCounts(neither, second, first, both + 5)) == p_value


@given(COUNTS, st.integers(0, 2**32))
def test_difference_lies_in_its_interval(counts, seed):
    result = bootstrap_difference(counts, rng=np.random.default_rng(seed), n_draws=50)
    if counts.n == 0:
        assert np.isnan(result).all()
    else:
        assert -1 <= result.low <= result.estimate <= result.high <= 1
        first, second = answers(counts)
        assert result.estimate == pytest.approx(first.mean() - second.mean())


def test_interval_is_scipys_within_the_error_of_drawing():
    counts = PairedCounts(600, 700, 550, 550)
    ends = np.array([bootstrap_difference(counts, rng=rng(seed))[1:] for seed in range(20)])
    first, second = (a.astype(float) for a in answers(counts))
    scipys = bootstrap(
        (first, second),
        lambda a, b, axis: a.mean(axis) - b.mean(axis),
        paired=True, n_resamples=10_000, batch=200, method="percentile", rng=rng(99),
    ).confidence_interval  # fmt: skip
    spread = ends.std(axis=0, ddof=1)
    assert np.all(np.abs(ends.mean(axis=0) - scipys) < 4 * spread + 0.5 / counts.n)


def test_draws_have_the_mean_and_variance_of_the_multinomial():
    # difference of shares: mean (b - c) / n, variance ((b + c) - (b - c)² / n) / n²
    counts = PairedCounts(10, 30, 12, 48)
    draws = [only_draw(counts, seed) for seed in range(4000)]
    assert np.mean(draws) == pytest.approx(0.18, abs=4 * np.sqrt(0.003876 / 4000))
    assert np.var(draws) == pytest.approx((42 - 18**2 / 100) / 100**2, rel=0.1)


def only_draw(counts, seed):
    """One draw: with a single resample both ends are it, save that the estimate stays inside."""
    low, high = bootstrap_difference(counts, rng=rng(seed), n_draws=1)[1:]
    estimate = (counts.only_first - counts.only_second) / counts.n
    return low if low < estimate else high


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (PairedCounts(5, 0, 0, 5), 0.0),
        (PairedCounts(0, 8, 0, 0), 1.0),
        (PairedCounts(0, 0, 8, 0), -1.0),
    ],
)
def test_has_no_width_where_every_question_went_the_same_way(counts, expected):
    assert bootstrap_difference(counts, rng=rng(0)) == (expected,) * 3


def test_what_cannot_be_is_rejected():
    with pytest.raises(ValueError, match="cannot be negative"):
        mcnemar_exact(PairedCounts(1, -1, 0, 0))
    with pytest.raises(ValueError, match="n_draws must be at least 1, got 0"):
        bootstrap_difference(PairedCounts(1, 1, 1, 1), rng=rng(0), n_draws=0)
    with pytest.raises(ValueError, match=r"between 0 and 1, got 95\.0"):
        bootstrap_difference(PairedCounts(1, 1, 1, 1), rng=rng(0), confidence=95.0)


def rng(seed):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("counts", [PairedCounts(2, 3, 1, 1), PairedCounts(0, 1, 4, 0)])
def test_quantiles_are_those_of_all_resamples_enumerated(counts):
    n, shares = counts.n, np.array(counts) / counts.n
    outcomes = [
        (b, c, d, n - b - c - d)
        for b in range(n + 1) for c in range(n + 1 - b) for d in range(n + 1 - b - c)
    ]  # fmt: skip
    weights = [multinomial.pmf(outcome, n, shares) for outcome in outcomes]
    differences = np.array([outcome[1] - outcome[2] for outcome in outcomes])
    order = np.argsort(differences, kind="stable")
    below = np.cumsum(np.array(weights)[order])
    for confidence in (0.2, 0.5, 0.7, 0.9, 0.95):
        result = bootstrap_difference(counts, rng=rng(0), n_draws=200_000, confidence=confidence)
        ends = np.searchsorted(below, [(1 - confidence) / 2, (1 + confidence) / 2])
        assert [*result[1:]] == pytest.approx(differences[order][ends] / n)
