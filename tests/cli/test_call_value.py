"""`otoscope call-value`: from tables to a report, and what it rejects."""

import json

import pytest
from typer.testing import CliRunner

from otoscope.cli import app
from tests.audits.call_value.call_tables import write_tables


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
