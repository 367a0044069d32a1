"""Controllers, which selectors do not know of, and the contract of the paper."""

import json

import pytest
from typer.testing import CliRunner

from otoscope.audits.call_value.audit import audit_calls
from otoscope.audits.call_value.contract import read_contract
from otoscope.audits.call_value.schema import CallValueError
from otoscope.audits.call_value.tables import read_call_tables
from otoscope.audits.call_value.templates import contract_of_template, read_template
from otoscope.cli import app
from otoscope.reports.call_value.report import write_call_report
from tests.audits.call_value.call_tables import (
    example_rows,
    prediction_rows,
    write_contract,
    write_tables,
)

NAMES = {
    "text": ("transcript",),
    "clap": ("clap_embedding_probe", "clap_zero_shot"),
    "wavlm": ("wavlm_base_plus_embedding_probe", "joint_ridge"),
    "omni": ("Qwen2.5-Omni",),
}


def paper_tables(folder, **changes):
    """Tables with the names of the paper's actions; without Qwen2-Audio, MOSS-Audio and AST."""
    examples = [row | changes for row in example_rows(60, 40)]
    rows = [
        row | {"action": name} for row in prediction_rows(examples) for name in NAMES[row["action"]]
    ]
    return write_tables(folder, examples, rows)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """An audit in which wavlm and omni2 are controllers, and one in which they are left out."""
    folder = tmp_path_factory.mktemp("controllers")
    examples = example_rows()
    rows = prediction_rows(examples)
    rows += [row | {"action": "omni2"} for row in rows if row["action"] == "omni"]
    tables = write_tables(folder, examples, rows)
    record = json.loads(write_contract(folder / "first.json", tables).read_text())
    controllers = {name: record["actions"].pop(name) for name in ("wavlm", "omni2")}
    record |= {"draws": 200, "repeats": 1, "tests": [["full", "no_call"]]}
    without = record | {"routes": []}
    routes = [{"first": "wavlm", "call": "omni2", "budget": 0.5}]
    tests = [["full", "no_call"], ["wavlm→omni2 50 %", "wavlm"]]
    with_them = record | {"controllers": controllers, "routes": routes, "tests": tests}
    made = []
    for name, own in (("with", with_them), ("without", without)):
        (folder / f"{name}.json").write_text(json.dumps(own))
        made.append(audit_calls(tables, folder / f"{name}.json", folder / name))
    return folder, *made


def test_selectors_oracles_and_fusion_do_not_know_controllers(both):
    _, known, unknown = both
    for name in ("selectors", "seeds", "repeats"):
        assert getattr(known.frozen, name) == getattr(unknown.frozen, name)
    assert known.frozen.post_call.stacked == unknown.frozen.post_call.stacked
    mine = {own.name: own for own in known.policies}
    for own in unknown.policies:
        assert (mine[own.name].predicted == own.predicted).all(), own.name
        assert (mine[own.name].calls == own.calls).all(), own.name
        assert mine[own.name].local == own.local, own.name
    assert set(mine) - {own.name for own in unknown.policies} == {
        "wavlm",
        "omni2",
        "wavlm→omni2 50 %",
    }


def test_a_report_with_controllers(both):
    folder, known, _ = both
    page, _ = write_call_report(known, folder / "with")
    assert "wavlm→omni2 50 %" in page.read_text()
    stages = (folder / "with" / "tables" / "by_stage.csv").read_text()
    assert "omni2" not in stages


def test_a_controller_with_the_name_of_an_action(both, tmp_path):
    record = json.loads((both[0] / "with.json").read_text())
    record["controllers"]["clap"] = {"kind": "encoder"}
    (tmp_path / "c.json").write_text(json.dumps(record))
    with pytest.raises(CallValueError, match="a controller has the name of an action"):
        read_contract(tmp_path / "c.json")


def test_the_papers_contract_has_eight_tests_and_half_budgets():
    template = read_template("vocalsound_paper")
    assert len(template["tests"]) == 8
    assert {own["budget"] for own in template["routes"]} == {0.5}
    assert template["margin"] == 0.03
    assert len(template["labels"]) == 6


def test_the_papers_contract_for_tables_that_lack_models(tmp_path):
    tables = paper_tables(tmp_path)
    record, said = contract_of_template("vocalsound_paper", read_call_tables(tables))
    assert list(record["actions"]) == [
        "transcript",
        "clap_embedding_probe",
        "wavlm_base_plus_embedding_probe",
        "Qwen2.5-Omni",
    ]
    assert record["actions"]["Qwen2.5-Omni"]["cost"] == 1
    assert record["actions"]["Qwen2.5-Omni"]["revision"] is None  # the paper names none
    assert list(record["controllers"]) == ["clap_zero_shot", "joint_ridge"]
    assert [(own["first"], own["call"]) for own in record["routes"]] == [
        ("clap_zero_shot", "Qwen2.5-Omni"),
        ("transcript", "Qwen2.5-Omni"),
    ]
    assert len(record["tests"]) == 8 - 2
    assert any("the tables lack: MOSS-Audio, Qwen2-Audio, ast_" in line for line in said)
    assert any("clap_zero_shot→MOSS-Audio 50 % − wavlm" in line for line in said)
    (tmp_path / "c.json").write_text(json.dumps(record | {"draws": 200, "repeats": 1}))
    audit = audit_calls(tables, tmp_path / "c.json", tmp_path / "out")
    assert "joint_ridge" in [own.name for own in audit.policies]


def test_the_command_says_what_is_left_out(tmp_path):
    tables = paper_tables(tmp_path)
    given = [*map(str, tables), "--contract", str(tmp_path / "c.json")]
    found = CliRunner().invoke(
        app, ["call-value", *given, "--init", "--template", "vocalsound_paper"]
    )
    assert found.exit_code == 0, found.output
    assert "vocalsound_paper: the tables lack: MOSS-Audio" in found.output
    assert json.loads((tmp_path / "c.json").read_text())["task"] == "vocalsound"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--init", "--template", "nobody"], "no template 'nobody'; there are vocalsound_paper"),
        (["--out", "x", "--template", "vocalsound_paper"], "--template is for --init"),
    ],
)
def test_templates_that_cannot_be_used(tmp_path, options, message):
    tables = paper_tables(tmp_path)
    given = [*map(str, tables), "--contract", str(tmp_path / "c.json")]
    found = CliRunner().invoke(app, ["call-value", *given, *options])
    assert found.exit_code == 2
    assert message in found.output


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"label": "hiccup"}, "labels outside its set .*: 'hiccup'"),
        ({"action": "mine"}, "lack a generative or a local one of its actions"),
        ({"kind": "generative"}, "'transcript' is transcript in the template and generative"),
    ],
)
def test_tables_that_a_template_is_not_for(tmp_path, change, match):
    examples = example_rows(30, 20)
    rows = prediction_rows(examples)
    for row in rows:
        row["action"] = NAMES[row["action"]][0]
        if row["kind"] == ("generative" if "action" in change else "transcript"):
            row |= change
    tables = write_tables(tmp_path, examples, rows)
    with pytest.raises(CallValueError, match=match):
        contract_of_template("vocalsound_paper", read_call_tables(tables))
