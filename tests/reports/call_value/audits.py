"""Audits of synthetic tables, and the same with hand-made policies."""

from dataclasses import replace

import numpy as np

from otoscope.audits.call_value.audit import audit_calls
from tests.audits.call_value.call_tables import (
    example_rows,
    prediction_rows,
    write_contract,
    write_tables,
)


def make_audit(folder, n_holdout=240, per_cluster=1, change=None, **contract):
    """An audit with few draws; `change` edits the rows of examples and predictions."""
    examples = example_rows(60, n_holdout, per_cluster=per_cluster)
    predictions = prediction_rows(examples)
    if change is not None:
        change(examples, predictions)
    tables = write_tables(folder, examples, predictions)
    fixed = write_contract(folder / "c.json", tables, **{"draws": 500} | contract)
    return audit_calls(tables, fixed, folder / "out")


def with_right(audit, **right):
    """The audit with policies that are right on given examples."""
    gold = audit.holdout.gold

    def changed(policy):
        own = right.get(policy.name.replace(" ", "_"))
        return policy if own is None else replace(policy, predicted=np.where(own, gold, -1))

    return replace(audit, policies=tuple(map(changed, audit.policies)))
