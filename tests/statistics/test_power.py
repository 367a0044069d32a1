"""The closed form against the equation that it solves and against the exact power of the test."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from otoscope.statistics.power import minimum_detectable_difference


@given(
    st.integers(20, 50_000),
    st.floats(0.02, 1),
    st.floats(0.001, 0.2),
    st.floats(0.55, 0.99),
)
def test_needs_as_many_questions_as_there_are(n, discordant, alpha, power):
    # Connor (1987): n = (z_alpha √ψ + z_power √(ψ - δ²))² / δ²
    difference = minimum_detectable_difference(
        n, discordant_share=discordant, alpha=alpha, power=power
    )
    if not math.isnan(difference):
        assert 0 < difference <= discordant
        left = norm.ppf(1 - alpha / 2) * np.sqrt(discordant)
        right = norm.ppf(power) * np.sqrt(max(0, discordant - difference**2))
        assert ((left + right) / difference) ** 2 == pytest.approx(n, rel=1e-6)


def test_mcnemars_exact_test_finds_it_about_as_often_as_stated():
    n, discordant = 2400, 0.2
    difference = minimum_detectable_difference(n, discordant_share=discordant)
    power = 0.0
    for m in range(300, 700):
        wins = np.arange(m + 1)
        tail = binom.cdf(np.minimum(wins, m - wins), m, 0.5)
        rejected = 2 * tail <= 0.05
        chance = binom.pmf(wins, m, (discordant + difference) / (2 * discordant))
        power += binom.pmf(m, n, discordant) * chance[rejected].sum()
    assert power == pytest.approx(0.8, abs=0.02)  # exact tests are a little conservative


def test_shrinks_with_the_root_of_n_and_grows_with_the_design_effect():
    large = minimum_detectable_difference(40_000, discordant_share=0.3)
    assert minimum_detectable_difference(10_000, discordant_share=0.3) == pytest.approx(
        2 * large, rel=1e-3
    )
    assert minimum_detectable_difference(
        40_000, discordant_share=0.3, design_effect=4.0
    ) == pytest.approx(minimum_detectable_difference(10_000, discordant_share=0.3))


@pytest.mark.parametrize(("n", "share"), [(0, 0.5), (1, 1.0), (5, 0.5), (100, 0.0), (100, 0.05)])
def test_is_nan_where_nothing_could_be_found(n, share):
    assert math.isnan(minimum_detectable_difference(n, discordant_share=share))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": -1}, "n cannot be negative, got -1"),
        ({"discordant_share": 1.5}, r"discordant_share must lie between 0 and 1, got 1\.5"),
        ({"alpha": 0.0}, r"alpha must lie between 0 and 1, got 0\.0"),
        ({"power": 1.0}, r"power must lie between 0 and 1, got 1\.0"),
        ({"design_effect": 0.0}, r"design_effect must be above 0, got 0\.0"),
    ],
)
def test_arguments_outside_their_range_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        minimum_detectable_difference(**{"n": 10, "discordant_share": 0.5} | arguments)
