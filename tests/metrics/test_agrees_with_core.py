"""Every argument of a metric reaches the core, and the core's numbers come back."""

import datasets
import numpy as np

from otoscope.responses.reading import read_answers
from otoscope.statistics.direction import score_directions
from otoscope.statistics.macro_f1 import score_macro_f1
from otoscope.statistics.parsing import score_parsing
from otoscope.statistics.policy_pair import score_policy_pair

TEXTS = [
    "Rise",
    "rising",
    "It falls.",
    "increase",
    None,
    "faster or slower",
    "Decrease",
    "constant",
]
GOLD = [
    "increase",
    "increase",
    "increase",
    "decrease",
    "decrease",
    "increase",
    "decrease",
    "decrease",
]
CLUSTERS = ["p1", "p1", "p2", "p2", "p3", "p3", "p3", "p3"]
NO_EFFECT = [True] + 6 * [False] + [True]
BY = {"tier": ["low", "mid"] * 4, "row": list(range(8))}


def test_direction_accuracy(load_metric):
    read = read_answers(TEXTS, "paraphrase")
    found = load_metric("direction_accuracy").compute(
        predictions=TEXTS, references=GOLD, parser="paraphrase", clusters=CLUSTERS, by=BY,
        no_effect=NO_EFFECT,
    )  # fmt: skip
    assert found == score_directions(
        GOLD, read.labels, read.exact, clusters=CLUSTERS, no_effect=NO_EFFECT, by=BY
    )
    assert (found["n_correct"], found["n_no_effect"], found["accuracy_all"]) == (2, 2, 3 / 8)
    assert {
        "accuracy", "wilson_low", "wilson_high", "parsed_rate", "exact_rate", "increase_share",
        "balanced_accuracy", "simulation_low", "simulation_high", "clustered_low", "clustered_high",
    } <= found.keys()  # fmt: skip


def test_macro_f1(load_metric):
    labels = ["decrease", "increase", "constant"]
    gold = [*GOLD[:-1], "constant"]
    read = read_answers(TEXTS, "ternary")
    found = load_metric("macro_f1").compute(
        predictions=TEXTS, references=gold, parser="ternary", labels=labels,
        clusters=CLUSTERS, by=BY,
    )  # fmt: skip
    assert found == score_macro_f1(gold, read.labels, labels, clusters=CLUSTERS, by=BY)
    assert found != score_macro_f1(gold, read.labels, labels, by=BY)


def test_answer_parsing(load_metric):
    read = read_answers(TEXTS, "paraphrase")
    found = load_metric("answer_parsing").compute(predictions=TEXTS, parser="paraphrase", by=BY)
    assert found == score_parsing(read.labels, read.rules, read.exact, by=BY)


def test_call_value(load_metric):
    labels = ["decrease", "increase"]
    baselines, called = GOLD[::-1], [True, False] * 4
    options = {"labels": labels, "clusters": CLUSTERS, "called": called, "cost": [0.5] * 8}
    found = load_metric("call_value").compute(
        predictions=TEXTS, baselines=baselines, references=GOLD, margin=0.1, by=BY, **options
    )
    assert found == score_policy_pair(GOLD, TEXTS, baselines, margin=0.1, by=BY, **options)
    assert {
        "difference", "difference_low", "difference_high", "only_policy_correct",
        "only_baseline_correct", "mcnemar_p",
    } <= found.keys()  # fmt: skip
    assert (found["n_calls"], found["call_cost"]) == (4, 2.0)
    numbers = load_metric("call_value").compute(
        predictions=[labels.index(name) for name in GOLD],
        baselines=[labels.index(name) for name in baselines],
        references=[labels.index(name) for name in GOLD],
        labels=labels,
    )
    assert (numbers["accuracy"], numbers["n_parsed"]) == (1.0, 8)


def test_columns_of_a_data_set_go_in_as_they_are(load_metric):
    features = datasets.Features(
        {
            "label": datasets.ClassLabel(names=["decrease", "increase"]),
            "text": datasets.Value("string"),
            "source_id": datasets.Value("string"),
            "row": datasets.Value("int64"),
        }
    )
    numbers = [["decrease", "increase"].index(name) for name in GOLD]
    rows = datasets.Dataset.from_dict(
        {"label": numbers, "text": TEXTS, "source_id": CLUSTERS, "row": range(8)}, features=features
    )
    metric = load_metric("direction_accuracy")
    whole = metric.compute(
        predictions=rows["text"], references=rows["label"], clusters=rows["source_id"],
        by={"row": rows["row"]},
    )  # fmt: skip
    assert whole == metric.compute(
        predictions=TEXTS, references=GOLD, clusters=CLUSTERS, by={"row": BY["row"]}
    )
    arrays = metric.compute(
        predictions=TEXTS, references=np.array(numbers), clusters=np.array(CLUSTERS),
        by={"row": np.arange(8)},
    )  # fmt: skip
    assert arrays == whole
