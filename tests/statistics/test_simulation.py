"""The published interval against a plain loop and against binomial quantiles."""

import numpy as np
import pytest
from scipy.stats import binom

from otoscope.statistics.simulation import SEED, binomial_simulation

COUNTS = [(1199, 2400), (1121, 2400), (1200, 2400), (75, 150)]


def simulated_cells(cells):
    """Published intervals of the cells of a table: each draws where the one before left off."""
    rng = np.random.default_rng(SEED)
    return [binomial_simulation(n_correct, n, rng=rng) for n_correct, n in cells]


def test_conditions_share_one_generator_as_in_the_published_code():
    rng = np.random.default_rng(1234)
    for (n_correct, n), interval in zip(COUNTS, simulated_cells(COUNTS), strict=True):
        draws = rng.binomial(n, n_correct / n, 10_000) / n
        assert interval == (n_correct / n, *np.percentile(draws, [2.5, 97.5]))


def test_order_of_conditions_matters_and_repetition_does_not():
    assert simulated_cells(COUNTS) == simulated_cells(COUNTS)
    moved = simulated_cells([*COUNTS[1:], COUNTS[0]])
    assert moved != [*simulated_cells(COUNTS)[1:], simulated_cells(COUNTS)[0]]


@pytest.mark.parametrize(("n_correct", "n"), [(1243, 2400), (142, 150), (7, 20)])
def test_agrees_with_the_quantiles_that_it_simulates(n_correct, n):
    low, high = binom.ppf([0.025, 0.975], n, n_correct / n) / n
    interval = binomial_simulation(n_correct, n, rng=np.random.default_rng(0))
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=2.01 / n)


@pytest.mark.parametrize("n_correct", [0, 20])
def test_has_no_width_at_the_ends(n_correct):
    share = n_correct / 20
    interval = binomial_simulation(n_correct, 20, rng=np.random.default_rng(0))
    assert interval == (share, share, share)


def test_without_answers_is_unknown_and_draws_nothing():
    rng, untouched = np.random.default_rng(0), np.random.default_rng(0)
    assert np.isnan(binomial_simulation(0, 0, rng=rng)).all()
    assert rng.random() == untouched.random()


def test_wider_confidence_is_wider():
    def width(confidence):
        rng = np.random.default_rng(0)
        interval = binomial_simulation(60, 100, rng=rng, confidence=confidence)
        return interval.high - interval.low

    assert width(0.5) < width(0.95) < width(0.999)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_correct": 6, "n": 5}, "n_correct=6, n=5"),
        ({"n_correct": 1, "n": 5, "n_draws": 0}, "n_draws must be at least 1, got 0"),
        ({"n_correct": 1, "n": 5, "confidence": 1.0}, r"between 0 and 1, got 1\.0"),
    ],
)
def test_what_cannot_be_is_rejected(arguments, message):
    with pytest.raises(ValueError, match=message):
        binomial_simulation(**arguments, rng=np.random.default_rng(0))
