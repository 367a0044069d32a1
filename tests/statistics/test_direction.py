"""Scores of a run small enough to count on one's fingers, and what must hold of any."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, f1_score, precision_score, recall_score

from otoscope.statistics.direction import score_directions
from otoscope.statistics.intervals import clustered_interval, wilson
from tests.statistics.test_simulation import simulated_cells

UP, DOWN = "increase", "decrease"
GOLD = [UP, UP, UP, UP, DOWN, DOWN, DOWN, DOWN, DOWN, DOWN]
ANSWERS = [UP, UP, DOWN, None, DOWN, UP, None, None, DOWN, "constant"]
EXACT = [True, False, True, False, True, True, False, False, False, False]
RUNS = st.lists(
    st.tuples(st.sampled_from([UP, DOWN]), st.sampled_from([UP, DOWN, None, "constant"]),
              st.booleans(), st.sampled_from("abc")),
    max_size=30,
)  # fmt: skip


def columns(run):
    return [list(column) for column in zip(*run, strict=True)] or [[], [], [], []]


def test_every_number_of_a_small_run():
    scores = score_directions(GOLD, ANSWERS, EXACT)
    intervals = {name: scores.pop(name) for name in list(scores) if name.endswith(("low", "high"))}
    assert scores == pytest.approx(
        {
            "n": 10,
            "n_correct": 4,
            "n_parsed": 7,
            "n_exact": 4,
            "accuracy": 4 / 10,
            "accuracy_parsed": 4 / 7,
            "accuracy_exact": 2 / 10,  # the first and the fifth
            "accuracy_increase": 2 / 4,
            "accuracy_decrease": 2 / 6,
            "balanced_accuracy": (2 / 4 + 2 / 6) / 2,
            "precision_increase": 2 / 3,
            "recall_increase": 2 / 4,
            "f1_increase": 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4),
            "parsed_rate": 7 / 10,
            "exact_rate": 4 / 10,
            "increase_share": 3 / 7,
            "increase_share_all": 3 / 10,
            "unparsed_increase": 1,
            "unparsed_decrease": 2,
            "increase_as_increase": 2,
            "increase_as_decrease": 1,
            "decrease_as_increase": 1,
            "decrease_as_decrease": 2,
            "p_chance": 2 * (1 + 10 + 45 + 120 + 210) / 1024,
        }
    )
    simulated = simulated_cells([(4, 10)])[0]
    assert intervals == {
        "wilson_low": wilson(4, 10).low,
        "wilson_high": wilson(4, 10).high,
        "simulation_low": simulated.low,
        "simulation_high": simulated.high,
    }


@settings(max_examples=60)
@given(RUNS)
def test_agrees_with_scikit_learn_on_runs_that_are_all_parsed(run):
    run = [(gold, answer, e, c) for gold, answer, e, c in run if answer in (UP, DOWN)]
    gold, answers, exact, _ = columns(run)
    if len(set(gold)) < 2 or UP not in answers:
        return
    scores = score_directions(gold, answers, exact)
    assert scores["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(gold, answers))
    for name, score in (
        ("precision", precision_score), ("recall", recall_score), ("f1", f1_score),
    ):  # fmt: skip
        assert scores[f"{name}_increase"] == pytest.approx(score(gold, answers, pos_label=UP))


@settings(max_examples=60)
@given(RUNS)
def test_denominator_is_the_number_of_questions(run):
    gold, answers, exact, clusters = columns(run)
    scores = score_directions(gold, answers, exact, clusters=clusters)
    assert scores["n"] == len(run)
    if run:
        assert scores["accuracy"] == scores["n_correct"] / len(run)
        for kind in ("wilson", "simulation", "clustered"):
            assert scores[f"{kind}_low"] <= scores["accuracy"] <= scores[f"{kind}_high"]
    # an answer that goes missing can only lower accuracy, and n stays
    lost = score_directions(gold, [None, *answers[1:]] if run else [], exact)
    assert lost["n"] == scores["n"]
    assert (lost["accuracy"] or 0) <= (scores["accuracy"] or 0)


@settings(max_examples=60)
@given(RUNS, st.integers(0, 2**32))
def test_order_of_questions_does_not_matter(run, seed):
    shuffled = [run[i] for i in np.random.default_rng(seed).permutation(len(run))]
    results = []
    for some in (run, shuffled):
        gold, answers, exact, clusters = columns(some)
        results.append(score_directions(gold, answers, exact, clusters=clusters))
    assert results[0] == pytest.approx(results[1])


def test_up_and_down_are_mirror_images():
    mirror = {UP: DOWN, DOWN: UP, None: None, "constant": "constant"}
    there = score_directions(GOLD, ANSWERS, EXACT)
    back = score_directions([mirror[g] for g in GOLD], [mirror[a] for a in ANSWERS], EXACT)
    assert back["accuracy_increase"] == there["accuracy_decrease"]
    assert back["unparsed_decrease"] == there["unparsed_increase"]
    assert back["balanced_accuracy"] == pytest.approx(there["balanced_accuracy"])


def test_clusters_give_the_interval_of_clusters():
    clusters = list("aabbccddee")
    scores = score_directions(GOLD, ANSWERS, EXACT, clusters=clusters)
    correct = np.array([g == a for g, a in zip(GOLD, ANSWERS, strict=True)])
    interval = clustered_interval(correct, np.array(clusters))
    assert (scores["clustered_low"], scores["clustered_high"]) == (interval.low, interval.high)
    assert scores["n_clusters"] == 5


def test_breakdowns_draw_as_one_model_of_the_published_table():
    category = ["volume", "echo"] * 5
    scores = score_directions(GOLD, ANSWERS, EXACT, by={"category": category, "half": [1] * 10})
    cells = [scores["category"][name] for name in ("echo", "volume")]  # alphabetical
    assert [*scores["category"]] == ["echo", "volume"]
    expected = simulated_cells([(cell["n_correct"], cell["n"]) for cell in cells])
    assert [(c["simulation_low"], c["simulation_high"]) for c in cells] == [
        (interval.low, interval.high) for interval in expected
    ]
    assert scores["half"]["1"]["simulation_low"] == scores["simulation_low"]


def test_no_questions_no_result():
    scores = score_directions([], [], [], clusters=[], by={"category": []})
    assert scores.pop("category") == {}
    assert scores["n"] == scores["n_clusters"] == 0
    assert scores["accuracy"] is None
    assert scores["clustered_low"] is None
    assert scores["p_chance"] == 1
    assert not any(isinstance(v, float) and math.isnan(v) for v in scores.values())


def test_nothing_parsed_is_nothing_right():
    scores = score_directions(GOLD, [None] * 10, [False] * 10)
    assert scores["accuracy"] == scores["balanced_accuracy"] == scores["wilson_low"] == 0
    assert scores["accuracy_parsed"] is None
    assert scores["increase_share"] is None
    assert scores["precision_increase"] is None
    assert scores["increase_share_all"] == 0


def test_one_direction_alone_is_balanced_over_itself():
    scores = score_directions([UP] * 4, [UP, UP, UP, DOWN], [True] * 4)
    assert scores["balanced_accuracy"] == scores["accuracy_increase"] == 0.75
    assert scores["accuracy_decrease"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"exact": [True]}, "1 exact flags for 10 answers"),
        ({"clusters": ["a"]}, "1 clusters for 10 answers"),
        ({"by": {"tier": ["low"]}}, "breakdown 'tier' has 1 values for 10 items"),
        ({"by": {"accuracy": GOLD}}, "a breakdown cannot be named 'accuracy'"),
    ],
)
def test_columns_that_do_not_fit_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        score_directions(GOLD, ANSWERS, **{"exact": EXACT} | arguments)


def test_clips_in_which_nothing_changes_are_left_out_and_counted():
    gold, said = ["increase", "decrease"] * 3, ["increase"] * 5 + ["decrease"]
    same = [False, False, False, True, True, False]
    found = score_directions(gold, said, [True] * 6, no_effect=same, by={"half": list("aaabbb")})
    assert (found["n"], found["n_correct"], found["accuracy"]) == (4, 3, 3 / 4)
    assert (found["n_no_effect"], found["n_all"], found["accuracy_all"]) == (2, 6, 4 / 6)
    assert (found["wilson_low"], found["wilson_high"]) == wilson(3, 4)[1:]
    second = found["half"]["b"]
    assert (second["n"], second["accuracy"], second["accuracy_all"]) == (1, 1, 2 / 3)
    with pytest.raises(ValueError, match="1 no-effect flags for 6 answers"):
        score_directions(gold, said, [True] * 6, no_effect=[True])
