"""`otoscope call-value`: from tables to a report, and what it rejects."""

import json

import pytest
from typer.testing import CliRunner

from otoscope.cli import app
from tests.audits.call_value.call_tables import example_rows, write_tables
from tests.audits.tiny_dataset import clip, write


def call(*arguments):
    return CliRunner().invoke(app, ["call-value", *map(str, arguments)])


@pytest.fixture
def tables(tmp_path):
    return write_tables(tmp_path)


def test_first_contract_then_report(tables, tmp_path):
    contract, out = tmp_path / "contract.json", tmp_path / "audit"
    started = call(*tables, "--contract", contract, "--init")
    assert started.exit_code == 0, started.output
    assert json.loads(contract.read_text())["primary"] == ["full", "no_call"]
    result = call(*tables, "--contract", contract, "--out", out)
    assert result.exit_code == 0, result.output
    assert "right only with calls" in result.output
    for name in ("contract.json", "frozen.json", "choices.parquet", "report.md", "index.html"):
        assert (out / name).is_file(), name
    for name in ("policies", "contrasts", "checks"):
        assert (out / "tables" / f"{name}.csv").is_file(), name


def test_a_contract_is_not_replaced(tables, tmp_path):
    (tmp_path / "contract.json").write_text("{}")
    result = call(*tables, "--contract", tmp_path / "contract.json", "--init")
    assert result.exit_code == 2
    assert "contract.json exists" in result.output
    assert (tmp_path / "contract.json").read_text() == "{}"


def test_without_out(tables, tmp_path):
    result = call(*tables, "--contract", tmp_path / "contract.json")
    assert result.exit_code == 2
    assert "--out is missing" in result.output


def test_a_bad_table_is_one_line(tables, tmp_path):
    text = tables[0].read_text().replace("generative", "magic", 1)
    tables[0].write_text(text)
    result = call(*tables, "--contract", tmp_path / "contract.json", "--init")
    assert result.exit_code == 2
    assert len(result.output.strip().splitlines()) == 1
    assert "kind is 'magic'" in result.output


def test_an_unknown_task_of_the_paper_is_rejected_before_labels_are_opened(tables, tmp_path):
    contract = tmp_path / "contract.json"
    call(*tables, "--contract", contract, "--init")
    result = call(*tables, "--contract", contract, "--out", tmp_path / "o", "--published", "dogs")
    assert result.exit_code == 2
    assert "the paper has no task 'dogs'" in " ".join(result.output.split())
    assert not (tmp_path / "o").exists()
    assert not (tmp_path / "contract.evaluations.jsonl").exists()


def test_players_of_a_labelled_dataset(tables, tmp_path):
    rows = {"development": [], "holdout": []}
    for row in example_rows():
        made = {"id": row["example_id"], "audio": clip(1), "label": row["label"]}
        rows[row["split"]].append(made)
    data = write(tmp_path / "data", {"default": rows})
    contract, out = tmp_path / "contract.json", tmp_path / "o"
    call(*tables, "--contract", contract, "--init")
    result = call(*tables, "--contract", contract, "--out", out, "--dataset", data)
    assert result.exit_code == 0, result.output
    changed = (out / "tables" / "changed_examples.csv").is_file()
    assert ("<audio" in (out / "index.html").read_text()) == changed
