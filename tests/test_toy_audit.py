"""What a new audit takes: a plan, its line in AUDITS, a report and its line in REPORTS."""

from pathlib import Path

import pyarrow as pa
import pytest

from otoscope.audits import AUDITS, Audit, Plan, load_run, open_audit
from otoscope.audits.items import open_items
from otoscope.audits.plans import LABEL_COLUMNS
from otoscope.prompts.parts import Clip, Question, Text
from otoscope.reports import REPORTS, report
from otoscope.reports.compare import compare
from otoscope.reports.scoring import score_runs
from otoscope.reports.tables import ReportTable, TableColumn
from otoscope.reports.writing import write_report
from otoscope.responses import PARSERS
from otoscope.responses.words import first_word
from tests.audits.tiny_dataset import in_memory, rows

# --- the toy begins -------------------------------------------------------------------------
ANIMALS = ("dog", "cat", "cow")


def plan(dataset, *, split="test"):
    """Which animal is it? About a clip, about two clips, and from the text alone."""
    items = open_items(dataset, split=split)
    names = [row["id"] for row in items.rows]
    parts = {
        "one": lambda i: (Text("Which animal?"), Clip(names[i])),
        "two": lambda i: (Clip(names[i]), Text("Which animal is in both?"), Clip(names[i - 1])),
        "none": lambda i: (Text("You are a vet.", role="system"), Text("Which animal says moo?")),
    }
    questions = [
        Question(
            f"{name}|{kind}", name, kind, made(i), ANIMALS, ANIMALS[i % 3], "animal",
            columns={"n_legs": 4},
        )
        for i, name in enumerate(names)
        for kind, made in parts.items()
    ]  # fmt: skip
    return Plan(questions, items, columns={**LABEL_COLUMNS, "n_legs": pa.int64()})


TOY = Audit("animals", plan)


def toy_report(runs, out=None, *, dataset=None):
    """Accuracy by kind of question."""
    scored = score_runs(runs, "animals")
    records = tuple(
        {"run": run.name, "kind": kind, "accuracy": float((own["outcome"] == "correct").mean())}
        for run in scored
        for kind, own in run.answers.groupby("prompt_name")
    )
    columns = (TableColumn("run", "run", "run"), TableColumn("kind", "question"),
               TableColumn("accuracy", "accuracy, %", "share"))  # fmt: skip
    return write_report(
        Path(out or Path(runs[0]) / "report"), [ReportTable("scores", "Scores", columns, records)],
        heading="Animals", facts=[run.name for run in scored], template="runs.html.jinja",
        values={"lead": "Which animal is it?", "runs": scored, "models": dict.fromkeys(
            [run.name for run in scored], "a model")},
    )  # fmt: skip


# --- the toy ends ---------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def added(monkeypatch):
    monkeypatch.setitem(AUDITS, "animals", f"{__name__}:TOY")
    monkeypatch.setitem(REPORTS, "animals", f"{__name__}:toy_report")
    monkeypatch.setitem(PARSERS, "animal", first_word({name: name for name in ANIMALS}))


def test_it_fits_in_sixty_lines():
    text = Path(__file__).read_text(encoding="utf-8")
    toy = text.partition("the toy begins")[2].partition("the toy ends")[0]
    assert len(toy.splitlines()) < 60


def test_it_is_planned_run_compared_and_reported(tmp_path):
    data = in_memory(rows(6))
    for name in ("dog", "cow"):
        open_audit("animals").run(data, f"constant:{name}", out=tmp_path / name)

    answers = load_run(tmp_path / "dog")
    assert len(answers) == 18
    assert [len(ids) for ids in answers["audio_ids"][:3]] == [1, 2, 0]
    assert set(answers["n_legs"]) == {4}
    (run,) = score_runs([tmp_path / "dog"])
    assert (run.answers["outcome"] == "correct").mean() == pytest.approx(1 / 3)  # 2 dogs of 6

    page = report([tmp_path / "dog", tmp_path / "cow"], tmp_path / "report")
    assert "Which animal is it?" in page.read_text(encoding="utf-8")
    table = (tmp_path / "report" / "tables" / "scores.csv").read_text(encoding="utf-8")
    assert table.splitlines()[1].startswith("dog,none,0.333333")
    compared = compare(tmp_path / "dog", tmp_path / "cow")
    assert (compared.n_compared, compared.n_without_label) == (18, 0)


def test_it_goes_on_where_it_stopped_and_knows_another_run(tmp_path):
    data = in_memory(rows(6))
    first = TOY.run(data, "constant:dog", out=tmp_path)
    again = TOY.run(data, "constant:dog", out=tmp_path)
    assert (first.n_answered, again.n_answered) == (18, 0)
    with pytest.raises(Exception, match="holds another run"):
        TOY.run(in_memory(rows(5)), "constant:dog", out=tmp_path)
