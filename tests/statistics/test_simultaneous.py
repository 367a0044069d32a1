"""Bands of whole curves against quantiles in closed form, and areas by hand."""

import numpy as np
import pytest
from scipy.stats import norm

from otoscope.statistics.simultaneous import area_between, interval_of_draws, simultaneous_band


@pytest.mark.parametrize("n_points", [1, 2, 10])
def test_independent_points_need_the_quantile_of_their_largest(n_points):
    draws = 0.6 + 0.02 * np.random.default_rng(0).standard_normal((200_000, n_points))
    band = simultaneous_band(np.full(n_points, 0.6), draws)
    expected = norm.ppf((1 + 0.95 ** (1 / n_points)) / 2)
    assert band.critical == pytest.approx(expected, abs=0.02)
    assert band.high - band.low == pytest.approx(np.full(n_points, 0.04 * expected), rel=0.02)


def test_points_that_move_together_need_no_more_than_one():
    one = np.random.default_rng(1).standard_normal((200_000, 1))
    band = simultaneous_band(np.zeros(5), one * np.array([1, 2, 3, 4, 5]))
    assert band.critical == pytest.approx(1.96, abs=0.02)


def test_a_point_without_spread_takes_no_part():
    draws = np.column_stack([np.ones(1000), np.random.default_rng(2).random(1000)])
    band = simultaneous_band(np.array([1.0, 0.5]), draws)
    assert band.low[0] == band.high[0] == 1
    assert simultaneous_band(np.ones(2), np.ones((10, 2))).critical == 0


def test_the_band_holds_the_whole_curve_as_often_as_it_says():
    rng = np.random.default_rng(3)
    truth = np.array([0.6, 0.7, 0.75, 0.8])
    held = []
    for _ in range(300):
        right = rng.random((150, 1)) < truth  # nested, as thresholds of one score are
        share = right.mean(axis=0)
        times = rng.multinomial(150, np.full(150, 1 / 150), size=400)
        band = simultaneous_band(share, times @ right / 150)
        held.append(np.all((band.low <= truth) & (truth <= band.high)))
    assert np.mean(held) == pytest.approx(0.95, abs=0.04)


def test_area_of_a_curve_by_hand():
    # (0, .7), (1, .9), (3, .8) over .75: (−.05 + .15) / 2 · 1 + (.15 + .05) / 2 · 2 = .25
    cost, accuracy = np.array([3.0, 0.0, 1.0]), np.array([0.8, 0.7, 0.9])
    reference = np.array([0.75, 1.0])
    area, reach = area_between(np.stack([cost, cost]), np.stack([accuracy, accuracy]), reference)
    assert area == pytest.approx([0.25, 0.25 - 0.75])
    assert reach.tolist() == [3, 3]


def test_resamples_without_a_value_are_left_out_until_they_are_many():
    draws = np.linspace(0, 1, 101)
    few, many = draws.copy(), draws.copy()
    few[:5], many[:6] = np.nan, np.nan
    assert interval_of_draws(0.5, few).low > 0.05
    assert np.isnan(interval_of_draws(0.5, many).low)
    assert np.isnan(interval_of_draws(float("nan"), draws).estimate)
