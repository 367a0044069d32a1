"""The cluster bootstrap against all resamples of three clusters, and the row bootstrap."""

from itertools import product

import numpy as np
import pytest

from otoscope.statistics.cluster_bootstrap import bootstrap_clusters
from otoscope.statistics.pairs import PairedCounts, bootstrap_difference


def rng(seed=0):
    return np.random.default_rng(seed)


def test_quantiles_are_those_of_all_resamples_enumerated():
    sums, sizes = np.array([2, -1, 1]), np.array([2, 1, 4])
    first = np.array([1, 1, 0, 1, 0, 0, 0], dtype=bool)
    second = np.array([0, 0, 1, 0, 0, 0, 0], dtype=bool)
    clusters = np.array(["a", "a", "b", "c", "c", "c", "c"])
    every = sorted(
        sums[list(drawn)].sum() / sizes[list(drawn)].sum() for drawn in product(range(3), repeat=3)
    )
    for confidence in (0.2, 0.5, 0.9):
        found = bootstrap_clusters(
            first, second, clusters, rng=rng(), n_draws=200_000, confidence=confidence
        ).clusters
        tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
        assert found[1:] == pytest.approx([every[int(np.ceil(27 * t)) - 1] for t in tails])
        assert found.estimate == pytest.approx(2 / 7)


def test_clusters_of_one_question_are_the_row_bootstrap():
    first = np.repeat([True, False, True], [7, 6, 227])
    second = np.repeat([False, True, True], [7, 6, 227])
    found = bootstrap_clusters(first, second, np.arange(240), rng=rng(3))
    assert found.clusters[1:] == pytest.approx((-0.0250, 0.0333), abs=1e-4)
    assert found.rows[1:] == pytest.approx((-0.0250, 0.0333), abs=1e-4)
    assert found.rows == bootstrap_difference(PairedCounts(227, 7, 6, 0), rng=rng(5))
    assert found.variance_ratio == pytest.approx(1, abs=0.1)
    assert found.n_clusters == 240


def test_copies_of_a_question_in_each_cluster_multiply_the_variance():
    first = np.repeat(rng(1).random(60) < 0.6, 6)
    second = np.repeat(rng(2).random(60) < 0.5, 6)
    found = bootstrap_clusters(first, second, np.repeat(np.arange(60), 6), rng=rng())
    assert found.variance_ratio == pytest.approx(6, rel=0.1)


def test_order_and_names_of_clusters_do_not_matter_and_swapped_arms_mirror():
    first, second = rng(1).random(48) < 0.7, rng(2).random(48) < 0.6
    clusters, order = np.repeat(np.arange(8), 6), rng(9).permutation(48)
    found = bootstrap_clusters(first, second, clusters, rng=rng())
    shuffled = bootstrap_clusters(first[order], second[order], clusters[order], rng=rng())
    assert shuffled.clusters == found.clusters
    assert shuffled.rows == found.rows
    mirrored = bootstrap_clusters(second, first, clusters, rng=rng(7), n_draws=100_000).clusters
    assert mirrored.estimate == -found.clusters.estimate
    assert mirrored[1:] == pytest.approx((-found.clusters.high, -found.clusters.low), abs=0.02)


def test_no_questions_no_variance_and_no_draws():
    none = np.zeros(0, dtype=bool)
    assert np.isnan(bootstrap_clusters(none, none, none, rng=rng()).clusters).all()
    same = np.array([True, False])
    found = bootstrap_clusters(same, same, np.array([1, 2]), rng=rng())
    assert found.clusters == (0, 0, 0)
    assert np.isnan(found.variance_ratio)
    with pytest.raises(ValueError, match="n_draws must be at least 1, got 0"):
        bootstrap_clusters(same, same, np.array([1, 2]), rng=rng(), n_draws=0)
