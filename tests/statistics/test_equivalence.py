"""Equivalence against the specification's vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope.statistics.equivalence import equivalence
from otoscope.statistics.pairs import PairedCounts

PRIMARY = PairedCounts(227, 7, 6, 0)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("margin", "p_wald"),
    [(0.02, 0.146), (0.025, 0.083), (0.03, 0.0427), (0.04, 0.0085), (0.05, 0.0011)],
)
def test_wald_p_values_of_7_to_6_of_240(margin, p_wald):
    found = equivalence(PRIMARY, margin=margin, rng=rng())
    assert found.p_wald == pytest.approx(p_wald, abs=5e-4)


def test_three_points_are_not_established_and_three_and_a_half_are():
    narrow, wide = (equivalence(PRIMARY, margin=m, rng=rng()) for m in (0.03, 0.035))
    assert (narrow.established, narrow.gain_below) == (False, False)
    assert (wide.established, wide.gain_below) == (True, True)
    assert narrow.p_tango > 0.05 > wide.p_tango
    assert narrow.tango[1:] == pytest.approx((-0.0224, 0.0313), abs=1e-4)
    assert narrow.wald[1:] == pytest.approx((-0.0205, 0.0289), abs=1e-4)
    assert narrow.bootstrap[1:] == pytest.approx((-0.0208, 0.0292), abs=1e-4)


@given(st.builds(PairedCounts, *[st.integers(0, 40)] * 4), st.floats(0.01, 0.5))
def test_decision_is_that_of_the_p_value_and_swapping_arms_keeps_it(counts, margin):
    found = equivalence(counts, margin=margin, rng=rng(), n_draws=10)
    both, first, second, neither = counts
    other = equivalence(
        PairedCounts(both, second, first, neither), margin=margin, rng=rng(), n_draws=10
    )
    assert found.established == other.established
    if counts.n == 0:
        assert not found.established
        assert np.isnan([found.p_tango, found.p_wald, *found.tango]).all()
    elif abs(found.p_tango - 0.05) > 1e-6:
        assert found.established == (found.p_tango < 0.05)


@pytest.mark.parametrize(("n", "established"), [(1, False), (60, False), (100, True)])
def test_without_discordant_questions_the_score_decides_and_wald_says_nothing(n, established):
    # upper end z² / (n + z²) with z = 1.645: below 0.03 from n = 88 on
    found = equivalence(PairedCounts(n, 0, 0, 0), margin=0.03, rng=rng())
    assert found.established is established
    assert np.isnan([found.p_wald, found.wald.low, found.wald.high]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"margin": 3.0}, r"margin must lie between 0 and 1, got 3\.0"),
        ({"margin": float("nan")}, "margin must lie between 0 and 1, got nan"),
        ({"margin": 0.03, "alpha": 0.5}, r"alpha must lie between 0 and 0\.5, got 0\.5"),
    ],
)
def test_arguments_outside_their_range_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        equivalence(PRIMARY, rng=rng(), **arguments)
