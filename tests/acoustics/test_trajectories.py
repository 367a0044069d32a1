"""Where a parameter is, worked by hand."""

import numpy as np
import pytest
from plain_gradients import MIRROR

from otoscope.acoustics.design import LABELS
from otoscope.acoustics.trajectories import CURVES, Trajectory, steered

# progress at t = 0, 1/4, 1/2, 3/4, 1
AT_QUARTERS = {
    "linear": [0, 0.25, 0.5, 0.75, 1],
    "quad_first_flat": [0, 0.0625, 0.25, 0.5625, 1],
    "quad_last_flat": [0, 0.4375, 0.75, 0.9375, 1],
    "jump": [0, 0, 1, 1, 1],
}


@pytest.mark.parametrize("curve", CURVES)
def test_the_mirror_of_a_curve_is_the_curve_played_backwards(curve):
    t = np.linspace(0, 1, 1000)  # an even number: no point lies on the jump
    backwards = 1 - CURVES[MIRROR[curve]](1 - t)
    assert CURVES[curve](t) == pytest.approx(backwards, abs=1e-12)


@pytest.mark.parametrize("curve", AT_QUARTERS)
def test_curve_at_quarters_of_the_way(curve):
    assert Trajectory(0.0, 1.0, curve).per_segment(5).tolist() == AT_QUARTERS[curve]
    expected = [10 + 4 * p for p in AT_QUARTERS[curve]]
    assert Trajectory(10.0, 14.0, curve).per_segment(5).tolist() == expected


@pytest.mark.parametrize("curve", AT_QUARTERS)
def test_a_lone_segment_takes_the_end_value(curve):
    assert Trajectory(-6.0, 6.0, curve).per_segment(1).tolist() == [6.0]


@pytest.mark.parametrize("curve", AT_QUARTERS)
def test_per_sample_holds_the_ends_outside_the_span(curve):
    values = Trajectory(2.0, 4.0, curve).per_sample(9, 2, 7)
    inside = [2 + 2 * p for p in AT_QUARTERS[curve]]
    assert values.tolist() == [2, 2, *inside, 4, 4]


@pytest.mark.parametrize("n_span", [0, 1])
def test_a_span_of_at_most_one_sample_takes_the_end_value(n_span):
    assert Trajectory(2.0, 4.0, "linear").per_sample(4, 2, 2 + n_span).tolist() == [2, 2, 4, 4]


def test_down_swaps_the_ends_and_not_the_curve():
    down = steered(1.0, 5.0, "quad_first_flat", "down").per_segment(5)
    assert down.tolist() == [5 - 4 * p for p in AT_QUARTERS["quad_first_flat"]]
    reversed_up = steered(1.0, 5.0, "quad_first_flat", "up").per_segment(5)[::-1]
    assert not np.array_equal(down, reversed_up)


def test_labels_never_turn_round():
    assert LABELS == {"up": "increase", "down": "decrease"}


def test_unknown_names_are_rejected_at_once():
    with pytest.raises(LookupError, match="did you mean 'linear'"):
        steered(0.0, 1.0, "liner", "up")
    with pytest.raises(LookupError, match="'sideways'"):
        steered(0.0, 1.0, "linear", "sideways")
