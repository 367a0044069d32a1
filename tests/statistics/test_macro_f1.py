"""Macro F1 against scikit-learn, and what guessing gets against counts and against draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from otoscope.statistics.labels import confusion, index_answers
from otoscope.statistics.macro_f1 import guessing_macro_f1, macro_f1, score_macro_f1

TERNARY = ["decrease", "increase", "constant"]
TERNARY_GOLD = ["increase"] * 1200 + ["decrease"] * 1200 + ["constant"] * 100
YES_NO_GOLD = ["yes"] * 2400 + ["no"] * 100
LABEL = st.sampled_from(TERNARY)
RUNS = st.lists(st.tuples(LABEL, st.one_of(LABEL, st.none())), min_size=1, max_size=40)


@settings(max_examples=100)
@given(RUNS)
def test_agrees_with_scikit_learn_over_the_labels_that_occur(run):
    gold, answers = (list(column) for column in zip(*run, strict=True))
    answered = ["unparsed" if answer is None else answer for answer in answers]
    expected = f1_score(gold, answered, labels=sorted(set(gold)), average="macro", zero_division=0)
    scores = score_macro_f1(gold, answers, TERNARY)
    assert scores["macro_f1"] == pytest.approx(expected)
    assert scores["macro_f1_low"] <= scores["macro_f1"] <= scores["macro_f1_high"]


def test_an_unparsed_answer_is_a_miss_of_its_label():
    # increase: P 1/1, R 1/2 → F1 2/3; decrease: all right
    scores = score_macro_f1(
        ["increase", "increase", "decrease"], ["increase", None, "decrease"], TERNARY
    )
    assert scores["f1_increase"] == pytest.approx(2 / 3)
    assert scores["f1_decrease"] == 1
    assert scores["f1_constant"] is None
    assert scores["macro_f1"] == pytest.approx((2 / 3 + 1) / 2)


@pytest.mark.parametrize(
    ("gold", "labels", "answer", "constant", "uniform"),
    [
        (TERNARY_GOLD, TERNARY, "increase", "21.6", "28.6"),
        (YES_NO_GOLD, ["no", "yes"], "yes", "49.0", "36.6"),
    ],
    ids=["ternary", "yes or no"],
)
def test_references_are_those_of_the_class_sizes(gold, labels, answer, constant, uniform):
    scores = score_macro_f1(gold, [answer] * len(gold), labels)
    assert f"{100 * scores['macro_f1']:.1f}" == constant
    assert scores["best_constant"] == pytest.approx(scores["macro_f1"])
    assert f"{100 * scores['uniform_guess']:.1f}" == uniform
    assert scores["proportional_guess"] == pytest.approx(1 / len(labels))


@pytest.mark.parametrize("strategy", ["uniform", "proportional"])
def test_guessing_scores_as_computed_on_average(strategy):
    rng = np.random.default_rng(0)
    sizes = {"decrease": 1200, "increase": 1200, "constant": 100}
    share = np.array([1 / 3] * 3 if strategy == "uniform" else [0.48, 0.48, 0.04])
    found = []
    for _ in range(200):
        rows = np.array([rng.multinomial(n, share) for n in sizes.values()])
        found.append(float(macro_f1(np.pad(rows, ((0, 0), (0, 2))))))
    assert getattr(guessing_macro_f1(sizes), strategy) == pytest.approx(np.mean(found), abs=0.002)


@settings(max_examples=100)
@given(
    st.lists(st.integers(0, 500), min_size=2, max_size=5).filter(any),
    st.lists(st.floats(0.001, 1), min_size=5, max_size=5),
)
def test_no_blind_strategy_beats_the_proportional_one(sizes, weights):
    true = np.array(sizes) / sum(sizes)
    answered = np.array(weights[: len(sizes)]) / sum(weights[: len(sizes)])
    occurs = true > 0
    other = np.mean((2 * true * answered / (true + answered))[occurs])
    guessing = guessing_macro_f1({str(i): size for i, size in enumerate(sizes)})
    assert guessing.proportional == pytest.approx(1 / occurs.sum())
    assert (
        max(other, guessing.uniform, *guessing.constant.values()) <= guessing.proportional + 1e-12
    )


def test_clusters_widen_the_interval_when_clusters_differ():
    gold = (["increase", "decrease"] * 200)[:400]
    hears = np.arange(40).repeat(10) % 2 == 0
    answers = [g if h else "increase" for g, h in zip(gold, hears, strict=True)]
    single = score_macro_f1(gold, answers, TERNARY)
    whole = score_macro_f1(gold, answers, TERNARY, clusters=np.arange(40).repeat(10).tolist())

    def width(scores):
        return scores["macro_f1_high"] - scores["macro_f1_low"]

    assert width(whole) > 1.3 * width(single)


def test_no_questions_no_result():
    scores = score_macro_f1([], [], TERNARY)
    assert scores["n"] == 0
    assert {name for name, value in scores.items() if value is not None} == {"n", "n_parsed"}


def test_nothing_parsed_is_zero():
    scores = score_macro_f1(TERNARY, [None] * 3, TERNARY)
    assert scores["macro_f1"] == scores["macro_f1_high"] == scores["parsed_rate"] == 0


def test_a_label_nobody_listed_is_named_and_an_answer_nobody_listed_is_wrong():
    with pytest.raises(ValueError, match="reference 0 is 'constant', which is none of"):
        score_macro_f1(["constant"], ["constant"], ["decrease", "increase"])
    indexed = index_answers(["increase"], ["constant"], ["decrease", "increase"])
    assert float(macro_f1(confusion(indexed))) == 0


def test_clusters_of_another_length_are_named():
    with pytest.raises(ValueError, match="1 clusters for 3 answers"):
        score_macro_f1(TERNARY, TERNARY, TERNARY, clusters=["a"])
