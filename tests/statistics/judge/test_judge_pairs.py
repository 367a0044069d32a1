"""Pair score, invariance, protocol gap and position bias: toy sets by hand, and closed forms."""

import numpy as np
import pytest

from otoscope.statistics.judge.pairs import named_scores, pair_scores, protocol_gap, two_look
from otoscope.statistics.judge.positions import position_bias
from otoscope.statistics.judge.trajectories import chance_of_trajectory, score_trajectory


def of_outcomes(outcomes):
    """The replies taken, from right and wrong in contexts 0 and 1, at one order."""
    correct = np.array(outcomes)
    return np.where(correct, [0, 1], [1, 0])[:, :, None]


def test_the_toy_set():
    # the specification's four items
    pointwise, pairwise = [[1, 0], [0, 1], [1, 0], [1, 1]], [1, 0, 1, 1]
    found = pair_scores(of_outcomes(pointwise), np.arange(4))
    assert found.accuracy.estimate == 0.625
    assert found.pair_score.estimate == 0.25
    gap = protocol_gap(np.array(pairwise, float), np.mean(pointwise, axis=1), np.arange(4))
    assert gap.gap.estimate == pytest.approx(0.125)
    # differences (.5, -.5, .5, 0): standard error .2073 of the plug-in bootstrap, not .2760
    low, high = gap.gap[1:]
    assert (high - low) / 2 == pytest.approx(1.96 * 0.2073, rel=0.1)


def test_a_judge_that_does_not_hear():
    """It takes a reply by content: accuracy one half without spread, pair score 0."""
    rng = np.random.default_rng(1)
    by_content = rng.integers(0, 2, (60, 1, 1))
    found = pair_scores(np.broadcast_to(by_content, (60, 2, 2)), np.arange(60), n_draws=500)
    assert found.accuracy == (0.5, 0.5, 0.5)
    assert found.pair_score == (0, 0, 0)
    assert found.invariance.estimate == 1
    assert found.sensitivity.estimate == 0


def test_a_coin():
    rng = np.random.default_rng(2)
    found = pair_scores(rng.integers(0, 2, (5000, 2, 2)), np.arange(5000), n_draws=200)
    assert found.pair_score.estimate == pytest.approx(0.25, abs=3 * np.sqrt(0.25 * 0.75 / 1e4))
    assert found.strict.estimate == pytest.approx(1 / 16, abs=0.011)
    assert found.invariance.estimate == pytest.approx(0.5, abs=0.02)


def test_a_judge_that_knows_three_in_ten():
    # accuracy .65, pair score .3 + .7 · .25 = .475
    rng = np.random.default_rng(3)
    knows = rng.random((6000, 1, 1)) < 0.3
    guess = rng.integers(0, 2, (6000, 2, 1))
    found = pair_scores(
        np.where(knows, np.array([0, 1])[:, None], guess), np.arange(6000), n_draws=200
    )
    assert found.accuracy.estimate == pytest.approx(0.65, abs=0.015)
    assert found.pair_score.estimate == pytest.approx(0.475, abs=0.02)


def test_a_judge_that_always_takes_the_first():
    first = np.broadcast_to(np.array([0, 1]), (30, 2, 2))  # order 1 gives reply 1 first
    found = pair_scores(first, np.arange(30), n_draws=200)
    assert found.accuracy.estimate == 0.5
    assert found.strict.estimate == 0
    by_instance = np.broadcast_to(np.array([0, 1]), (60, 2))
    bias = position_bias(by_instance, np.tile([0, 1], 30), np.repeat(np.arange(30), 2), n_draws=200)
    assert bias.bias.estimate == 0.5
    assert bias.consistency.estimate == 0
    assert (bias.n_first, bias.n_second) == (60, 0)
    assert bias.p == pytest.approx(2 * 0.5**60)
    assert (bias.accuracy_first, bias.accuracy_second) == (1, 0)


def test_an_answer_that_is_missing_is_wrong_and_neither_same_nor_other():
    chosen = np.array([[[0], [-1]], [[0], [1]]])
    scores = named_scores(pair_scores(chosen, np.arange(2), n_draws=50))
    assert scores["accuracy"] == 0.75
    assert scores["pair_score"] == 0.5
    assert (scores["invariance"], scores["sensitivity"]) == (0, 0.5)


def test_branches_and_orders_may_be_swapped():
    rng = np.random.default_rng(4)
    chosen = rng.integers(-1, 2, (40, 2, 2))
    clusters = rng.integers(0, 9, 40)
    expected = pair_scores(chosen, clusters, n_draws=300)
    other = np.where(chosen < 0, -1, 1 - chosen)[:, ::-1]
    assert pair_scores(other, clusters, n_draws=300) == expected
    assert pair_scores(chosen[:, :, ::-1], clusters, n_draws=300) == expected


def test_the_published_gap():
    # the specification: 171 of 188 pairwise, 246 of 377 pointwise, 25.7 points
    assert pytest.approx(0.257, abs=5e-4) == 171 / 188 - 246 / 377
    assert two_look(0.653) == pytest.approx(0.759, abs=5e-4)
    assert two_look(0.65) == pytest.approx(0.755)
    assert two_look(0.4) == 0.5


def test_chance_of_a_trajectory():
    # the specification's values for five turns
    assert chance_of_trajectory(5, 6) == pytest.approx(1.286e-4, abs=1e-7)
    for sizes, expected in (((1, 1), 0.25), ((1, 2), 0.033), ((2, 2), 1 / 128), ((2, 4), 0.0010)):
        found = chance_of_trajectory(5, 6, structure=sizes)
        assert found == pytest.approx(expected, abs=5e-4)


def test_trajectories_by_hand():
    gold = {1: "neutral", 3: "happy", 5: "sad"}
    negative = ("sad", "angry")
    exact = score_trajectory(gold, gold, negative)
    assert exact == (True, 1.0, True, 1.0)
    late = score_trajectory({1: "neutral", 3: "happy", 5: "happy"}, gold, negative)
    assert (late.exact, late.turns, late.onset, late.valence) == (False, 2 / 3, False, 2 / 3)
    missing = score_trajectory({3: "neutral", 5: "angry"}, gold, negative)
    assert (missing.turns, missing.onset, missing.valence) == (0.0, True, 2 / 3)
    assert score_trajectory({1: "sad"}, {1: "happy"}, negative).onset is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pair_scores(np.full((2, 2, 1), 2), np.arange(2)), "0 or 1, or -1"),
        (lambda: pair_scores(np.zeros((2, 2, 1), int), np.arange(3)), "2 items and 3 cluster"),
        (lambda: protocol_gap(np.ones(2), np.ones(3), np.arange(2)), "2 pairwise and 3 pointwise"),
        (lambda: protocol_gap(np.full(2, 1.5), np.ones(2), np.arange(2)), "outside 0 to 1"),
        (lambda: score_trajectory({}, {}, ()), "at least one turn"),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
