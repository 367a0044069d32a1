"""Exact power against the specification's figures and all outcomes of small samples."""

import math

import numpy as np
import pytest
from scipy.stats import multinomial

from otoscope.statistics.exact_power import (
    equivalence_power,
    mcnemar_power,
    minimum_detectable_gain,
)
from otoscope.statistics.pairs import PairedCounts, mcnemar_exact
from otoscope.statistics.tango import tango_interval


@pytest.mark.parametrize(
    ("n", "points"),
    [(240, (4.3, 5.9, 7.2, 8.3)), (480, (3.1, 4.2, 5.1, 5.9)), (720, (2.5, 3.4, 4.1, 4.8))],
)
def test_minimum_detectable_gains_of_the_specification(n, points):
    found = [
        100 * minimum_detectable_gain(n, discordant_share=d) for d in (13 / 240, 0.10, 0.15, 0.20)
    ]
    assert found == pytest.approx(points, abs=0.055)


@pytest.mark.parametrize(
    ("n", "alpha", "points"), [(240, 0.05 / 8, 7.3), (120, 0.05, 8.1), (100, 0.05, 8.8)]
)
def test_minimum_detectable_gains_at_one_in_ten_discordant(n, alpha, points):
    found = minimum_detectable_gain(n, discordant_share=0.10, alpha=alpha)
    assert 100 * found == pytest.approx(points, abs=0.055)


@pytest.mark.parametrize(("net", "power"), [(13, 0.99), (7, 0.70)])
def test_power_of_calls_that_never_harm(net, power):
    found = mcnemar_power(240, discordant_share=net / 240, difference=net / 240)
    assert found == pytest.approx(power, abs=0.005)


def test_seventeen_to_six_is_the_least_that_is_significant():
    assert (
        mcnemar_exact(PairedCounts(0, 17, 6, 0)) <= 0.05 < mcnemar_exact(PairedCounts(0, 16, 6, 0))
    )


def outcomes(n, discordant, difference):
    shares = [(discordant + difference) / 2, (discordant - difference) / 2, 1 - discordant]
    for b in range(n + 1):
        for c in range(n + 1 - b):
            yield PairedCounts(n - b - c, b, c, 0), multinomial.pmf([b, c, n - b - c], n, shares)


@pytest.mark.parametrize(("n", "d", "difference"), [(12, 0.6, 0.3), (20, 0.9, -0.5), (7, 1.0, 1.0)])
def test_power_is_the_probability_of_all_outcomes_that_reject(n, d, difference):
    expected = sum(p for counts, p in outcomes(n, d, difference) if mcnemar_exact(counts) <= 0.05)
    found = mcnemar_power(n, discordant_share=d, difference=difference)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("n", "d", "difference"), [(12, 0.3, 0.1), (25, 0.2, 0.0), (25, 0.4, -0.2)]
)
def test_equivalence_power_is_the_probability_of_all_intervals_inside(n, d, difference):
    expected = 0.0
    for counts, p in outcomes(n, d, difference):
        _, low, high = tango_interval(counts, confidence=0.9)
        expected += p * (low > -0.25 and high < 0.25)
    found = equivalence_power(n, discordant_share=d, difference=difference, margin=0.25)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("discordant", "margin", "powers"),
    [
        (0.054, 0.03, (0.32, 0.76, 0.93)),
        (0.054, 0.05, (0.89, None, None)),
        (0.10, 0.03, (0.02, 0.35, 0.63)),
        (0.10, 0.05, (0.57, 0.93, 0.99)),
    ],
)
def test_equivalence_power_of_the_specification(discordant, margin, powers):
    for n, power in zip((240, 480, 720), powers, strict=True):
        if power is not None:
            found = equivalence_power(n, discordant_share=discordant, margin=margin, method="wald")
            assert found == pytest.approx(power, abs=0.0055)


def test_clusters_of_six_with_correlation_a_tenth_cost_22_per_cent():
    # design effect 1 + 5 · 0.1 = 1.5: 240 act like 160
    gains = [minimum_detectable_gain(n, discordant_share=0.10) for n in (160, 240)]
    assert gains[0] / gains[1] == pytest.approx(1.22, abs=0.02)


@pytest.mark.parametrize(("n", "share"), [(0, 0.5), (1, 1.0), (5, 0.5), (100, 0.0), (100, 0.05)])
def test_is_nan_where_nothing_could_be_found(n, share):
    assert math.isnan(minimum_detectable_gain(n, discordant_share=share))


def test_power_grows_with_the_difference_and_does_not_mind_its_sign():
    differences = np.linspace(0, 0.2, 9)
    powers = [mcnemar_power(100, discordant_share=0.2, difference=d) for d in differences]
    assert np.all(np.diff(powers) > 0)
    assert mcnemar_power(100, discordant_share=0.2, difference=-0.1) == pytest.approx(powers[4])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": -1}, "n cannot be negative, got -1"),
        ({"discordant_share": 1.5}, r"discordant_share must lie between 0 and 1, got 1\.5"),
        ({"difference": 0.6}, r"cannot exceed the discordant share 0\.5, got 0\.6"),
        ({"difference": float("nan")}, "cannot exceed the discordant share"),
        ({"alpha": 0.0}, r"alpha must lie between 0 and 1, got 0\.0"),
    ],
)
def test_arguments_outside_their_range_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        mcnemar_power(**{"n": 10, "discordant_share": 0.5, "difference": 0.1} | arguments)
