"""The cluster sign-flip test against all sign patterns, enumerated."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope.statistics.pairs import mcnemar_exact, paired_counts
from otoscope.statistics.sign_flip import SignFlip, cluster_sign_flip, sign_flip_p_value

SPEAKERS = [[1, 1], [1, -1], [0, 0, 1], [-1], [1, 0], [0, -1]]


def answers(differences):
    gains = np.array([gain for cluster in differences for gain in cluster], dtype=np.int64)
    clusters = np.repeat(np.arange(len(differences)), [len(c) for c in differences])
    return gains == 1, gains == -1, clusters


def test_six_speakers_of_the_specification():
    first, second, clusters = answers(SPEAKERS)
    counts = paired_counts(first, second)
    assert (counts.only_first, counts.only_second, counts.n) == (5, 3, 12)
    assert mcnemar_exact(counts) == pytest.approx(0.7266, abs=1e-4)
    result = cluster_sign_flip(first, second, clusters)
    assert result == pytest.approx(SignFlip(0.75, 6, 5))


@given(st.lists(st.integers(-5, 5), max_size=9))
def test_is_the_share_of_all_patterns_that_reach_as_far(sums):
    reached = [
        abs(sum(s * x for s, x in zip(signs, sums, strict=True))) >= abs(sum(sums))
        for signs in product((-1, 1), repeat=len(sums))
    ]
    assert sign_flip_p_value(np.array(sums, dtype=np.int64)) == pytest.approx(np.mean(reached))


@given(st.lists(st.sampled_from([-1, 0, 1]), max_size=60))
def test_with_one_question_in_each_cluster_it_is_mcnemars(gains):
    first, second, clusters = answers([[gain] for gain in gains])
    result = cluster_sign_flip(first, second, clusters)
    assert result.p_value == pytest.approx(mcnemar_exact(paired_counts(first, second)))


@given(st.permutations(range(12)))
def test_neither_order_nor_who_comes_first_matters(order):
    first, second, clusters = (column[order] for column in answers(SPEAKERS))
    assert cluster_sign_flip(first, second, clusters).p_value == pytest.approx(0.75)
    assert cluster_sign_flip(second, first, clusters.astype(str)).p_value == pytest.approx(0.75)


def test_many_clusters_are_exact_too():
    # 300 clusters of one discordant question each, 170 to 130: McNemar's
    first = np.arange(300) < 170
    result = cluster_sign_flip(first, ~first, np.arange(300))
    assert result.p_value == pytest.approx(mcnemar_exact(paired_counts(first, ~first)))
    assert 0.02 < result.p_value < 0.03


def test_nothing_that_differs_gives_1_and_lengths_must_agree():
    same = np.array([True, False])
    assert cluster_sign_flip(same, same, np.array(["a", "b"])) == SignFlip(1.0, 2, 0)
    assert cluster_sign_flip(same[:0], same[:0], same[:0]) == SignFlip(1.0, 0, 0)
    with pytest.raises(ValueError, match="1 cluster names"):
        cluster_sign_flip(same, same, np.array(["a"]))
