"""Paired answers in clusters: by hand, against statsmodels, and by coverage."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import t as student

from otoscope.statistics.clustered_pairs import clustered_difference
from otoscope.statistics.pairs import bootstrap_difference, paired_counts


def rng(seed=0):
    return np.random.default_rng(seed)


def sources(n_sources, n_each, seed):
    """Two models that find the same sources hard, the first a little better."""
    ease = rng(seed).beta(2, 2, size=n_sources).repeat(n_each)
    better = rng(seed + 1).beta(1, 3, size=n_sources).repeat(n_each)
    first = rng(seed + 2).random(ease.size) < np.minimum(1, ease + better)
    second = rng(seed + 3).random(ease.size) < ease
    return first, second, np.arange(n_sources).repeat(n_each)


def test_matches_work_by_hand():
    # gains by cluster of two: 2, 1, 0, -1; mean 0.25; excess 1.5, .5, -.5, -1.5, sum of squares 5
    first = np.array([1, 1, 1, 0, 1, 0, 0, 0], dtype=bool)
    second = np.array([0, 0, 0, 0, 1, 0, 1, 0], dtype=bool)
    clusters = np.array(list("aabbccdd"))
    reach = student.ppf(0.975, 3) * np.sqrt(4 / 3 * 5) / 8
    assert clustered_difference(first, second, clusters) == pytest.approx(
        (0.25, 0.25 - reach, min(1, 0.25 + reach))
    )


def test_matches_cluster_robust_errors_of_statsmodels():
    first, second, clusters = sources(40, 6, seed=5)
    gain = first.astype(float) - second
    fit = sm.OLS(gain, np.ones(gain.size)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}
    )
    result = clustered_difference(first, second, clusters)
    reach = student.ppf(0.975, 39) * fit.bse[0] * np.sqrt(40 / 39)
    assert result == pytest.approx((fit.params[0], fit.params[0] - reach, fit.params[0] + reach))


def test_clusters_of_one_give_the_paired_t_interval():
    first, second, _ = sources(50, 1, seed=2)
    gain = first.astype(float) - second
    reach = student.ppf(0.975, 49) * gain.std(ddof=1) / np.sqrt(50)
    result = clustered_difference(first, second, np.arange(50))
    assert result == pytest.approx((gain.mean(), gain.mean() - reach, gain.mean() + reach))


def test_agrees_with_the_cluster_bootstrap():
    first, second, clusters = sources(100, 24, seed=7)
    gains = (first.astype(float) - second).reshape(100, 24).mean(axis=1)
    draws = gains[rng().integers(100, size=(2000, 100))].mean(axis=1)
    drawn = (gains.mean(), *np.quantile(draws, [0.025, 0.975]))
    assert drawn == pytest.approx(clustered_difference(first, second, clusters), abs=0.01)


def test_ignoring_clusters_is_too_narrow():
    first, second, clusters = sources(100, 24, seed=7)
    independent = bootstrap_difference(paired_counts(first, second), rng=rng())
    clustered = clustered_difference(first, second, clusters)
    assert clustered.high - clustered.low > 1.5 * (independent.high - independent.low)


def test_covers_the_truth_as_often_as_it_says():
    # the truth: E[min(1, a + b)] - E[a], from a large draw
    ease, better = rng(1).beta(2, 2, 10**6), rng(2).beta(1, 3, 10**6)
    truth = float(np.mean(np.minimum(1, ease + better) - ease))
    hits = 0
    for seed in range(0, 2000, 4):
        result = clustered_difference(*sources(25, 8, seed))
        hits += result.low <= truth <= result.high
    assert hits / 500 == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 500))


def test_names_and_order_of_clusters_do_not_matter():
    first, second, clusters = sources(12, 5, seed=3)
    shuffled = rng(9).permutation(first.size)
    names = np.array([f"p{c}" for c in clusters])
    assert clustered_difference(
        first[shuffled], second[shuffled], names[shuffled]
    ) == pytest.approx(clustered_difference(first, second, clusters))


def test_answers_that_are_right_together_differ_by_exactly_nothing():
    some = np.arange(40) % 3 == 0
    assert clustered_difference(some, some, np.arange(10).repeat(4)) == (0, 0, 0)
    assert clustered_difference(some, some, np.zeros(40, int)) == (0, 0, 0)


def test_clusters_that_agree_are_as_uncertain_as_independent_questions():
    # a quarter better in every cluster: no spread between clusters, variance 3/16 / 40
    quarter, clusters = np.tile([True, False, False, False], 10), np.arange(10).repeat(4)
    reach = 2.262157 * np.sqrt(3 / 640)  # Student's t, 9 degrees of freedom
    found = clustered_difference(quarter, np.zeros(40, bool), clusters)
    assert found == pytest.approx((0.25, 0.25 - reach, 0.25 + reach))
    # better on all: 41 of 42 and 1 of 42, (1 - (40/42)²)/42 = 164/42³
    reach = 2.262157 * np.sqrt(164) / 42**1.5
    every = clustered_difference(~np.zeros(40, bool), np.zeros(40, bool), clusters)
    assert every == pytest.approx((1, 1 - reach, 1))


@given(st.lists(st.integers(1, 6), min_size=2, max_size=6), st.data())
def test_clusters_that_agree_more_never_widen_it(n_each, data):
    gains = np.array(data.draw(st.lists(st.integers(-1, 1), min_size=sum(n_each),
                                        max_size=sum(n_each))))  # fmt: skip
    clusters = np.repeat(np.arange(len(n_each)), n_each)
    before = clustered_difference(gains > 0, gains < 0, clusters)
    excess = np.bincount(clusters, weights=gains - gains.mean())
    most, least = np.argmax(excess), np.argmin(excess)
    up = np.flatnonzero((clusters == least) & (gains < 1))
    down = np.flatnonzero((clusters == most) & (gains > -1))
    assume(excess[most] - excess[least] >= 1)
    moved = gains.copy()
    pairs = [(i, j) for i in up for j in down if gains[i] + 1 == gains[j]]
    assume(pairs)
    i, j = pairs[0]  # the two swap their gains, so that the total and all counts stay
    moved[[i, j]] = moved[[j, i]]
    after = clustered_difference(moved > 0, moved < 0, clusters)
    assert after.high - after.low <= before.high - before.low + 1e-9


def test_one_cluster_says_nothing_about_others():
    first, second = np.array([True, False, True]), np.array([False, False, True])
    one = np.zeros(3, dtype=int)
    assert clustered_difference(first, second, one) == pytest.approx((1 / 3, -1, 1))


def test_no_questions_are_unknown():
    nothing = np.zeros(0, bool), np.zeros(0, bool), np.zeros(0, int)
    assert np.isnan(clustered_difference(*nothing)).all()


def test_what_cannot_be_is_rejected():
    pair = np.array([True, False]), np.array([True, True]), np.array([0, 1])
    with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.0"):
        clustered_difference(*pair, confidence=1.0)


def test_groups_count_alike_worked_by_hand():
    # gains of group u: 1, 1, 0, 0 (mean 1/2), of group d: -1, 0 (mean -1/2), so 0 in all; each
    # item weighs 1/8 in u and 1/4 in d. Beyond the mean of its group:
    # cluster a: u 1/2, d -1/2: 1/16 - 1/8 = -1/16; b: u 1/2, d 1/2: 1/16 + 1/8 = 3/16;
    # c: u -1/2 and -1/2: -1/8. Variance = 3/2 · (1 + 9 + 4)/256 = 21/256
    first = np.array([1, 0, 1, 0, 0, 0], dtype=bool)
    second = np.array([0, 1, 0, 0, 0, 0], dtype=bool)
    clusters, groups = np.array(list("aabbcc")), np.array(list("ududuu"))
    reach = student.ppf(0.975, 2) * np.sqrt(21 / 256)
    assert clustered_difference(first, second, clusters, groups=groups) == pytest.approx(
        (0, max(-1, -reach), min(1, reach))
    )
    alike = clustered_difference(first, second, clusters, groups=np.zeros(6))
    assert alike == clustered_difference(first, second, clusters)
