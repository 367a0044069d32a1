"""A whole audit: order of events, nothing replaced, and results that no order changes."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from otoscope.audits.call_value.audit import audit_calls, log_path
from otoscope.audits.call_value.contract import read_contract
from otoscope.audits.call_value.frozen import FILE, read_frozen
from otoscope.audits.call_value.policies import frozen_policies
from otoscope.audits.call_value.schema import CallValueError
from tests.audits.call_value.call_tables import (
    example_rows,
    prediction_rows,
    write_contract,
    write_tables,
)


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    tables = write_tables(folder)
    contract = write_contract(folder / "contract.json", tables)
    return folder, tables, contract, audit_calls(tables, contract, folder / "out")


def by_name(audit):
    return {policy.name: policy for policy in audit.policies}


def test_frozen_does_not_depend_on_held_out_labels(audited, tmp_path):
    _, _, contract, audit = audited
    examples = example_rows()
    for row in examples:
        if row["split"] == "holdout":
            row["label"] = "sigh"
    other = audit_calls(
        write_tables(tmp_path, examples, prediction_rows(example_rows())),
        write_copy(contract, tmp_path),
        tmp_path / "out",
    )
    assert other.frozen_sha256 == audit.frozen_sha256
    assert by_name(other)["full"].chosen.tolist() == by_name(audit)["full"].chosen.tolist()


def write_copy(contract, folder):
    (folder / "contract.json").write_text(contract.read_text())
    return folder / "contract.json"


def test_labels_are_opened_only_after_frozen_is_written(tmp_path, monkeypatch):
    from otoscope.audits.call_value import audit as module

    read, order = module.read_call_tables, []

    def reading(paths, **settings):
        order.append((settings.get("holdout_labels", False), (tmp_path / "out" / FILE).is_file()))
        return read(paths, **settings)

    monkeypatch.setattr(module, "read_call_tables", reading)
    tables = write_tables(tmp_path)
    module.audit_calls(tables, write_contract(tmp_path / "c.json", tables), tmp_path / "out")
    assert order == [(False, False), (True, True)]


def test_a_frozen_file_that_was_changed_is_rejected(audited):
    folder, _, _, audit = audited
    assert read_frozen(folder / "out", audit.frozen_sha256) == audit.frozen
    with pytest.raises(CallValueError, match=r"frozen.json was changed"):
        read_frozen(folder / "out", "0" * 64)


def test_results_are_not_replaced_and_evaluations_are_counted(tmp_path):
    tables = write_tables(tmp_path)
    contract = write_contract(tmp_path / "contract.json", tables)
    assert audit_calls(tables, contract, tmp_path / "a").evaluations == 1
    with pytest.raises(CallValueError, match="a is not empty, and results are not replaced"):
        audit_calls(tables, contract, tmp_path / "a")
    assert audit_calls(tables, contract, tmp_path / "b").evaluations == 2
    lines = [json.loads(line) for line in log_path(contract).read_text().splitlines()]
    assert [line["out"].rpartition("/")[2] for line in lines] == ["a", "b"]
    assert len({line["frozen_sha256"] for line in lines}) == 1


def test_other_examples_than_those_of_the_contract(audited, tmp_path):
    _, _, contract, _ = audited
    examples = example_rows(60, 39)
    tables = write_tables(tmp_path, examples, prediction_rows(examples))
    with pytest.raises(CallValueError, match="the holdout examples are not those of the contract"):
        audit_calls(tables, contract, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_order_of_rows_actions_or_labels_changes_a_result(audited, tmp_path):
    folder, _, contract, audit = audited
    tables = [tmp_path / "p.csv", tmp_path / "e.csv"]
    for path, name in zip(tables, ("predictions.csv", "examples.csv"), strict=True):
        rows = pd.read_csv(folder / name, dtype=str, keep_default_na=False)
        rows.sample(frac=1, random_state=5).iloc[:, ::-1].to_csv(path, index=False)
    record = json.loads(contract.read_text())
    record["actions"] = dict(reversed(record["actions"].items()))
    record["labels"] = record["labels"][::-1]
    (tmp_path / "c.json").write_text(json.dumps(record))
    other = audit_calls(tables, tmp_path / "c.json", tmp_path / "out")
    assert other.frozen.selectors == audit.frozen.selectors
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "out" / "choices.parquet"),
        pd.read_parquet(folder / "out" / "choices.parquet"),
    )


def test_masked_and_refitted_selectors_never_call(audited):
    policies = by_name(audited[3])
    for name in ("no_call", "no_call_mask"):
        assert not policies[name].calls.any()
    assert policies["full"].calls.any()


def test_no_policy_beats_the_oracle(audited):
    audit = audited[3]
    right = {name: own.predicted == audit.holdout.gold for name, own in by_name(audit).items()}
    for name, own in right.items():
        assert (own <= right["oracle"]).all(), name
    assert (right["oracle without calls"] <= right["oracle"]).all()


def test_choices_do_not_change_when_calls_return_nonsense(audited):
    audit = audited[3]
    part, calls = audit.holdout, audit.holdout.is_call
    poisoned = replace(
        part,
        predicted=np.where(calls, -999, part.predicted),
        costs={name: np.where(calls, np.nan, own) for name, own in part.costs.items()},
    )
    clean, other = (
        [
            own.chosen.tolist()
            for own in frozen_policies(from_part, audit.contract, audit.frozen)
            if own.role != "post-call"
        ]
        for from_part in (part, poisoned)
    )
    assert clean == other


def test_checks_find_what_is_there(tmp_path):
    examples = example_rows()
    for i, row in enumerate(examples):
        row |= {"speaker": f"s{i % 7}", "sha256": f"{i}", "source": f"{i}"}
        row["example_id"] = f"{row['label']}-{row['example_id']}"
        row["cluster_id"] = f"{row['cluster_id'].rpartition('-')[2]}"
    tables = write_tables(tmp_path, examples, prediction_rows(examples))
    contract = write_contract(tmp_path / "contract.json", tables)
    audit = audit_calls(tables, contract, tmp_path / "out")
    outcome = {check.name: check.outcome for check in audit.checks}
    assert outcome["a speaker in both splits"] == "found"
    assert outcome["a cluster in both splits"] == "found"
    assert outcome["the same audio in both splits"] == "passed"
    assert outcome["the label in the example's name"] == "found"
    assert outcome["choices that change when calls return nonsense"] == "passed"


def test_development_predictions_that_are_not_out_of_fold_are_found(tmp_path):
    examples = example_rows(60, 60)
    predictions = prediction_rows(examples)
    labels = {row["example_id"]: row["label"] for row in examples}
    for row in predictions:
        if row["action"] == "clap":
            fitted = row["example_id"].startswith("d")
            right = labels[row["example_id"]]
            row["label"] = right if fitted else {"cough": "sigh"}.get(right, "cough")
    tables = write_tables(tmp_path, examples, predictions)
    audit = audit_calls(tables, write_contract(tmp_path / "c.json", tables), tmp_path / "out")
    found = next(check for check in audit.checks if "far better" in check.name)
    assert found.outcome == "found"
    assert found.detail == "clap 100.0 % and 0.0 %"


def test_one_held_out_example(tmp_path):
    examples = example_rows(60, 1)
    tables = write_tables(tmp_path, examples, prediction_rows(examples))
    audit = audit_calls(tables, write_contract(tmp_path / "c.json", tables), tmp_path / "out")
    assert audit.holdout.n == 1


def test_the_prompt_is_chosen_on_development_examples(tmp_path):
    examples = example_rows()
    predictions = prediction_rows(examples)
    labels = {row["example_id"]: row["label"] for row in examples}
    better = []
    for row in predictions:
        if row["action"] == "omni":
            row["prompt_id"] = "a"
            right = labels[row["example_id"]]
            development = row["example_id"].startswith("d")
            label = right if development else {"cough": "sigh"}.get(right, "cough")
            better.append(row | {"prompt_id": "b", "label": label})
    tables = write_tables(tmp_path, examples, [*predictions, *better])
    audit = audit_calls(tables, write_contract(tmp_path / "c.json", tables), tmp_path / "out")
    assert audit.frozen.prompts == {"omni": "b"}
    assert audit.frozen.prompt_scores["omni"]["b"] == 60
    assert (by_name(audit)["omni"].predicted != audit.holdout.gold).all()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"features": ["conf", "logprob"]}, "'logprob' is known only after a call"),
        ({"tests": [["full", "nobody"]]}, "no policy is named 'nobody'"),
        ({"tests": [["full", "wavlm"]]}, "tests lack the primary contrast"),
        ({"folds": 1}, "folds: at least 2"),
        ({"lambda_from": "test"}, "lambda_from is 'test', not one of"),
        ({"margin": 3}, "margin lies between 0 and 1"),
        ({"alpha": 0.1}, "alpha is 0.05, the level of every interval"),
        ({"lambdas": []}, "lambdas: at least one"),
        ({"labels": ["cough"]}, "labels: there are at least two"),
        ({"schema": 9}, "schema is 9, not 1"),
        ({"colour": 1}, "'colour' is unknown"),
        (
            {"routes": [{"first": "gone", "call": "omni", "budget": 0.5}]},
            "names .gone., which is no act",
        ),
        ({"routes": [{"first": "omni", "call": "omni", "budget": 0.5}]}, "does not go from a loc"),
        ({"routes": [{"first": "clap", "call": "omni"}]}, "a value has the wrong form"),
        ({"allocated": {"nobody": {"wall_s": 1}}}, "allocated: totals of"),
    ],
)
def test_faults_of_contracts(audited, tmp_path, change, match):
    record = json.loads(audited[2].read_text()) | change
    (tmp_path / "c.json").write_text(json.dumps(record))
    with pytest.raises(CallValueError, match=match) as found:
        read_contract(tmp_path / "c.json")
    assert str(found.value).startswith(str(tmp_path / "c.json"))


def test_a_contract_without_a_key(audited, tmp_path):
    record = json.loads(audited[2].read_text())
    del record["alpha"]
    (tmp_path / "c.json").write_text(json.dumps(record))
    with pytest.raises(CallValueError, match="'alpha' is missing"):
        read_contract(tmp_path / "c.json")


def test_a_feature_without_its_column(audited, tmp_path):
    _, tables, contract, _ = audited
    record = json.loads(contract.read_text())
    record["features"].append("duration")
    (tmp_path / "c.json").write_text(json.dumps(record))
    with pytest.raises(CallValueError, match="'duration' needs the column 'duration'"):
        audit_calls(tables, tmp_path / "c.json", tmp_path / "out")
