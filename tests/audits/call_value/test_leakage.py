"""Each check passes on clean tables, and finds the fault that it is about."""

import json
from dataclasses import replace

import numpy as np
import pytest

from otoscope.audits.call_value import leakage
from otoscope.audits.call_value.audit import audit_calls
from otoscope.audits.call_value.contract import read_contract
from otoscope.audits.call_value.frozen import fit_frozen
from otoscope.audits.call_value.leakage import run_checks
from otoscope.audits.call_value.tables import read_call_tables
from tests.audits.call_value.call_tables import (
    example_rows,
    prediction_rows,
    write_contract,
    write_tables,
)

EXAMPLES = example_rows(60, 30)


@pytest.fixture
def rows():
    return [dict(row) for row in prediction_rows(EXAMPLES)]


def checks(folder, predictions, *, written=None, **contract):
    """Outcomes by name; the contract is of `written`, else of the same predictions."""
    tables = write_tables(folder / "then", EXAMPLES, written or predictions)
    fixed = write_contract(folder / "c.json", tables, **contract)
    tables = read_call_tables(write_tables(folder / "now", EXAMPLES, predictions))
    read = read_contract(fixed)
    return {own.name: own for own in run_checks(tables, read, fit_frozen(tables, read))}


def test_every_audit_prints_every_check(tmp_path):
    tables = write_tables(tmp_path)
    audit = audit_calls(tables, write_contract(tmp_path / "c.json", tables), tmp_path / "out")
    assert [check.name for check in audit.checks] == [
        "the same audio in both splits",
        "a speaker in both splits",
        "a source recording in both splits",
        "a cluster in both splits",
        "the label in the example's name",
        "one label in the name of a prompt",
        "a held-out example shown in a prompt",
        "parser, synonyms or answers changed after the contract",
        "a probe fitted on held-out examples",
        "a probe fitted on the cluster that it predicts",
        "a class absent from a fold",
        "a selector that predicts permuted labels",
        "a feature known only after a call",
        "choices that change when calls return nonsense",
        "an encoder far better on development examples",
    ]
    assert not [check for check in audit.checks if check.outcome == "found"]


@pytest.mark.parametrize("label", ["sigh", ""])
def test_labels_parsed_anew_after_the_contract(tmp_path, rows, label):
    written = [dict(row) for row in rows]
    row = next(row for row in rows if row["action"] == "omni" and row["label"] != label)
    row["label"] = label
    found = checks(tmp_path, rows, written=written)[
        "parser, synonyms or answers changed after the contract"
    ]
    assert (found.outcome, found.detail) == ("found", "omni")


def test_a_contract_without_hashes_of_labels_leaves_that_unknown(tmp_path, rows):
    tables = write_tables(tmp_path, EXAMPLES, rows)
    fixed = write_contract(tmp_path / "c.json", tables)
    record = json.loads(fixed.read_text())
    del record["parsed"]
    fixed.write_text(json.dumps(record))
    audit = audit_calls(tables, fixed, tmp_path / "out")
    outcome = {own.name: own.outcome for own in audit.checks}
    assert outcome["parser, synonyms or answers changed after the contract"] == "unknown"


@pytest.mark.parametrize(
    ("shown", "outcome"), [(["h003", "d001"], "found"), (["d001"], "passed"), (None, "unknown")]
)
def test_held_out_examples_in_a_prompt(tmp_path, rows, shown, outcome):
    fixed = {} if shown is None else {"prompt_examples": shown}
    found = checks(tmp_path, rows, **fixed)["a held-out example shown in a prompt"]
    assert found.outcome == outcome
    assert shown is None or outcome != "found" or found.detail == "h003"


@pytest.mark.parametrize(
    ("prompt", "outcome"), [("Is it a COUGH?", "found"), ("cough, laughter or sigh", "passed")]
)
def test_a_prompt_that_names_one_label(tmp_path, rows, prompt, outcome):
    for row in rows:
        if row["action"] == "omni":
            row["prompt_id"] = prompt
    found = checks(tmp_path, rows)["one label in the name of a prompt"]
    assert found.outcome == outcome


def test_probabilities_that_know_permuted_labels_are_found(tmp_path, rows, monkeypatch):
    clean = checks(tmp_path / "a", rows)["a selector that predicts permuted labels"]
    assert clean.outcome == "passed"
    monkeypatch.setattr(leakage, "cross_fitted", lambda part, settings: part.correct.astype(float))
    leaking = checks(tmp_path / "b", rows)["a selector that predicts permuted labels"]
    assert leaking.outcome == "found"


def test_a_policy_that_reads_what_a_call_returned_is_found(tmp_path, rows, monkeypatch):
    apply = leakage.frozen_policies

    def leaking(part, contract, frozen):
        agrees = part.predicted[:, part.index("omni")] == part.predicted[:, part.index("clap")]
        chosen = np.where(agrees, part.index("clap"), part.index("text"))
        return [replace(own, chosen=chosen) for own in apply(part, contract, frozen)]

    monkeypatch.setattr(leakage, "frozen_policies", leaking)
    found = checks(tmp_path, rows)["choices that change when calls return nonsense"]
    assert found.outcome == "found"
