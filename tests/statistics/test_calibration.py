"""Calibration against sums worked by hand and scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from otoscope.errors import InvalidValue
from otoscope.statistics.calibration import calibration, reliability

PROBABILITIES = np.array([0.1, 0.1, 0.9, 0.9])
CORRECT = np.array([False, True, True, True])


def test_four_probabilities_worked_by_hand():
    found = calibration(PROBABILITIES, CORRECT)
    assert found.base_rate == 0.75
    assert found.ece == pytest.approx((2 * 0.4 + 2 * 0.1) / 4)
    assert found.brier == pytest.approx((0.01 + 0.81 + 0.01 + 0.01) / 4)
    assert found.brier_skill == pytest.approx(1 - 0.21 / 0.1875)
    other = calibration(PROBABILITIES, CORRECT, reference_rate=0.5)
    assert other.brier_skill == pytest.approx(1 - 0.21 / 0.25)


def test_bins_have_equal_width_and_their_low_end_and_the_last_has_1():
    ends = np.array([0.0, 1 / 15, 0.2, 0.6, 0.9999, 1.0])
    found = reliability(ends, np.ones(6, dtype=bool))
    assert [i for i, b in enumerate(found) for _ in range(b.n)] == [0, 1, 3, 9, 14, 14]
    assert (found[3].low, found[3].high) == (0.2, 4 / 15)
    assert found[14].mean_probability == pytest.approx(0.99995)
    assert math.isnan(found[2].mean_probability)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1), st.randoms())
def test_brier_is_scikit_learns_and_order_does_not_matter(rows, random):
    def of(pairs):
        return calibration(np.array([p for p, _ in pairs]), np.array([c for _, c in pairs]))

    found = of(rows)
    expected = brier_score_loss([c for _, c in rows], [p for p, _ in rows], labels=[False, True])
    assert found.brier == pytest.approx(expected, abs=1e-12)
    assert of(random.sample(rows, len(rows))) == pytest.approx(found, nan_ok=True)


def test_always_right_has_no_skill_to_show_and_nothing_is_unknown():
    certain = calibration(np.array([1.0]), np.array([True]))
    assert certain[:4] == (1, 1.0, 0.0, 0.0)
    assert math.isnan(certain.brier_skill)
    none = calibration(np.zeros(0), np.zeros(0, dtype=bool))
    assert none.n == 0
    assert np.isnan(none[1:]).all()


@pytest.mark.parametrize("wrong", [float("nan"), -0.1, 1.1, float("inf")])
def test_a_probability_that_is_none_is_named(wrong):
    with pytest.raises(InvalidValue, match=f"probability 1 is {wrong}"):
        calibration(np.array([0.5, wrong]), np.array([True, True]))


def test_lengths_must_agree():
    with pytest.raises(InvalidValue, match="1 probabilities for 2 items"):
        calibration(np.array([0.5]), np.array([True, True]))
