"""The published dataset and the published answers, as they are, by command."""

import csv
import json

import pytest
from typer.testing import CliRunner

from otoscope.audits.runs import load_run
from otoscope.cli import app
from tests.audits.published_layout import write_answers, write_dataset

UP_DOWN = ["increase", "decrease"]
TEXTS = {"volume": UP_DOWN * 5 + ["Decreasing.", "increase"], "echo": ["Increase."] * 12}
"""Volume: ten right, one unparsed, one wrong. Echo: half of it is right."""


@pytest.fixture
def published(tmp_path):
    write_dataset(tmp_path / "data")
    write_answers(tmp_path / "raw", TEXTS)
    return tmp_path


def call(folder, *arguments, model="replay:raw/default/*/kimia.jsonl"):
    kind, _, name = model.partition(":raw")
    model = f"{kind}:{folder}/raw{name}" if name else model
    fixed = ("--dataset", folder / "data", "--model", model, "--out", folder / "run")
    every = map(str, ("run", "perception", *fixed, *arguments))
    return CliRunner().invoke(app, list(every), env={"COLUMNS": "300"})


def change(folder, category, index, cells):
    """Changes one row of a file of answers; without cells, takes it out."""
    path = folder / "raw" / "default" / category / "kimia.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[index : index + 1] = [rows[index] | cells] if cells else []
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_every_clip_is_in_the_run_with_its_cluster(published):
    done = call(published)
    assert done.exit_code == 0, done.output
    assert "24 of 24 questions answered" in done.output
    run = load_run(published / "run")
    assert run[0]["question_id"] == "test-volume-p226_01__p226_106__linear__low__up|main"
    assert set(run["source_id"]) == {"p226_106", "p226_011", "p230_003"}
    assert {row["tier"] for row in run} == {"low", "high"}
    assert [row["text"] for row in run] == TEXTS["volume"] + TEXTS["echo"]


@pytest.mark.slow
def test_answers_are_scored_with_intervals_clustered_by_source(published):
    assert call(published).exit_code == 0
    assert CliRunner().invoke(app, ["report", str(published / "run")]).exit_code == 0
    table = published / "run" / "report" / "tables" / "accuracy_by_category.csv"
    with table.open(newline="") as file:
        found = {row["category"]: row for row in csv.DictReader(file)}
    # 10 of 12 and 6 of 12: an answer that is not parsed is wrong
    accuracy = {name: float(found[name]["accuracy"]) for name in found}
    assert accuracy == pytest.approx({"all": 16 / 24, "volume": 10 / 12, "echo": 0.5})
    assert {row["n_clusters"] for row in found.values()} == {"3"}


def test_a_category_stands_for_a_config(published):
    done = call(published, "--config", "echo", "--prompt", "own", model="constant:increase")
    assert done.exit_code == 0, done.output
    run = load_run(published / "run")
    assert set(run["category"]) == {"echo"}
    assert run[0]["prompt"].startswith("Does the echo increase or decrease over time? Answer")
    done = call(published, "--config", "ecko", model="constant:increase")
    assert done.exit_code == 2
    assert "no config or category 'ecko'; there are 'echo', 'volume'" in done.output


FOURTH = "test-echo-p226_01__p226_106__linear__high__down"


@pytest.mark.parametrize(
    ("index", "cells", "complaint"),
    [
        (3, {}, f"no saved answer to 1 of 24 questions: '{FOURTH}|main'"),
        (
            3,
            {"gold_label": "increase"},
            f"line 4: gold_label is 'increase', and the dataset says 'decrease' of '{FOURTH}'",
        ),
        (0, {"prompt": "Is it loud?"}, "kimia.jsonl, line 1: answers the prompt 'Is it loud?'"),
        (0, {"category": "volume"}, "no saved answer to 1 of 24 questions"),
        (0, {"benchmark_clip_id": "x"}, "no saved answer to 1 of 24 questions"),
    ],
)
def test_a_mismatch_is_named(published, index, cells, complaint):
    change(published, "echo", index, cells)
    done = call(published)
    assert done.exit_code == 2, done.output
    assert complaint in done.output
    assert "Traceback" not in done.output
    assert not (published / "run" / "run.json").exists()


def test_answers_of_other_categories_do_not_matter(published):
    change(published, "echo", 0, {"benchmark_clip_id": "x"})
    assert call(published, "--config", "volume").exit_code == 0


def test_answers_to_clips_that_are_not_there_are_named(published):
    path = published / "raw" / "default" / "echo" / "kimia.jsonl"
    extra = json.loads(path.read_text().splitlines()[0]) | {"benchmark_clip_id": "p9__x"}
    with path.open("a") as file:
        file.write(json.dumps(extra) + "\n")
    done = call(published)
    assert done.exit_code == 2
    assert "the dataset lacks the clips of 1 saved answers: 'p9__x|echo'" in done.output
    assert call(published, "--limit-sources", 1).exit_code == 0


def test_a_published_prompt_of_another_name(published):
    done = call(published, "--prompt", "audio_ref")
    assert done.exit_code == 2
    assert "choose its --prompt" in done.output
