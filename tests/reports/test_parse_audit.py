"""Raw answers of a run, tabulated."""

import csv
import io

import pytest

from otoscope.audits.runs import RunError
from otoscope.models.base import Answer, Status
from otoscope.reports import report
from otoscope.reports.parse_audit import audit_run
from otoscope.reports.show import show
from tests.reports.written_runs import question, write_run

ANSWERS = [
    ("increase", "paper"),
    ("increase", "paper"),
    ("It does not increase.", "paper"),
    ("It is increasing.", "paper"),
    (Answer("The sound gets", text_truncated=True), "paper"),
    ("I'm sorry, I cannot hear audio.", "paper"),
    ("rising", "paraphrase"),
    (Answer(None, Status.TIMEOUT), "paper"),
    (Answer("increase", Status.FILTERED), "paper"),
    (None, "paper"),
]


@pytest.fixture
def run(tmp_path):
    rows = [question(f"c{i}", parser=parser) for i, (_, parser) in enumerate(ANSWERS)]
    answers = [(f"c{i}|main", answer) for i, (answer, _) in enumerate(ANSWERS)]
    return write_run(tmp_path / "run", rows, answers)


def test_every_question_is_counted_once(run):
    found = audit_run(run)
    paper, paraphrase = found.by_parser["paper"], found.by_parser["paraphrase"]
    assert paper.by_rule == {"one direction": 3, "both directions": 0, "no word": 3, "empty": 0}
    assert paper.by_shape["truncated"] == 1
    assert (paper.marks["blind"], paper.marks["refusing"]) == (2, 1)
    assert paraphrase.by_rule["one direction"] == 1
    assert found.not_parsed == {
        ("filtered", "increase"): 1, ("timeout", None): 1, ("unanswered", None): 1
    }  # fmt: skip
    assert sum(row["n"] for row in found.rows()) == found.n_planned == len(ANSWERS)


def test_one_parser_for_all(run):
    found = audit_run(run, parser="paraphrase")
    assert list(found.by_parser) == ["paraphrase"]
    assert found.by_parser["paraphrase"].by_rule["one direction"] == 5
    with pytest.raises(LookupError, match="did you mean 'strict'"):
        audit_run(run, parser="strct")


def test_a_question_without_a_parser_is_not_parsed(tmp_path):
    written = write_run(tmp_path, [question("a", parser="")], [("a|main", "Up it goes")])
    found = audit_run(written)
    assert (found.by_parser, found.not_parsed) == ({}, {("ok", "Up it goes"): 1})
    assert set(audit_run(written, parser="paper").by_parser) == {"paper"}
    assert "unscored: no prediction (parser none)" in show(written, "a").text()


def test_csv_holds_texts_without_what_steers_a_terminal(tmp_path):
    text = 'up,\n"\x1b[31m increase'
    run = write_run(tmp_path / "r", [question("x")], [("x|main", text)])
    (row,) = csv.DictReader(io.StringIO(audit_run(run).to_csv(), newline=""))
    assert row["text"] == 'up,\n"\\x1b[31m increase'
    assert (row["parser"], row["rule"], row["label"], row["n"]) == (
        "paper", "one direction", "increase", "1",
    )  # fmt: skip


def test_a_run_without_answers(tmp_path):
    run = write_run(tmp_path / "r", [question("x")])
    found = audit_run(run)
    assert (found.by_parser, found.not_parsed) == ({}, {("unanswered", None): 1})
    assert audit_run(run, parser="paper").by_parser["paper"].n == 0


def test_no_run(tmp_path):
    with pytest.raises(RunError, match="not a run"):
        audit_run(tmp_path)


def test_what_scores_rest_on_is_a_warning_in_the_report(tmp_path):
    answers = [*["It does not increase."] * 3, "It is increasing.", "increase", "decrease"]
    rows = [question(f"c{i}") for i in range(len(answers))]
    run = write_run(tmp_path / "run", rows, [(f"c{i}|main", a) for i, a in enumerate(answers)])
    page = report([run])
    for text in (page.read_text(), page.with_name("report.md").read_text()):
        assert "4 of 6 parsed answers may be misread by their rule (3: a label was taken" in text
    plain = write_run(tmp_path / "plain", rows[:1], [("c0|main", "increase")])
    assert "misread" not in report([plain]).read_text()
