"""The one rule by which runs of every audit are scored."""

import pytest

from otoscope.audits.runs import RunError
from otoscope.reports.scoring import OUTCOMES, score, score_runs
from tests.reports.written_runs import question, write_run


def scored(**columns):
    row = {"status": "ok", "text": "increase", "label": "increase", "parser": "paper"} | columns
    (found,) = score({name: [value] for name, value in row.items()}).to_dict("records")
    return found["prediction"], found["outcome"], found["rule"]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, ("increase", "correct", "one direction")),
        ({"label": "decrease"}, ("increase", "wrong", "one direction")),
        ({"label": None}, ("increase", "unscored", "one direction")),
        ({"text": "Hm."}, (None, "unparsed", "no word")),
        ({"text": "Hm.", "label": None}, (None, "unparsed", "no word")),
        ({"text": None}, (None, "unparsed", "empty")),
        ({"text": "rise"}, (None, "unparsed", "no word")),
        ({"text": "rise", "parser": "paraphrase"}, ("increase", "correct", "one direction")),
        ({"parser": None}, ("increase", "correct", "one direction")),
        ({"parser": ""}, (None, "unscored", None)),
        ({"parser": "", "label": None}, (None, "unscored", None)),
        ({"parser": "", "status": "refused"}, (None, "refused", None)),
        ({"text": "(C)", "label": "C", "parser": "option_letter"}, ("C", "correct", "only letter")),
        ({"status": "refused"}, (None, "refused", None)),
        ({"status": "filtered"}, (None, "filtered", None)),
        ({"status": "timeout", "text": None}, (None, "failed", None)),
        ({"status": "error", "text": "increase"}, (None, "failed", None)),
        ({"status": None, "text": None}, (None, "unanswered", None)),
    ],
)
def test_every_way_an_answer_can_be(columns, expected):
    assert scored(**columns) == expected
    assert expected[1] in (*OUTCOMES, "unscored")


def test_a_plan_without_labels_and_categories_is_scored():
    found = score({"status": ["ok", None], "text": ["increase", None], "parser": ["paper"] * 2})
    assert found["outcome"].tolist() == ["unscored", "unanswered"]
    assert found[["label", "labels", "category", "source_id"]].isna().all(axis=None)


def test_only_the_bare_word_is_exact():
    columns = {"status": ["ok"] * 2, "label": ["increase"] * 2, "parser": ["paper"] * 2}
    found = score(columns | {"text": ["Increase", "It increases."]})
    assert found["exact"].tolist() == [True, False]


def test_an_unknown_parser_is_an_error():
    with pytest.raises(LookupError, match="did you mean 'paper'"):
        scored(parser="papr")


def test_runs_of_one_name_are_numbered_and_another_audit_is_an_error(tmp_path):
    folders = [write_run(tmp_path / name / "run", [question("x")]) for name in "abc"]
    assert [run.name for run in score_runs(folders)] == ["run", "run (2)", "run (3)"]
    assert [run.n_unanswered for run in score_runs(folders)] == [1, 1, 1]
    with pytest.raises(RunError, match="is a run of 'perception', not of 'meld'"):
        score_runs(folders, "meld")
