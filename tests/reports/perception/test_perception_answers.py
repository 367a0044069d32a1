"""Bias, wordings, formats and calls, worked out by hand from hand-made answers."""

import json
from fractions import Fraction

import pyarrow.parquet as pq
import pytest

from otoscope.acoustics.design import PUBLISHED_CATEGORIES
from otoscope.audits.plans import plan_sha256
from otoscope.audits.runs import RunError
from otoscope.prompts import PROMPTS
from otoscope.reports import report
from otoscope.reports.perception.findings import findings
from otoscope.reports.perception.reading import read_perception
from otoscope.reports.tables import per_cent
from tests.reports.perception.test_perception_scores import only
from tests.reports.perception.tiny_runs import answer_line, eight_and_four, row, write_run


def found_in(tmp_path, *runs):
    return findings(
        read_perception([write_run(tmp_path / f"run{i}", q) for i, q in enumerate(runs)])
    )


@pytest.mark.parametrize("name", ["category", "labels"])
def test_a_plan_without_a_column_of_perception_is_named(tmp_path, name):
    run = write_run(tmp_path / "run", [(row(), "increase")])
    plan = pq.read_table(run / "plan.parquet").drop_columns(name)
    pq.write_table(plan, run / "plan.parquet")
    with pytest.raises(RunError, match=rf"run/plan\.parquet: .*there is no column {name}"):
        read_perception([run])
    about = json.loads((run / "run.json").read_text())
    del about["columns"][name]
    about["plan_sha256"] = plan_sha256(plan.to_pylist(), sorted(about["columns"]))
    (run / "run.json").write_text(json.dumps(about))
    with pytest.raises(RunError, match=rf"run: its plan\.parquet has no {name}"):
        read_perception([run])


def test_bias_is_shown_on_rising_falling_and_unchanged_clips(tmp_path):
    answered = [
        (row(direction="up", clip="a"), "increase"),
        (row(direction="up", clip="b"), "decrease"),
        (row(direction="down", clip="a"), "Increase."),
        (row(direction="down", clip="b"), "hm"),
        *((row("source_bias@volume", "source", None, clip=c), "increase") for c in "abc"),
        (row("source_bias@volume", "source", None, clip="d"), "decrease"),
        (row("source_bias@echo", "source", None, clip="a"), None),
    ]
    found = found_in(tmp_path, answered)
    shares = {
        r["clips"]: r for r in found.tables["prediction_rates"].rows if r["category"] == "volume"
    }
    assert shares["rising"]["increase_share"] == 1 / 2
    assert shares["falling"]["increase_share"] == 1  # of the one that was parsed
    assert shares["falling"]["neither"] == 1 / 2
    assert (shares["unchanged"]["n"], shares["unchanged"]["increase"]) == (4, 3 / 4)
    silent = only(found, "prediction_rates", category="echo")
    assert (silent["clips"], silent["neither"], silent["increase_share"]) == (
        "unchanged", 1, None,
    )  # fmt: skip
    # unchanged clips have no right answer, so they are in no accuracy
    assert only(found, "accuracy_by_category", category="all")["n"] == 4


def test_bias_on_unchanged_clips_alone_has_mean_and_extremes(tmp_path):
    answers = {"volume": ["increase"] * 3 + ["decrease"], "echo": ["decrease", "hm"]}
    asked = [
        (row(f"source_bias@{attribute}", "source", None, clip=str(i)), text)
        for attribute, texts in answers.items()
        for i, text in enumerate(texts)
    ]
    found = found_in(tmp_path, asked)
    (rates,) = found.tables["increase_rates"].rows
    assert rates["clips"] == "unchanged"
    assert rates["average"] == Fraction(3, 8)  # of 3/4 and 0, each with the same weight
    assert (rates["max"], rates["max_category"]) == (Fraction(3, 4), "volume")
    assert (rates["min"], rates["min_category"]) == (0, "echo")
    assert only(found, "prediction_rates", category="volume")["increase"] == 3 / 4
    page = report([tmp_path / "run0"], tmp_path / "report").read_text()
    assert "tables/increase_rates.csv" in page
    assert "tables/prediction_rates.csv" in page


def test_published_bias_stands_below_that_of_all_nine_categories(tmp_path):
    asked = [(row(category=category), "increase") for category in PUBLISHED_CATEGORIES]
    found = found_in(tmp_path / "nine", asked)
    gemini = only(found, "increase_rates", run="gemini-3-flash")
    printed = [per_cent(gemini[name]) for name in ("average", "max", "min")]
    assert printed == ["45.8", "85.7", "2.1"]  # as in the paper
    assert (gemini["max_category"], gemini["min_category"]) == ("audio_distortion", "echo")
    assert len(found_in(tmp_path / "one", asked[:1]).tables["increase_rates"].rows) == 1


@pytest.mark.parametrize("name", ["change", "ternary"])
def test_predictions_of_a_format_by_rising_falling_and_unchanged_clips(tmp_path, name):
    first, second = PROMPTS[name].labels[:2]
    kinds = {"rising": "up", "falling": "down", "unchanged": None}
    texts = {"rising": [first, first, "hm"], "falling": [second, first], "unchanged": [second]}
    asked = [
        (
            row(f"{name}@volume", "source", None, clip=str(i))
            if kinds[kind] is None
            else row(name, direction=kinds[kind], clip=str(i)),
            text,
        )
        for kind, own in texts.items()
        for i, text in enumerate(own)
    ]
    found = found_in(tmp_path, asked)
    shares = {
        r["clips"]: (r["n"], r[first], r[second], r["neither"])
        for r in found.tables[f"predictions_{name}"].rows
        if r["category"] == "volume"
    }
    assert shares == {
        "rising": (3, 2 / 3, 0, 1 / 3),
        "falling": (2, 1 / 2, 1 / 2, 0),
        "unchanged": (1, 0, 1, 0),
    }


def test_prompts_are_compared_where_there_are_several(tmp_path):
    assert found_in(tmp_path / "one", eight_and_four()).tables.get("accuracy_by_prompt") is None
    answered = [
        (row(direction="up"), "increase"),
        (row("swap_order", direction="up"), "decrease"),
        (row("rise_fall", direction="up"), "it is rising"),
        (row("tone_rise_fall", "voice_pitch", direction="down"), "rise"),
    ]
    found = found_in(tmp_path / "four", answered)
    right = {r["prompt"]: r["accuracy"] for r in found.tables["accuracy_by_prompt"].rows}
    assert right == {"main": 1, "swap_order": 0, "rise_fall": 1, "tone_rise_fall": 0}
    cells = {r["prompt"]: r for r in found.tables["accuracy_by_prompt_and_category"].rows}
    assert cells["rise_fall"]["voice_pitch"] is None
    assert cells["rise_fall"]["average"] is None  # not over all the columns
    increase = {r["prompt"]: r for r in found.tables["increase_by_prompt_and_category"].rows}
    assert increase["swap_order"]["volume"] == 0
    # tables by category are about main alone
    assert only(found, "accuracy_by_category", category="all")["n"] == 1


def test_runs_are_shown_by_a_prompt_of_all_of_them(tmp_path):
    first = [(row("swap_order"), "increase"), (row("audio_ref"), "increase")]
    second = [(row("audio_ref"), "decrease")]
    found = found_in(tmp_path / "shared", first, second)
    assert found.prompts == {"run0": "audio_ref", "run1": "audio_ref"}
    found = found_in(tmp_path / "apart", first, [(row("few_shot"), "increase")])
    assert found.prompts == {"run0": "swap_order", "run1": "few_shot"}
    both = [(row("swap_order"), ""), (row(), "")]
    assert found_in(tmp_path / "main", both, both).prompts == {"run0": "main", "run1": "main"}
    assert found_in(tmp_path / "one", both, both[1:]).prompts == {"run0": "main", "run1": "main"}


def test_cross_attribute_rows_are_clips_and_columns_questions(tmp_path):
    answered = [
        (row(direction="up"), "increase"),
        (row("main@echo", direction="up"), "decrease"),
        (row("main@echo", direction="down"), "decrease"),
        (row(category="echo", direction="up"), "decrease"),
        (row("main@volume", "echo", "up"), "increase"),
    ]
    found = found_in(tmp_path, answered)
    volume = only(found, "cross_attribute_1", category="volume")
    assert (volume["volume"], volume["echo"]) == (1, 1 / 2)
    echo = only(found, "cross_attribute_1", category="echo")
    assert (echo["echo"], echo["volume"]) == (0, 1)
    assert only(found, "accuracy_by_category", category="volume")["n"] == 1


@pytest.mark.parametrize(
    ("name", "sizes", "constant", "uniform"),
    [
        ("ternary", {"up": 12, "down": 12, None: 1}, 0.2162, 0.2862),
        ("change", {"up": 12, "down": 12, None: 1}, 0.4898, 0.3658),
    ],
)
def test_formats_stand_beside_what_their_class_sizes_imply(
    tmp_path, name, sizes, constant, uniform
):
    answered = [
        (question, question["label"])
        for direction, n in sizes.items()
        for i in range(n)
        for question in [
            row(name, direction=direction, clip=str(i))
            if direction
            else row(f"{name}@volume", "source", None, clip=str(i))
        ]
    ]
    cell = only(found_in(tmp_path, answered), f"format_{name}", category="volume")
    assert cell["n"] == 25
    assert cell["macro_f1"] == 1
    assert (cell["best_constant"], cell["uniform_guess"]) == pytest.approx(
        (constant, uniform), abs=1e-4
    )


def test_unread_answers_are_counted_by_rule_and_failed_calls_are_not_among_them(tmp_path):
    answered = [
        *eight_and_four(),
        (row(clip="x"), "first it increases, then it decreases"),
        (row(clip="y"), " "),
    ]
    cell = only(found_in(tmp_path, answered), "unparsed", category="volume")
    assert (cell["n"], cell["n_unparsed"]) == (10, 3)
    assert {key: value for key, value in cell.items() if key.startswith("rule")} == {
        "rule: no word": 1, "rule: both directions": 1, "rule: empty": 1,
    }  # fmt: skip


def test_calls_by_status_and_flag(tmp_path):
    answered = [
        *eight_and_four(),
        (row(clip="x"), answer_line("increase", audio_truncated=True, first_text="hm", cost=0.5)),
        (
            row(clip="y"),
            answer_line("increase", text_truncated=True, cost=0.25, first_text="decrease"),
        ),
        (row(clip="z"), answer_line(None, "timeout")),
    ]
    found = found_in(tmp_path, answered)
    (calls,) = found.tables["calls"].rows
    expected = {
        "n": 15, "ok": 11, "refused": 1, "filtered": 0, "error": 1, "timeout": 1, "unanswered": 1,
        "audio_truncated": 1, "text_truncated": 1, "retried_on_parse_failure": 1, "cost": 0.75,
    }  # fmt: skip
    assert {key: calls[key] for key in expected} == expected
    assert only(found, "errors", status="error")["detail"] == "HTTP 500"


def test_two_runs_stand_side_by_side_in_the_given_order(tmp_path):
    runs = [write_run(tmp_path / name / "run", eight_and_four()) for name in "ba"]
    found = findings(read_perception(runs))
    assert [run.name for run in found.runs] == ["run", "run (2)"]
    cells = found.tables["accuracy_by_category"].rows
    assert [(r["category"], r["run"]) for r in cells] == [
        (category, run) for category in ("all", "echo", "volume") for run in ("run", "run (2)")
    ]
