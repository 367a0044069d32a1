"""The report on MELD, from runs that are written by hand."""

import csv

import pytest

from otoscope.audits.runs import RunError
from otoscope.models.base import Answer, Status
from otoscope.reports.meld import read_meld, report, tables
from tests.reports.written_runs import question, write_run

EMOTIONS = {"D": "joy", "E": "neutral", "F": "sadness"}
GOLD = "EEEEDDFF"
BASE = "EEEDDDEE"
TUNED = "EDDDDDEF"


def meld_run(folder, predicted, gold=GOLD, **about):
    """Two utterances a dialogue; a blank is one that was never answered."""
    rows = [
        question(
            f"dia{n // 2}_utt{n % 2}", prompt="meld", category=EMOTIONS[letter], label=letter,
            labels=list("ABCDEFG"), parser="option_letter", source_id=f"dialogue {n // 2}",
        )
        for n, letter in enumerate(gold)
    ]  # fmt: skip
    answers = [
        (row["question_id"], letter)
        for row, letter in zip(rows, predicted, strict=True)
        if letter != " "
    ]
    return write_run(folder, rows, answers, audit="meld", **about)


@pytest.fixture
def runs(tmp_path):
    tuned = {"model_description": {"adapter": {"name": "volume"}}}
    return [
        meld_run(tmp_path / "base", BASE),
        meld_run(tmp_path / "tuned", TUNED, **tuned),
    ]


def rows_of(runs):
    return {table.name: table.rows for table in tables(read_meld(runs))}


def test_scores_worked_by_hand(runs):
    base, tuned = rows_of(runs)["meld_scores"]
    # base: neutral 3 right of 5 answered and 4 true, F1 6/9; joy 2 of 3 and 2, 4/5; sadness 0
    assert base["macro_f1"] == pytest.approx((6 / 9 + 4 / 5 + 0) / 3)
    # tuned: neutral 1 of 2 and 4, 2/6; joy 2 of 5 and 2, 4/7; sadness 1 of 1 and 2, 2/3
    assert tuned["macro_f1"] == pytest.approx((2 / 6 + 4 / 7 + 2 / 3) / 3)
    # tuned: precision neutral 1/2, joy 2/5, sadness 1/1; recall neutral 1/4, joy 2/2, sadness 1/2
    assert tuned["macro_precision"] == pytest.approx((1 / 2 + 2 / 5 + 1) / 3)
    assert tuned["macro_recall"] == pytest.approx((1 / 4 + 1 + 1 / 2) / 3)
    # base: precision neutral 3/5, joy 2/3, sadness never predicted
    assert base["macro_precision"] == pytest.approx((3 / 5 + 2 / 3 + 0) / 3)
    assert tuned["relative_change"] == pytest.approx(tuned["macro_f1"] / base["macro_f1"] - 1)
    assert tuned["change"] == pytest.approx(tuned["macro_f1"] - base["macro_f1"])
    assert tuned["change_low"] < tuned["change"] < tuned["change_high"]
    assert "change" not in base
    assert (base["accuracy"], tuned["accuracy"]) == (5 / 8, 4 / 8)
    assert base["macro_f1_low"] < base["macro_f1"] < base["macro_f1_high"]
    assert base["n_dialogues"] == 4


def test_precision_recall_and_f1_of_each_emotion(runs):
    rows = {(row["run"], row["emotion"]): row for row in rows_of(runs)["meld_by_emotion"]}
    joy = rows["tuned", "joy"]
    assert (joy["n"], joy["precision"], joy["recall"]) == (2, 2 / 5, 1.0)
    assert rows["base", "fear"]["f1"] == 0.0
    # joy: F1 4/5 before, 4/7 after
    assert joy["relative_change"] == pytest.approx(4 / 7 / (4 / 5) - 1)
    assert rows["tuned", "sadness"]["relative_change"] is None
    assert "relative_change" not in rows["base", "joy"]
    assert len(rows) == 14


def test_what_became_of_the_base_answers(runs):
    rows = {row["row"]: row for row in rows_of(runs)["meld_changes_tuned"]}
    # base predicts neutral five times: at 0, 1, 2, 6, 7, where tuned predicts E, D, D, E, F
    neutral = rows["neutral"]
    assert (neutral["neutral"], neutral["joy"], neutral["sadness"]) == (2, 2, 1)
    assert neutral["all"] == 5
    assert rows["joy"]["joy"] == 3


def test_who_is_taken_for_whom(runs):
    rows = {row["row"]: row for row in rows_of(runs)["meld_confusion_base"]}
    assert (rows["sadness"]["neutral"], rows["sadness"]["sadness"]) == (2, 0)


def test_an_utterance_without_an_answer_is_not_right(tmp_path):
    run = meld_run(tmp_path / "run", "EEE DDFF")
    (scores,) = rows_of([run])["meld_scores"]
    assert scores["n_unanswered"] == 1
    assert scores["accuracy"] == 7 / 8


def test_an_answer_that_failed_is_none(tmp_path):
    run = meld_run(tmp_path / "run", ["E", Answer(None, Status.ERROR)], gold="EE")
    assert read_meld([run])[0].answers["prediction"].tolist() == ["E", None]


def test_runs_about_other_utterances_are_rejected(runs, tmp_path):
    other = meld_run(tmp_path / "other", "EE", gold="EE")
    with pytest.raises(RunError, match="base and other are about different utterances: 6 are in"):
        rows_of([runs[0], other])


def test_a_run_of_another_audit_is_rejected(tmp_path):
    run = write_run(tmp_path / "run", [question("a")], audit="perception")
    with pytest.raises(RunError, match="run of 'perception', not of 'meld'"):
        report([run])


def test_page_markdown_and_csv_say_the_same(runs, tmp_path):
    page = report(runs, tmp_path / "report").read_text()
    markdown = (tmp_path / "report" / "report.md").read_text()
    assert "Predictions of base (row) by predictions of tuned (column)" in page
    assert "Predictions of base (row) by predictions of tuned (column)" in markdown
    assert "tuned + volume" in page
    for text in ("48.9", "52.4"):  # macro F1 of both in per cent
        assert text in page
        assert text in markdown
    with (tmp_path / "report" / "tables" / "meld_scores.csv").open() as file:
        first = next(csv.DictReader(file))
    assert float(first["macro_f1"]) == pytest.approx((6 / 9 + 4 / 5) / 3)
