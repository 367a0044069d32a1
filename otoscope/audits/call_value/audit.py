"""One audit: fit, freeze, open held-out labels, apply.

    audit = audit_calls(["predictions.parquet", "examples.csv"], "contract.json", "audit")

The order is fixed: the contract and `frozen.json` are on disk, with their hashes, before labels of
held-out examples are read; the evaluation loads them from there.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pandas as pd

from otoscope.atomic import write_atomic, write_json
from otoscope.audits.call_value.checks import Check
from otoscope.audits.call_value.components import with_components
from otoscope.audits.call_value.contract import Contract, read_contract, validate_tables
from otoscope.audits.call_value.frozen import (
    Frozen,
    development_part,
    fit_frozen,
    read_frozen,
    write_frozen,
)
from otoscope.audits.call_value.leakage import optimism, run_checks
from otoscope.audits.call_value.ledger import allocate, ledger_rows
from otoscope.audits.call_value.parts import CallPart, part_of
from otoscope.audits.call_value.policies import CallPolicy, frozen_policies, oracles
from otoscope.audits.call_value.schema import HOLDOUT, CallValueError
from otoscope.audits.call_value.tables import CallTables, TableSource, read_call_tables
from otoscope.claims import locked

CHOICES = "choices.parquet"


@dataclass(frozen=True)
class CallAudit:
    """An audit's result, from which reports are computed.

    Attributes:
        policies: Frozen policies, then oracles, on held-out examples.
        allocated: For each action, columns of cost that were declared.
        evaluations: How often held-out labels have been opened under this contract file.
    """

    contract: Contract
    frozen: Frozen
    frozen_sha256: str
    tables: CallTables
    development: CallPart
    holdout: CallPart
    policies: tuple[CallPolicy, ...]
    allocated: dict[str, tuple[str, ...]]
    checks: tuple[Check, ...]
    evaluations: int


def audit_calls(
    sources: Sequence[TableSource], contract_file: Path | str, out: Path | str
) -> CallAudit:
    """Fits on development examples, freezes, then evaluates once.

    Writes `contract.json`, `frozen.json`, `choices.parquet` and `ledger.parquet` into `out`, and a
    line into the log beside the contract file.

    Raises:
        CallValueError: `out` holds something, or tables and contract cannot be used.
    """
    contract_file, out = Path(contract_file), Path(out)
    contract = read_contract(contract_file)
    validate_free(out)
    sealed = read_call_tables(sources, labels=contract.labels)
    validate_tables(contract, sealed)
    frozen = fit_frozen(sealed, contract)
    checks = run_checks(sealed, contract, frozen)
    write_json(out / "contract.json", contract.record)
    sha256 = write_frozen(out, frozen)

    evaluations = log_evaluation(contract_file, contract, sha256, out)
    tables = read_call_tables(sources, labels=contract.labels, holdout_labels=True)
    validate_tables(contract, tables)
    frozen = read_frozen(out, sha256)
    holdout = part_of(tables, HOLDOUT, contract.actions, contract.labels, prompts=frozen.prompts)
    holdout, allocated = allocate(holdout, contract.allocated)
    holdout = with_components(holdout, tables.components, contract.needs)
    write_table(out / "ledger.parquet", pd.DataFrame(ledger_rows(holdout, allocated)))
    policies = (*frozen_policies(holdout, contract, frozen), *oracles(holdout))
    write_choices(out / CHOICES, holdout, policies, contract.labels)
    development = development_part(tables, contract, prompts=frozen.prompts)
    return CallAudit(
        contract=contract,
        frozen=frozen,
        frozen_sha256=sha256,
        tables=tables,
        development=development,
        holdout=holdout,
        policies=policies,
        allocated=allocated,
        checks=(*checks, optimism(development, holdout)),
        evaluations=evaluations,
    )


def validate_free(out: Path) -> None:
    """Raises where a folder holds anything: results are never replaced."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise CallValueError(f"{out} is not empty, and results are not replaced; another --out")


def log_path(contract_file: Path) -> Path:
    """The log beside a contract file."""
    return contract_file.with_suffix(".evaluations.jsonl")


def log_evaluation(contract_file: Path, contract: Contract, frozen: str, out: Path) -> int:
    """Adds a line to the log; returns how many it then has."""
    line = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "contract_sha256": contract.sha256,
        "frozen_sha256": frozen,
        "holdout_sha256": contract.splits[HOLDOUT]["sha256"],
        "out": str(out),
    }
    path = log_path(contract_file)
    with locked(path), path.open("a+", encoding="utf-8") as file:
        file.seek(0)
        known = [text for text in file.read().splitlines() if text.strip()]
        file.write(json.dumps(line) + "\n")
    return len(known) + 1


def write_choices(
    path: Path, part: CallPart, policies: Sequence[CallPolicy], labels: Sequence[str]
) -> None:
    """What each policy did with each example, as a table."""
    names = [*sorted(labels), None]
    actions = [action.name for action in part.actions]
    frames = [
        pd.DataFrame(
            {
                "example_id": part.ids,
                "cluster_id": part.clusters,
                "policy": policy.name,
                "action": None
                if policy.chosen is None
                else [actions[k] for k in policy.chosen.tolist()],
                "label": [names[k] for k in policy.predicted.tolist()],
                "called": policy.calls,
                "correct": policy.predicted == part.gold,
            }
        )
        for policy in policies
    ]
    write_table(path, pd.concat(frames, ignore_index=True))


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Writes a table as Parquet, complete or not at all."""
    write_atomic(path, partial(table.to_parquet, index=False))
