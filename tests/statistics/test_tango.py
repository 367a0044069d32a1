"""Tango's interval against published vectors and a likelihood that is maximised numerically."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from otoscope.statistics.pairs import PairedCounts
from otoscope.statistics.tango import (
    tango_at_size,
    tango_interval,
    tango_lower_bound,
    tango_score,
    tango_upper_bound,
)

COUNTS = st.builds(PairedCounts, *[st.integers(0, 60)] * 4)


def of(b, c, n):
    return PairedCounts(n - b - c, b, c, 0)


@pytest.mark.parametrize(
    ("b", "c", "n", "at_95", "at_90"),
    [
        (7, 6, 240, (-0.0284, 0.0375), (-0.0224, 0.0313)),
        (24, 16, 240, (-0.0190, 0.0870), (-0.0103, 0.0780)),
        (24, 7, 240, (0.0271, 0.1195), (0.0343, 0.1110)),
        (11, 10, 120, (-0.0703, 0.0875), (-0.0567, 0.0738)),
    ],
)
def test_intervals_of_the_specification(b, c, n, at_95, at_90):
    assert tango_interval(of(b, c, n))[1:] == pytest.approx(at_95, abs=1e-4)
    assert tango_interval(of(b, c, n), confidence=0.9)[1:] == pytest.approx(at_90, abs=1e-4)


def plain_score(b, c, n, difference):
    """Score statistic whose nuisance share maximises the trinomial likelihood numerically."""

    def minus_likelihood(share):  # of "only second"; "only first" is share + difference
        shares = np.array([share + difference, share, 1 - 2 * share - difference])
        counts = np.array([b, c, n - b - c])
        return -np.sum(np.where(counts > 0, counts * np.log(np.maximum(shares, 1e-300)), 0))

    low, high = max(0.0, -difference), (1 - difference) / 2
    share = minimize_scalar(
        minus_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
    ).x
    variance = n * (2 * share + difference - difference**2)
    return (b - c - n * difference) / math.sqrt(variance)


@pytest.mark.parametrize(("b", "c", "n"), [(7, 6, 240), (1, 0, 8), (3, 5, 8), (0, 4, 9), (1, 1, 2)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_ends_are_where_the_score_of_the_likeliest_share_reaches_the_quantile(b, c, n, confidence):
    z = norm.ppf((1 + confidence) / 2)
    _, low, high = tango_interval(of(b, c, n), confidence=confidence)
    assert plain_score(b, c, n, low) == pytest.approx(z, rel=1e-4)
    assert plain_score(b, c, n, high) == pytest.approx(-z, rel=1e-4)
    assert tango_score(b, c, n, high) == pytest.approx(-z)


@given(COUNTS, st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_contains_the_difference_and_has_width(counts, confidence):
    assume(counts.n)
    estimate, low, high = tango_interval(counts, confidence=confidence)
    assert -1 <= low <= estimate <= high <= 1
    assert high - low > 0
    assert estimate == pytest.approx((counts.only_first - counts.only_second) / counts.n)


@given(COUNTS)
def test_swapped_arms_mirror_and_concordant_questions_are_alike(counts):
    assume(counts.n)
    both, first, second, neither = counts
    estimate, low, high = tango_interval(counts)
    mirrored = tango_interval(PairedCounts(neither, second, first, both))
    assert mirrored == pytest.approx((-estimate, -high, -low), abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 240])
def test_without_discordant_questions_it_is_z_squared_over_n_plus_z_squared(n):
    z2 = 1.959963984540054**2
    assert tango_interval(of(0, 0, n)) == pytest.approx((0, -z2 / (n + z2), z2 / (n + z2)))


@pytest.mark.parametrize("n", [1, 2, 240])
def test_all_discordant_one_way_leaves_room_on_the_other_side(n):
    # the score at d is √(n (1 - d) / (1 + d)); it is z at (n - z²) / (n + z²)
    z2 = 1.959963984540054**2
    assert tango_interval(of(n, 0, n)) == pytest.approx((1, (n - z2) / (n + z2), 1))
    assert tango_interval(of(0, n, n)) == pytest.approx((-1, -1, (z2 - n) / (n + z2)))


def test_one_sided_bounds_are_ends_of_the_interval_at_twice_the_error():
    assert tango_upper_bound(of(7, 6, 240)) == pytest.approx(0.0313, abs=1e-4)
    assert tango_lower_bound(of(7, 6, 240)) == pytest.approx(-0.0224, abs=1e-4)


def test_an_effective_size_scales_like_as_many_questions():
    # the score of half as many is smaller by √2: the same ends belong to a quantile of √2 · 1.96
    confidence = 2 * float(norm.cdf(np.sqrt(2) * norm.ppf(0.975))) - 1
    assert tango_at_size(3.5, 3.0, 120.0) == pytest.approx(
        tango_interval(of(7, 6, 240), confidence=confidence)
    )
    assert tango_at_size(7, 6, 240) == tango_interval(of(7, 6, 240))


def test_no_questions_are_unknown_and_what_cannot_be_is_rejected():
    assert np.isnan(tango_interval(of(0, 0, 0))).all()
    with pytest.raises(ValueError, match="cannot be negative"):
        tango_interval(PairedCounts(1, -1, 0, 0))
    with pytest.raises(ValueError, match=r"between 0 and 1, got 95\.0"):
        tango_interval(of(1, 1, 2), confidence=95.0)
    with pytest.raises(ValueError, match=r"between 0\.5 and 1, got 0\.05"):
        tango_upper_bound(of(1, 1, 2), confidence=0.05)
    with pytest.raises(ValueError, match="impossible counts"):
        tango_at_size(2, 2, 3)
