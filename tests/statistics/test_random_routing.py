"""Random routing: the expectation against figures of the paper and against its own draws."""

import numpy as np
import pytest

from otoscope.errors import InvalidValue
from otoscope.statistics.random_routing import expected_random_routing, random_routing


def first_right(n_right, n=240):
    return np.arange(n) < n_right


@pytest.mark.parametrize(
    ("local", "call", "n_calls", "expected"), [(221, 212, 30, 0.9161), (183, 212, 122, 0.824)]
)
def test_expectations_of_the_paper(local, call, n_calls, expected):
    # No-call selector and zero-shot CLAP, with calls to Qwen2.5-Omni
    found = expected_random_routing(
        first_right(local), first_right(call)[:, None], np.array([n_calls])
    )
    assert found == pytest.approx(expected, abs=5e-4)


def test_mean_of_the_draws_is_the_expectation_within_three_standard_errors():
    rng = np.random.default_rng(0)
    local, calls = rng.random(60) < 0.6, rng.random((60, 3)) < (0.5, 0.7, 0.95)
    n_calls = np.array([5, 0, 17])
    draws = random_routing(local, calls, n_calls, rng=rng, n_draws=4000)
    error = draws.std() / np.sqrt(draws.size)
    assert error > 0
    assert draws.mean() == pytest.approx(
        expected_random_routing(local, calls, n_calls), abs=3 * error
    )


def test_no_calls_and_all_calls_are_certain():
    rng = np.random.default_rng(0)
    local, calls = first_right(3, 8), first_right(5, 8)[:, None]
    for n_calls, accuracy in ((0, 3 / 8), (8, 5 / 8)):
        assert set(random_routing(local, calls, np.array([n_calls]), rng=rng)) == {accuracy}
        assert expected_random_routing(local, calls, np.array([n_calls])) == accuracy


def test_no_examples_are_unknown_and_shapes_must_fit():
    none = np.zeros((0, 1), dtype=bool)
    assert np.isnan(expected_random_routing(none[:, 0], none, np.array([0])))
    with pytest.raises(InvalidValue, match=r"\[9\] calls for 8 examples"):
        expected_random_routing(first_right(3, 8), first_right(5, 8)[:, None], np.array([9]))
    with pytest.raises(InvalidValue, match=r"shape \(8, 1\), expected \(8, 2\)"):
        expected_random_routing(first_right(3, 8), first_right(5, 8)[:, None], np.array([1, 1]))
