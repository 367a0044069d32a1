"""Printed numbers of the paper on generative audio calls (2608.27817), from counts."""

import numpy as np
import pytest
from scipy.stats import binom

from otoscope.statistics.intervals import wilson
from otoscope.statistics.multiplicity import holm
from otoscope.statistics.pairs import PairedCounts, bootstrap_difference, mcnemar_exact

ACCURACIES = [
    ("0.296", 71), ("0.404", 97), ("0.762", 183), ("0.792", 190), ("0.796", 191), ("0.808", 194),
    ("0.817", 196), ("0.838", 201), ("0.850", 204), ("0.854", 205), ("0.883", 212), ("0.887", 213),
    ("0.896", 215), ("0.921", 221), ("0.925", 222), ("0.938", 225), ("0.975", 234),
]  # fmt: skip


@pytest.mark.parametrize(("printed", "n_correct"), ACCURACIES)
def test_printed_accuracies_of_240_examples_are_these_counts_and_no_others(printed, n_correct):
    assert [k for k in range(241) if format(k / 240, ".3f") == printed] == [n_correct]


@pytest.mark.parametrize(
    ("n_correct", "low", "high"),
    [
        (71, 0.2417, 0.3564), (183, 0.7048, 0.8119), (201, 0.7856, 0.8788), (204, 0.7993, 0.8896),
        (205, 0.8039, 0.8932), (213, 0.8413, 0.9215), (221, 0.8797, 0.9487), (222, 0.8846, 0.9520),
        (225, 0.8995, 0.9618), (234, 0.9465, 0.9885),
    ],
)  # fmt: skip
def test_wilson(n_correct, low, high):
    assert wilson(n_correct, 240)[1:] == pytest.approx((low, high), abs=1e-4)


CASES = [
    (7, 6, 240, 0.0042, (-0.0250, 0.0333), 1.0),
    (24, 16, 240, 0.0333, (-0.0167, 0.0833), 0.26819),
    (24, 7, 240, 0.0708, (0.0250, 0.1167), 0.0033269),
    (10, 9, 120, 0.0083, (-0.0667, 0.0833), 1.0),
    (11, 10, 120, 0.0083, (-0.0667, 0.0833), 1.0),
    (12, 11, 120, 0.0083, (-0.0667, 0.0833), 1.0),
]


def limits_of_the_bootstrap(b, c, n):
    """The 2.5 % and 97.5 % points with infinitely many resamples, as numbers of questions."""
    law = np.zeros(2 * n + 1)
    for discordant in range(n + 1):
        first = np.arange(discordant + 1)
        weight = binom.pmf(discordant, n, (b + c) / n)
        law[n + 2 * first - discordant] += weight * binom.pmf(first, discordant, b / (b + c))
    return np.searchsorted(np.cumsum(law), [0.025, 0.975]) - n


@pytest.mark.parametrize(("b", "c", "n", "difference", "ends", "p_value"), CASES)
def test_paired_contrasts(b, c, n, difference, ends, p_value):
    counts = PairedCounts(n - b - c, b, c, 0)
    assert mcnemar_exact(counts) == pytest.approx(p_value, abs=5e-6)
    assert limits_of_the_bootstrap(b, c, n) / n == pytest.approx(ends, abs=1e-4)
    for seed in range(5):
        found = bootstrap_difference(counts, rng=np.random.default_rng(seed))
        assert found.estimate == pytest.approx(difference, abs=1e-4)
        # a tail close to 2.5 % falls to either of two neighbours, as the paper's 0.029 for 0.025
        assert found[1:] == pytest.approx(ends, abs=1 / n + 1e-4)
        if (b, c) == (7, 6):
            assert found[1:] == pytest.approx(ends, abs=1e-4)


def test_one_directional_discordants():
    found = [mcnemar_exact(PairedCounts(0, b, 0, 0)) for b in (5, 6, 7)]
    assert found == pytest.approx([0.0625, 0.03125, 0.015625])


def test_holm_over_eight_tests():
    found = holm(np.array([0.0033269, 0.02, 0.04, 0.268187, 0.5, 0.7, 1, 1]))
    assert found == pytest.approx([0.0266, 0.14, 0.24, 1, 1, 1, 1, 1], abs=1e-4)


def test_discordants_that_the_paper_does_not_print_follow_from_what_it_does():
    pairs = [(b, b - 8) for b in range(8, 125)]
    printed = [p for p in pairs if format(mcnemar_exact(PairedCounts(0, *p, 0)), ".3f") == "0.268"]
    assert printed == [(24, 16)]
    pairs = [(b, b - 17) for b in range(17, 129)]
    adjusted = [8 * mcnemar_exact(PairedCounts(0, *p, 0)) for p in pairs]
    assert [p for p, a in zip(pairs, adjusted, strict=True) if f"{a:.3f}" == "0.027"] == [(24, 7)]


def test_full_against_wavlm_lies_on_a_tie_of_the_lattice():
    # 30 seeds fall on either neighbour of 2.5 %, 6/240 and 7/240: the paper prints 0.029
    counts = PairedCounts(240 - 31, 24, 7, 0)
    found = [bootstrap_difference(counts, rng=np.random.default_rng(seed)) for seed in range(30)]
    assert {round(240 * interval.low) for interval in found} == {6, 7}
    assert {round(240 * interval.high) for interval in found} <= {27, 28}
