"""The sentences against the bounds of the specification, and never more than is known."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otoscope.statistics.gain_wording import (
    evidence_of_answers,
    evidence_of_counts,
    gain_sentences,
)
from otoscope.statistics.pairs import PairedCounts
from otoscope.statistics.sign_flip import cluster_sign_flip


def said(b, c, n, **options):
    return gain_sentences(evidence_of_counts(PairedCounts(n - b - c, b, c, 0), **options))


def test_the_primary_result_of_the_paper():
    text = said(7, 6, 240)
    for part in (
        "No gain detected: of 240 examples 7 are right only with calls and 6 only without",
        "+0.4 points (exact McNemar p = 1.000)",
        "Gains above 3.2 points are excluded by Tango's one-sided 95 % bound, above 3.8 points by "
        "the two-sided one.",
        "A difference within ±3 points is not established.",
        "5.4 % discordant examples the test finds gains of 4.3 points or more with a probability "
        "of 80 %",
    ):
        assert part in text
    assert "±3.5 points is established" in said(7, 6, 240, margin=0.035)
    assert "detected" not in text.replace("No gain detected", "")


def test_a_gain_and_a_loss_are_named_and_bounded():
    gain, loss = said(24, 7, 240), said(7, 24, 240)
    assert gain.startswith("A gain was detected")
    assert "+7.1 points (exact McNemar p = 0.003)" in gain
    assert "Gains below 3.4 points are excluded likewise." in gain  # the bound is 0.0343
    assert loss.startswith("A loss was detected")
    assert "Any gain is excluded by Tango's two-sided 95 % bound." in loss


@pytest.mark.parametrize(
    ("b", "c", "n", "part"),
    [
        (0, 0, 0, "No examples: nothing is known of a gain."),
        (0, 0, 240, "above 1.6 points by the two-sided one"),  # 3.8415 / 243.8415 = 0.01575
        (0, 0, 240, "Without discordant examples the power of the test is unknown."),
        (0, 0, 1, "Gains above 73.1 points are excluded"),  # 2.7055 / 3.7055 = 0.7301
        (1, 0, 1, "No gain is excluded, whatever its size."),
        (1, 0, 1, "no gain, whatever its size, is detectable with a power of 80 %"),
        (6, 0, 240, "A gain was detected"),  # p = 2 / 2⁶
        (5, 0, 240, "No gain detected"),  # p = 2 / 2⁵
    ],
)
def test_edges(b, c, n, part):
    assert part in said(b, c, n)


@settings(max_examples=50)
@given(st.builds(PairedCounts, *[st.integers(0, 80)] * 4))
def test_no_bound_that_is_printed_says_more_than_the_interval(counts):
    evidence = evidence_of_counts(counts)
    text = gain_sentences(evidence)
    above = re.search(r"Gains above ([\d.]+) points", text)
    below = re.search(r"Gains below ([\d.]+) points", text)
    if above:
        assert float(above[1]) / 100 >= evidence.one_sided.high - 1e-9
        assert float(above[1]) / 100 < evidence.one_sided.high + 0.001 + 1e-9
    if below:
        assert 0 <= float(below[1]) / 100 <= evidence.one_sided.low + 1e-9
    assert "nan" not in text


def test_clusters_change_interval_test_and_words():
    rng = np.random.default_rng(0)
    first, second = rng.random(120) < 0.8, rng.random(120) < 0.7
    clusters = np.arange(120) // 6
    evidence = evidence_of_answers(first, second, clusters)
    assert evidence.p_value == cluster_sign_flip(first, second, clusters).p_value
    text = gain_sentences(evidence, first="by A", second="by B")
    assert "cluster sign flip p = " in text
    assert "the clustered one-sided 95 % bound" in text
    assert "are right only by A" in text
    alone = evidence_of_answers(first, second, np.arange(120))
    assert alone == evidence_of_answers(first, second)


def test_power_counts_copies_within_a_cluster_once():
    """240 examples in pairs of equals: 120 clusters, a design effect of 2 · 120/119."""
    once = np.arange(120)
    first, second = np.repeat(once < 108, 2), np.repeat((once >= 12) & (once < 114), 2)
    evidence = evidence_of_answers(first, second, np.repeat(once, 2))
    assert evidence.n_effective == 119
    alone = evidence_of_counts(PairedCounts(82 + 14, 12, 6, 5))  # 119 examples, 15 % discordant
    assert evidence.minimum_detectable == pytest.approx(alone.minimum_detectable, abs=0.003)
    text = gain_sentences(evidence)
    assert "With 15.0 % discordant examples of 240, which in their clusters count as 119," in text


def test_power_within_one_cluster_is_unknown():
    evidence = evidence_of_answers(np.arange(4) < 3, np.arange(4) < 2, np.zeros(4))
    assert evidence.n_effective is None
    assert "With one cluster the power of the test is unknown." in gain_sentences(evidence)


def test_power_among_eight_tests_is_that_of_holms_first_step():
    """7.3 points at n = 240, one in ten discordant and α = 0.05/8; 5.9 at 0.05 alone."""
    alone = evidence_of_counts(PairedCounts(200, 12, 12, 16))
    among = alone.among(8, 1.0)
    assert alone.minimum_detectable == pytest.approx(0.059, abs=5e-4)
    assert among.minimum_detectable == pytest.approx(0.073, abs=5e-4)
    assert "with a probability of 80 %, whatever the other tests find." in gain_sentences(among)
    assert "whatever the other" not in gain_sentences(alone)
