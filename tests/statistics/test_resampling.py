"""Sums over resampled clusters: the law, the blocks, and their memory."""

import tracemalloc

import numpy as np
import pytest

from otoscope.statistics.resampling import cluster_sums, resampled_sums


def test_sums_of_clusters_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    values, clusters = rng.integers(0, 5, (20, 3)), rng.integers(0, 6, 20)
    expected = [values[clusters == name].sum(axis=0) for name in np.unique(clusters)]
    assert np.array_equal(cluster_sums(values, clusters), expected)
    alone = cluster_sums(values, np.arange(20)[::-1])
    assert np.array_equal(alone, values[::-1])


def test_mean_and_variance_are_those_of_drawing_with_replacement():
    sums = np.array([[0.0, 1.0], [2.0, 1.0], [7.0, 1.0], [3.0, 1.0]])
    drawn = resampled_sums(sums, rng=np.random.default_rng(1), n_draws=40_000)
    assert np.all(drawn[:, 1] == 4)  # as many clusters as there are
    # the sum of 4 independent draws from {0, 2, 7, 3}: mean 4·3, variance 4·6.5
    assert drawn[:, 0].mean() == pytest.approx(12, abs=5 * np.sqrt(26 / 40_000))
    assert drawn[:, 0].var() == pytest.approx(26, rel=0.04)


@pytest.mark.parametrize("most", [1, 7, 10**6])
def test_the_size_of_a_block_changes_nothing(most):
    sums = np.arange(10.0).reshape(5, 2)
    drawn = resampled_sums(sums, rng=np.random.default_rng(2), n_draws=9, most_at_once=most)
    assert np.array_equal(drawn, resampled_sums(sums, rng=np.random.default_rng(2), n_draws=9))


def test_a_block_bounds_the_memory():
    sums = np.ones((5_000, 2))
    tracemalloc.start()
    resampled_sums(sums, rng=np.random.default_rng(3), n_draws=200, most_at_once=50_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6  # 200 draws of 5,000 counts at once would be 8 MB
