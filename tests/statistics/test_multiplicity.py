import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from otoscope.statistics.multiplicity import holm

P_VALUES = st.lists(st.floats(0, 1), max_size=12).map(
    lambda values: np.array(values, dtype=np.float64)
)


def test_matches_steps_worked_by_hand():
    # sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1: 0.02, 0.03, 0.06, 0.04 → 0.06
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_agrees_with_statsmodels():
    p_values = np.random.default_rng(0).random(30) ** 3
    p_values[5] = p_values[6]
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


@given(P_VALUES)
def test_is_never_below_the_p_value_nor_above_bonferroni_and_keeps_the_order(p_values):
    adjusted = holm(p_values)
    assert np.all(adjusted >= p_values)
    assert np.all(adjusted <= np.minimum(1, p_values * p_values.size) + 1e-12)
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(adjusted[order]) >= 0)


def test_one_test_stays_as_it_is_and_none_gives_none():
    assert holm(np.array([0.04])) == [0.04]
    assert holm(np.zeros(0)).size == 0


@pytest.mark.parametrize("wrong", [1.5, -0.1, float("nan")])
def test_what_is_no_p_value_is_named(wrong):
    with pytest.raises(ValueError, match=rf"got \[{wrong}\]"):
        holm(np.array([0.5, wrong]))
