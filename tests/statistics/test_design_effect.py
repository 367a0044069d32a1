"""How much less clustered questions say."""

import math

import numpy as np
import pytest

from otoscope.statistics.clustered_pairs import clustered_difference
from otoscope.statistics.design_effect import paired_design_effect


def flags(text):
    return np.array([letter == "1" for letter in text], dtype=bool)


def test_worked_by_hand():
    # Gains 1 1 0 | 0 0 -1, mean 1/6. Departures 5/6 5/6 -1/6 | -1/6 -1/6 -7/6: squares 102/36.
    # Cluster sums 9/6 and -9/6: squares 162/36, times 2/(2 - 1).
    first, second = flags("111000"), flags("001001")
    clusters = np.array([1, 1, 1, 2, 2, 2])
    assert paired_design_effect(first, second, clusters) == pytest.approx(2 * 162 / 102)


def test_clusters_of_copies_are_worth_one_question_each():
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 500)) < 0.5
    copies = paired_design_effect(
        np.repeat(first, 4), np.repeat(second, 4), np.repeat(np.arange(500), 4)
    )
    assert copies == pytest.approx(4 * 500 / 499)


def test_it_is_the_square_of_how_much_wider_the_interval_by_source_is():
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(40), 6)
    leaning = np.repeat(rng.random(40), 6)
    first, second = rng.random((2, 240)) < [leaning, np.full(240, 0.5)]
    gain = first.astype(float) - second
    independent_error = math.sqrt(np.var(gain) / 240)
    by_source = clustered_difference(first, second, clusters)
    error = (by_source.high - by_source.low) / 2 / 2.0226909  # Student's t, 39 degrees of freedom
    effect = paired_design_effect(first, second, clusters)
    assert effect == pytest.approx((error / independent_error) ** 2, rel=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "clusters", "expected"),
    [
        ("", "", [], float("nan")),
        ("10", "01", [1, 1], float("nan")),
        ("1100", "1100", [1, 1, 2, 2], 1.0),
        ("1111", "0000", [1, 1, 2, 2], 1.0),
    ],
)
def test_degenerate_cases_are_decided(first, second, clusters, expected):
    effect = paired_design_effect(flags(first), flags(second), np.array(clusters))
    assert effect == pytest.approx(expected, nan_ok=True)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="2 and 2 answers but 1 cluster names"):
        paired_design_effect(flags("10"), flags("01"), np.array([1]))
