"""How selectors were fitted: λ, optimism, other fold assignments, calibration, signals."""

from typing import Any

import numpy as np

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.contract import FULL, NO_CALL
from otoscope.audits.call_value.parts import CallPart
from otoscope.audits.call_value.policies import selecting
from otoscope.reports.call_value.outcomes import right_of
from otoscope.reports.tables import ReportTable, TableColumn, with_interval
from otoscope.statistics.calibration import calibration
from otoscope.statistics.call_gains import corrections_auc
from otoscope.statistics.intervals import named_interval
from otoscope.statistics.method_names import OBUCHOWSKI


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


def probabilities(audit: CallAudit, part: CallPart) -> np.ndarray:
    """The full selector's probability that each action is correct, by example and action."""
    return audit.frozen.selectors[FULL].model.probabilities(part)


def calibration_table(audit: CallAudit) -> ReportTable:
    """Calibration of the full selector's probabilities, for each action on held-out examples."""
    found = probabilities(audit, audit.holdout)
    rows = []
    for k, action in enumerate(audit.holdout.actions):
        rate = float(audit.development.correct[:, k].mean())
        own = calibration(found[:, k], audit.holdout.correct[:, k], reference_rate=rate)
        skill = None if np.isnan(own.brier_skill) else own.brier_skill
        rows.append({"action": action.name, **own._asdict(), "brier_skill": skill})
    return ReportTable(
        "calibration",
        "Calibration of full's probabilities on held-out examples",
        (
            TableColumn("action", "action"),
            TableColumn("n", "n", "count"),
            TableColumn("base_rate", "correct, %", "share"),
            TableColumn("ece", "ECE, points", "share"),
            TableColumn("brier", "Brier score", "number"),
            TableColumn("brier_skill", "Brier skill", "number"),
        ),
        tuple(rows),
        ("Skill compares with each action's share on development examples: above 0 is better.",),
    )


def signals(audit: CallAudit) -> ReportTable:
    """Whether what is known before a call tells its corrections from its harms.

    Over held-out examples that the call or no_call alone gets right, whether full calls or not.
    """
    part = audit.holdout
    found = probabilities(audit, part)
    local = np.flatnonzero(~part.is_call)
    before: dict[str, np.ndarray] = {
        f"doubt of {part.actions[k].name}": -part.margin[:, k] for k in local
    }
    before |= dict(part.numbers)
    rows: list[dict[str, Any]] = []
    for k in np.flatnonzero(part.is_call):
        gain = found[:, k] - found[:, local].max(axis=1)
        call, right = part.correct[:, k], right_of(audit, NO_CALL)
        for name, signal in {"p(call) − p(local)": gain, **before}.items():
            area = corrections_auc(signal, call, right, part.clusters)
            interval = {} if np.isnan(area.estimate) else named_interval("auc", area)
            rows.append(
                {
                    "call": part.actions[k].name,
                    "signal": name,
                    "n_corrections": int(np.sum(call & ~right)),
                    "n_harms": int(np.sum(right & ~call)),
                    **interval,
                }
            )
    return ReportTable(
        "signals",
        "Signals before a call: do they tell corrections from harms?",
        (
            TableColumn("call", "call"),
            TableColumn("signal", "signal"),
            TableColumn("n_corrections", "would correct", "count"),
            TableColumn("n_harms", "would harm", "count"),
            *with_interval("auc", "AUC", f"95 % CI, {OBUCHOWSKI}", kind="number"),
        ),
        tuple(rows),
        ("Had every example been called: examples that the call or no_call alone gets right.",),
    )
