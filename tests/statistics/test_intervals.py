"""Intervals against published tables, work by hand and a plain loop."""

import numpy as np
import pytest

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
    # Four clusters of two with 2, 1, 1, 0 right: p = 1/2, excess 1, 0, 0, -1,
    # variance = 4/3 · 2/8² = 1/24; on the logit scale its root divides by p(1 - p) = 1/4.
    # t with 3 degrees of freedom: 3.1824 · 0.8165 = 2.5984; 1 / (1 + e^2.5984) = 0.0692
    correct = np.array([1, 1, 1, 0, 0, 1, 0, 0], bool)
    clusters = np.array(["a", "a", "b", "b", "c", "c", "d", "d"])
    assert clustered_interval(correct, clusters) == pytest.approx((0.5, 0.0692, 0.9308), abs=1e-4)


def test_neither_order_nor_names_of_clusters_matter():
    rng = np.random.default_rng(3)
    correct, clusters = rng.random(60) < 0.7, rng.integers(9, size=60)
    order = rng.permutation(60)
    named = np.array([f"source {c}" for c in clusters])
    expected = clustered_interval(correct, clusters)
    assert clustered_interval(correct[order], named[order]) == pytest.approx(expected)


def test_copies_of_an_item_within_its_cluster_add_no_information():
    correct = np.array([True] * 7 + [False] * 3)
    once = clustered_interval(correct, np.arange(10))
    often = clustered_interval(np.repeat(correct, 24), np.repeat(np.arange(10), 24))
    assert often == pytest.approx(once)
    assert wilson(7 * 24, 240).high - wilson(7 * 24, 240).low < (often.high - often.low) / 3


@pytest.mark.parametrize("right", [True, False])
def test_all_alike_is_as_much_as_there_are_clusters(right):
    correct, clusters = np.full(40, right), np.repeat(np.arange(10), 4)
    expected = wilson(10, 10) if right else wilson(0, 10)
    assert clustered_interval(correct, clusters) == pytest.approx(expected)


def test_clusters_of_equal_share_are_as_much_as_there_are_clusters():
    correct, clusters = np.array([True, False] * 10), np.repeat(np.arange(10), 2)
    assert clustered_interval(correct, clusters) == pytest.approx(wilson(5, 10))


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
    # Group u: 3 of 4 right, group d: 1 of 2, so 0.625 however many items there are. Each item
    # weighs 1/8 in u and 1/4 in d, and exceeds its group's share by what it has beyond 3/4 or 1/2:
    # cluster a: u +1/4, d +1/2: 1/32 + 1/8 = 5/32
    # cluster b: u +1/4 and -3/4, d -1/2: 1/32 - 3/32 - 1/8 = -6/32
    # cluster c: u +1/4: 1/32
    # variance = 3/2 · (25 + 36 + 1)/1024 = 0.090820; its root 0.301364, over 0.625 · 0.375 =
    # 1.285820; t with 2 degrees of freedom 4.302653: reach 5.532438 around log(5/3) = 0.510826
    correct = np.array([1, 1, 1, 0, 0, 1], bool)
    groups, clusters = np.array(list("uduudu")), np.array(list("aabbbc"))
    found = clustered_interval(correct, clusters, groups=groups)
    ends = 1 / (1 + np.exp(-(0.510826 + np.array([-5.532438, 5.532438]))))
    assert found == pytest.approx((0.625, *ends), abs=1e-5)


def test_groups_of_equal_size_change_nothing():
    rng = np.random.default_rng(5)
    correct, clusters = rng.random(80) < 0.7, np.repeat(np.arange(10), 8)
    groups = np.tile(["up", "down"], 40)
    expected = clustered_interval(correct, clusters)
    assert clustered_interval(correct, clusters, groups=groups) == pytest.approx(expected)


def test_groups_of_another_length_are_rejected():
    with pytest.raises(ValueError, match="3 answers but 2 group names"):
        clustered_interval(np.ones(3, bool), np.arange(3), groups=np.arange(2))
