"""Intervals against published tables, work by hand and a plain loop."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import t as student

from otoscope.statistics.intervals import clustered_interval, wilson


@pytest.mark.parametrize(
    ("n_correct", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_matches_the_published_table(n_correct, n, low, high):
    # Newcombe (1998), Statistics in Medicine 17: 857-872, table I, method 3
    got = wilson(n_correct, n)
    assert got.estimate == n_correct / n
    assert (got.low, got.high) == pytest.approx((low, high), abs=5e-5)


def test_wilson_of_all_and_of_none_mirror_one_another():
    # z² = 3.841; all of 10 right: 10 / (10 + 3.841) = 0.722
    assert wilson(10, 10) == pytest.approx((1, 0.7225, 1), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0, 0, 0.2775), abs=1e-4)


def test_nothing_is_known_without_answers():
    nothing = np.zeros(0, bool), np.zeros(0, int)
    assert np.isnan(wilson(0, 0)).all()
    assert np.isnan(clustered_interval(*nothing)).all()


@pytest.mark.parametrize(("n_correct", "n"), [(-1, 5), (6, 5), (0, -1)])
def test_counts_that_cannot_be_are_rejected(n_correct, n):
    with pytest.raises(ValueError, match=f"n_correct={n_correct}, n={n}"):
        wilson(n_correct, n)


def test_clustered_interval_worked_by_hand():
    # Four clusters of two with 2, 1, 1, 0 right: p = 1/2, excess 1, 0, 0, -1. Design effect 4/3 · 2
    # over 8/4 = 4/3, so 8 are as many as 6. t² with 3 degrees of freedom: 3.18245² = 10.1280, and
    # Wilson's reach is √(10.1280 (1/24 + 10.1280/144)) / (1 + 10.1280/6) = 1.06510/2.68800
    correct = np.array([1, 1, 1, 0, 0, 1, 0, 0], bool)
    clusters = np.array(["a", "a", "b", "b", "c", "c", "d", "d"])
    reach = 1.06510 / 2.68800
    expected = (0.5, 0.5 - reach, 0.5 + reach)
    assert clustered_interval(correct, clusters) == pytest.approx(expected, abs=1e-4)


def test_neither_order_nor_names_of_clusters_matter():
    rng = np.random.default_rng(3)
    correct, clusters = rng.random(60) < 0.7, rng.integers(9, size=60)
    order = rng.permutation(60)
    named = np.array([f"source {c}" for c in clusters])
    expected = clustered_interval(correct, clusters)
    assert clustered_interval(correct[order], named[order]) == pytest.approx(expected)


def test_copies_of_an_item_within_its_cluster_are_one_item():
    # design effect 24 · 10/9, so 240 are as many as 9; t² with 9 degrees of freedom 5.11735:
    # centre (0.7 + 5.11735/18)/(1 + 5.11735/9), reach √(5.11735 (0.21/9 + 5.11735/324))/1.568595
    correct = np.array([True] * 7 + [False] * 3)
    often = clustered_interval(np.repeat(correct, 24), np.repeat(np.arange(10), 24))
    assert often == pytest.approx((0.7, 0.627508 - 0.285244, 0.627508 + 0.285244), abs=1e-4)
    assert wilson(7 * 24, 240).high - wilson(7 * 24, 240).low < (often.high - often.low) / 3


def test_clusters_of_one_item_are_independent_items():
    correct = np.array([True] * 7 + [False] * 3)
    assert clustered_interval(correct, np.arange(10)) == pytest.approx(wilson(7, 10))


@pytest.mark.parametrize("right", [True, False])
def test_all_alike_have_the_assumed_correlation(right):
    # 40 items in clusters of 4: design effect 1 + 3 · 0.3, 40/1.9 = 21.0526 items;
    # Wilson's bound 21.0526/(21.0526 + 3.84146)
    found = clustered_interval(np.full(40, right), np.repeat(np.arange(10), 4))
    expected = (1, 0.845688, 1) if right else (0, 0, 0.154312)
    assert found == pytest.approx(expected, abs=1e-5)


def test_a_constant_answer_to_a_balanced_design_is_as_good_as_independent_answers():
    # half of each source's items rise; t with 49 degrees of freedom is 1.025 times z
    clusters = np.repeat(np.arange(50), 24)
    found = clustered_interval(np.tile([True, False], 600), clusters)
    independent = wilson(600, 1200)
    ratio = (found.high - found.low) / (independent.high - independent.low)
    assert ratio == pytest.approx(1.025, abs=0.002)


CLUSTERS = st.lists(
    st.integers(1, 12).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m))),
    min_size=2,
    max_size=8,
)


def items(clusters):
    """Correct items and clusters, from numbers of correct items and of all."""
    correct = np.concatenate([np.arange(m) < k for k, m in clusters])
    return correct, np.repeat(np.arange(len(clusters)), [m for _, m in clusters])


def width(clusters, groups=None):
    interval = clustered_interval(*items(clusters), groups=groups)
    assert 0 <= interval.low <= interval.estimate <= interval.high <= 1
    return interval.high - interval.low


@given(CLUSTERS)
def test_clusters_that_agree_more_never_widen_it(clusters):
    sizes = np.array([m for _, m in clusters])
    right = np.array([k for k, _ in clusters])
    excess = right - sizes * right.sum() / sizes.sum()
    most, least = np.argmax(excess), np.argmin(excess)
    assume(excess[most] - excess[least] >= 1 and right[most] > 0 and right[least] < sizes[least])
    moved = right.copy()
    moved[[most, least]] += [-1, 1]  # one correct item from one cluster to the other
    assert width([*zip(moved, sizes, strict=True)]) <= width(clusters) + 1e-9


@given(CLUSTERS)
def test_all_correct_is_never_wider(clusters):
    assert width([(m, m) for _, m in clusters]) <= width(clusters) + 1e-9
    groups = np.arange(sum(m for _, m in clusters)) % 2
    assume(len(groups) > 1)
    assert width([(m, m) for _, m in clusters], groups) <= width(clusters, groups) + 1e-9


def test_one_cluster_says_nothing_about_others():
    assert clustered_interval(np.array([True, True, False]), np.zeros(3, int)) == (2 / 3, 0, 1)


def test_interval_covers_as_often_as_it_says():
    # Sources of differing difficulty, mean 0.8 by construction: Beta(4, 1)
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(40), 8)
    covered = 0
    for _ in range(400):
        difficulty = rng.beta(4, 1, size=40)
        interval = clustered_interval(rng.random(320) < difficulty[clusters], clusters)
        covered += interval.low <= 0.8 <= interval.high
    assert 0.92 <= covered / 400 <= 0.98  # 0.95 give or take 2.8 standard errors


def test_agrees_with_the_cluster_bootstrap_on_many_clusters():
    rng = np.random.default_rng(7)
    clusters = np.repeat(np.arange(200), 6)
    correct = rng.random(1200) < rng.beta(3, 2, size=200)[clusters]
    right = correct.reshape(200, 6).mean(axis=1)  # clusters of equal size
    shares = right[rng.integers(200, size=(2000, 200))].mean(axis=1)
    drawn = (correct.mean(), *np.quantile(shares, [0.025, 0.975]))
    assert drawn == pytest.approx(clustered_interval(correct, clusters), abs=0.01)


def test_bad_arguments_are_named():
    answers = np.ones(3, bool)
    with pytest.raises(ValueError, match="3 answers but 2 cluster names"):
        clustered_interval(answers, np.array(["a", "b"]))
    with pytest.raises(ValueError, match=r"got 1\.5"):
        clustered_interval(answers, np.arange(3), confidence=1.5)


def test_groups_count_alike_worked_by_hand():
    # Group u: 3 of 4 right, group d: 1 of 2, so p = 0.625 however many items there are. Each item
    # weighs 1/8 in u and 1/4 in d, and exceeds its group's share by what it has beyond 3/4 or 1/2:
    # cluster a: u +1/4, d +1/2: 1/32 + 1/8 = 5/32; weight 3/8, its square 1/64 + 4/64
    # cluster b: u +1/4 and -3/4, d -1/2: 1/32 - 3/32 - 1/8 = -6/32; 1/2, 6/64
    # cluster c: u +1/4: 1/32; 1/8, 1/64
    # Variance over p(1 - p) = 0.234375 of independent items: 12/64 = 0.1875, of clusters whose
    # items are alike: 9/64 + 16/64 + 1/64 = 0.40625. Squares of excess 62/1024, over p(1 - p):
    # 0.258333; expected 0.107422 and 0.211914, so the correlation is 0.150911/0.104492 = 1.444237
    # and the sample size 1/(0.1875 + 1.444237 · 0.21875) = 1.986386; t has 1/0.40625 - 1 degrees
    correct = np.array([1, 1, 1, 0, 0, 1], bool)
    groups, clusters = np.array(list("uduudu")), np.array(list("aabbbc"))
    t2, n = student.ppf(0.975, 1 / 0.40625 - 1) ** 2, 1.986386
    centre = (0.625 + t2 / (2 * n)) / (1 + t2 / n)
    reach = np.sqrt(t2 * (0.234375 / n + t2 / (4 * n * n))) / (1 + t2 / n)
    found = clustered_interval(correct, clusters, groups=groups)
    assert found == pytest.approx((0.625, centre - reach, centre + reach), abs=1e-5)


def test_groups_of_equal_size_change_nothing():
    rng = np.random.default_rng(5)
    correct, clusters = rng.random(80) < 0.7, np.repeat(np.arange(10), 8)
    groups = np.tile(["up", "down"], 40)
    expected = clustered_interval(correct, clusters)
    assert clustered_interval(correct, clusters, groups=groups) == pytest.approx(expected)


def test_groups_of_another_length_are_rejected():
    with pytest.raises(ValueError, match="3 answers but 2 group names"):
        clustered_interval(np.ones(3, bool), np.arange(3), groups=np.arange(2))
