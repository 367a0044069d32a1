"""Runs of the audit `labels` become the generative actions of an audit of calls."""

import json

import pandas as pd
import pytest

from otoscope.audits.call_value.run_tables import action_of, tables_of_runs
from otoscope.audits.call_value.schema import CallValueError
from otoscope.audits.call_value.tables import read_call_tables
from otoscope.audits.labels import run as run_labels
from otoscope.audits.perception import run as run_perception
from tests.audits.test_labels_audit import folder
from tests.audits.tiny_dataset import rows, write


def encoder_table(path):
    """An encoder's predictions of the folder's examples."""
    table = [
        {
            "example_id": f"{split}-{i}", "action": "probe", "kind": "encoder", "label": "cow",
            "conf": 0.4, "fold": i % 2 if split == "development" else None,
        }
        for split in ("development", "holdout")
        for i in range(6)
    ]  # fmt: skip
    pd.DataFrame(table).to_csv(path, index=False)
    return path


def test_a_run_is_an_action_with_its_prompts(tmp_path):
    data = folder(tmp_path / "data")
    run_labels(data, "constant:hen", out=tmp_path / "r", audio_input_check=False)
    sources = [encoder_table(tmp_path / "e.csv"), *tables_of_runs([str(tmp_path / "r")])]
    tables = read_call_tables(sources, holdout_labels=True)
    calls = tables.predictions[tables.predictions["kind"] == "generative"]
    assert set(calls["action"]) == {"hen"}  # as the model was named
    assert set(calls["prompt_id"]) == {"plain", "letters", "json", "shuffled"}
    assert set(calls["label"]) == {"hen"}
    assert (calls["audio_s"] == 0).all()
    assert tables.examples.loc["holdout-1", "label"] == "hen"
    assert tables.examples.loc["holdout-1", "cluster_id"] == "holdout-0"


def test_a_simulated_endpoint_says_so(tmp_path):
    data = folder(tmp_path / "data")
    run_labels(
        data, "simulated:0.5", out=tmp_path / "r", prompts=["plain"], audio_input_check=False
    )
    sources = [encoder_table(tmp_path / "e.csv"), *tables_of_runs([f"call={tmp_path / 'r'}"])]
    tables = read_call_tables(sources)
    assert set(tables.predictions["action"]) == {"probe", "call (simulated)"}
    calls = tables.predictions[tables.predictions["kind"] == "generative"]
    assert calls["wall_s"].isna().all()


def test_an_answer_that_cannot_be_parsed_has_no_label(tmp_path):
    data = folder(tmp_path / "data")
    run_labels(data, "constant:a hen or a cow", out=tmp_path / "r", audio_input_check=False)
    (answers, _) = tables_of_runs([f"x={tmp_path / 'r'}"])
    assert {row["label"] for row in answers.rows} == {None}
    assert {row["parse_status"] for row in answers.rows} == {"ambiguous"}


def test_what_cannot_be_used(tmp_path):
    write(tmp_path / "volume", {"volume": {"test": rows(4)}})
    run_perception(tmp_path / "volume", "constant:increase", out=tmp_path / "p")
    with pytest.raises(CallValueError, match="is a run of 'perception', not of 'labels'"):
        tables_of_runs([str(tmp_path / "p")])
    data = folder(tmp_path / "data")
    run_labels(data, "constant:hen", out=tmp_path / "r", audio_input_check=False)
    path = tmp_path / "r/answers/rank-000.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    with pytest.raises(CallValueError, match="not finished: 1 of 48 questions have no answer"):
        tables_of_runs([str(tmp_path / "r")])


def test_two_tables_that_disagree_about_a_label(tmp_path):
    data = folder(tmp_path / "data")
    run_labels(data, "constant:hen", out=tmp_path / "r", audio_input_check=False)
    labels = {"example_id": ["holdout-1"], "label": ["cow"], "split": ["holdout"]}
    pd.DataFrame(labels).to_csv(tmp_path / "x.csv", index=False)
    sources = [encoder_table(tmp_path / "e.csv"), *tables_of_runs([str(tmp_path / "r")])]
    with pytest.raises(CallValueError, match=r"label of example 'holdout-1' is 'hen' in .*plan"):
        read_call_tables([*sources, tmp_path / "x.csv"])


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("openai:gpt-audio", "gpt-audio"),
        ("transformers:/models/tiny/@main", "tiny"),
        ("random:3", "3"),
        ("observer", "observer"),
    ],
)
def test_names_of_actions(spec, expected):
    assert action_of(spec) == expected


def test_the_command_takes_runs_and_folders(tmp_path):
    from typer.testing import CliRunner

    from otoscope.cli import app

    data = folder(tmp_path / "data", n=30)
    run_labels(data, "simulated:0.8", out=tmp_path / "r", audio_input_check=False)
    table = [
        {
            "example_id": f"{split}-{i}", "action": "probe", "kind": "encoder",
            "label": ("cow", "hen", "sheep")[i % 3 if i % 2 else 0], "conf": 0.4 + i / 100,
            "fold": (i // 2) % 5 if split == "development" else None,
        }
        for split in ("development", "holdout")
        for i in range(30)
    ]  # fmt: skip
    pd.DataFrame(table).to_parquet(tmp_path / "predictions.parquet")
    (tmp_path / "evidence").mkdir()
    (tmp_path / "predictions.parquet").rename(tmp_path / "evidence/predictions.parquet")
    given = ["call-value", str(tmp_path / "evidence"), "--from-runs", str(tmp_path / "r")]
    contract = ["--contract", str(tmp_path / "c.json")]
    made = CliRunner().invoke(app, [*given, *contract, "--init"])
    assert made.exit_code == 0, made.output
    record = json.loads((tmp_path / "c.json").read_text())
    assert set(record["actions"]) == {"probe", "simulated"}
    # as few draws as a contract may have: what they give is tested elsewhere
    (tmp_path / "c.json").write_text(json.dumps(record | {"draws": 100, "repeats": 0}))
    made = CliRunner().invoke(app, [*given, *contract, "--out", str(tmp_path / "audit")])
    assert made.exit_code == 0, made.output
    assert "simulated" in (tmp_path / "audit/index.html").read_text()
    frozen = json.loads((tmp_path / "audit/frozen.json").read_text())
    (action,) = frozen["parsers"]
    assert "simulated" in action
    assert all(name.startswith("closed_set:") for name in frozen["parsers"][action])
