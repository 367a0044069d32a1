"""How selectors were fitted: λ, optimism, other fold assignments."""

import numpy as np

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.policies import selecting
from otoscope.reports.tables import ReportTable, TableColumn


def fits(audit: CallAudit) -> ReportTable:
    """λ of each selector, cross-fitted and in-sample accuracy, and under other fold assignments."""
    fitted = {("as frozen", name): own for name, own in audit.frozen.selectors.items()}
    for seed, both in audit.frozen.seeds.items():
        fitted |= {(f"fold_seed {seed}", name): own for name, own in both.items()}
    rows = []
    for (folds, name), own in fitted.items():
        policy = selecting(name, audit.holdout, own)
        rows.append(
            {
                "folds": folds,
                "selector": name,
                "lambda": own.weight_of_cost,
                "cross_fitted": own.n_correct / own.n,
                "in_sample": own.n_correct_in_sample / own.n,
                "optimism": (own.n_correct_in_sample - own.n_correct) / own.n,
                "holdout": float(np.mean(policy.predicted == audit.holdout.gold)),
                "call_rate": float(policy.calls.mean()),
            }
        )
    return ReportTable(
        "fits",
        "How selectors were fitted",
        (
            TableColumn("folds", "folds of encoders"),
            TableColumn("selector", "selector"),
            TableColumn("lambda", "λ", "number"),
            TableColumn("cross_fitted", "development, cross-fitted, %", "share"),
            TableColumn("in_sample", "in-sample, %", "share"),
            TableColumn("optimism", "optimism, points", "share"),
            TableColumn("holdout", "held out, %", "share"),
            TableColumn("call_rate", "calls, %", "share"),
        ),
        tuple(rows),
        ("The cross-fitted share is the best over all λ, so it is slightly optimistic itself.",),
    )
