"""What the full selector expects of each action: is it calibrated, does it tell when to call?

On held-out examples by the frozen model, and on development examples by models that were fitted
without the example's fold.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.contract import FULL, NO_CALL
from otoscope.audits.call_value.folds import example_folds
from otoscope.audits.call_value.parts import CallPart
from otoscope.audits.call_value.schema import DEVELOPMENT, HOLDOUT
from otoscope.audits.call_value.selector import choose, cross_fitted
from otoscope.reports.call_value.outcomes import known_interval, right_of
from otoscope.reports.tables import ReportTable, TableColumn, with_interval
from otoscope.statistics.calibration import N_BINS, calibration, reliability
from otoscope.statistics.call_gains import corrections_auc
from otoscope.statistics.method_names import OBUCHOWSKI

GAIN = "p(call) − p(local)"
SPLIT = TableColumn("split", "examples")
CROSS_FITTED = "On development examples probabilities are cross-fitted."


@dataclass(frozen=True)
class Expected:
    """Probabilities of one split.

    Attributes:
        probabilities: That each action is correct, by the full selector.
        no_call_right: Whether the selector without calls is right.
        folds: Whose models predicted each example; all 0 for the frozen model.
    """

    split: str
    part: CallPart
    probabilities: Float[np.ndarray, "n n_actions"]
    no_call_right: Bool[np.ndarray, " n"]
    folds: Int[np.ndarray, " n"]


def expected(audit: CallAudit) -> tuple[Expected, Expected]:
    """Of development examples, cross-fitted, and of held-out ones, as frozen."""
    settings, part = audit.contract.settings, audit.development.selectable()
    held = audit.holdout.selectable()
    local = part.local()
    weight = audit.frozen.selectors[NO_CALL].weight_of_cost
    chosen = choose(cross_fitted(local, settings), local, weight)
    return (
        Expected(
            DEVELOPMENT,
            part,
            cross_fitted(part, settings),
            local.correct[np.arange(part.n), chosen],
            example_folds(part, settings.n_folds, settings.seed),
        ),
        Expected(
            HOLDOUT,
            held,
            audit.frozen.selectors[FULL].model.probabilities(held),
            right_of(audit, NO_CALL),
            np.zeros(held.n, dtype=np.int64),
        ),
    )


def _by_action(splits: Sequence[Expected]) -> Iterator[tuple[Expected, int, dict[str, Any]]]:
    for own in splits:
        for k, action in enumerate(own.part.actions):
            yield own, k, {"split": own.split, "action": action.name}


def calibration_table(splits: Sequence[Expected]) -> ReportTable:
    """Calibration of the full selector's probabilities, for each split and action."""
    rate = splits[0].part.correct.mean(axis=0)
    rows = []
    for own, k, row in _by_action(splits):
        found = calibration(
            own.probabilities[:, k], own.part.correct[:, k], reference_rate=float(rate[k])
        )
        skill = None if np.isnan(found.brier_skill) else found.brier_skill
        rows.append(row | found._asdict() | {"brier_skill": skill})
    return ReportTable(
        "calibration",
        "Calibration of full's probabilities",
        (
            SPLIT,
            TableColumn("action", "action"),
            TableColumn("n", "n", "count"),
            TableColumn("base_rate", "correct, %", "share"),
            TableColumn("ece", "ECE, points", "share"),
            TableColumn("brier", "Brier score", "number"),
            TableColumn("brier_skill", "Brier skill", "number"),
        ),
        tuple(rows),
        (
            f"{CROSS_FITTED} ECE over {N_BINS} bins of equal width. Skill compares with each "
            "action's share on development examples: above 0 is better.",
        ),
    )


def reliability_table(splits: Sequence[Expected]) -> ReportTable:
    """Share correct against mean probability, in the bins that hold examples."""
    rows = [
        row
        | {
            "low": bin_.low,
            "high": bin_.low + 1 / N_BINS,
            "n": bin_.n,
            "mean_probability": bin_.mean_probability,
            "share_correct": bin_.share_correct,
        }
        for own, k, row in _by_action(splits)
        for bin_ in reliability(own.probabilities[:, k], own.part.correct[:, k])
        if bin_.n
    ]
    return ReportTable(
        "reliability",
        "Reliability of full's probabilities",
        (
            SPLIT,
            TableColumn("action", "action"),
            TableColumn("low", "bin, %", "interval", high="high"),
            TableColumn("n", "n", "count"),
            TableColumn("mean_probability", "mean probability, %", "share"),
            TableColumn("share_correct", "correct, %", "share"),
        ),
        tuple(rows),
        (CROSS_FITTED,),
    )


def signals(splits: Sequence[Expected]) -> ReportTable:
    """Whether what is known before a call tells its corrections from its harms.

    Over the examples that the call or no_call alone gets right, whether full calls or not.
    """
    rows: list[dict[str, Any]] = []
    for own in splits:
        local = np.flatnonzero(~own.part.is_call)
        known = {f"doubt of {own.part.actions[k].name}": -own.part.margin[:, k] for k in local}
        known |= dict(own.part.numbers)
        for k in np.flatnonzero(own.part.is_call):
            call, right = own.part.correct[:, k], own.no_call_right
            gain = own.probabilities[:, k] - own.probabilities[:, local].max(axis=1)
            for name, signal in {GAIN: gain, **known}.items():
                folds = own.folds if name == GAIN else None
                area = corrections_auc(signal, call, right, own.part.clusters, folds=folds)
                rows.append(
                    {
                        "call": own.part.actions[k].name,
                        "signal": name,
                        "split": own.split,
                        "n_corrections": int(np.sum(call & ~right)),
                        "n_harms": int(np.sum(right & ~call)),
                        **known_interval("auc", area),
                    }
                )
    rows.sort(key=lambda row: row["call"])
    return ReportTable(
        "signals",
        "Signals before a call: do they tell corrections from harms?",
        (
            TableColumn("call", "call"),
            TableColumn("signal", "signal"),
            SPLIT,
            TableColumn("n_corrections", "would correct", "count"),
            TableColumn("n_harms", "would harm", "count"),
            *with_interval("auc", "AUC", f"95 % CI, {OBUCHOWSKI}", kind="number"),
        ),
        tuple(rows),
        (
            "Had every example been called: examples that the call or no_call alone gets right. "
            "0.5 tells nothing, below it the signal points the wrong way.",
            f"{CROSS_FITTED} {GAIN} is compared within folds there, since each fold has a model "
            "of its own.",
        ),
    )
