"""Repeated cross-fitting: does the result hang on the folds that happened to be drawn?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.contract import FULL, NO_CALL
from otoscope.audits.call_value.policies import selecting
from otoscope.reports.call_value.figures import signed
from otoscope.reports.call_value.outcomes import resampled_means
from otoscope.reports.tables import ReportTable, TableColumn, with_interval
from otoscope.statistics.intervals import Interval, named_interval, percentile_interval


@dataclass(frozen=True)
class FoldRepeats:
    """Full minus no_call over repeats with other folds.

    Attributes:
        rows: For each seed λ of both, the share of calls, and the difference.
        median: Of the differences, with an interval over folds and examples: each draw takes one
            seed at random and resamples clusters.
        above_zero: Share of seeds with a gain.
        fold_share: Variance between seeds over that of the draws.
    """

    rows: tuple[dict[str, Any], ...]
    median: Interval
    above_zero: float
    fold_share: float


def fold_repeats(audit: CallAudit) -> FoldRepeats | None:
    """The repeats of an audit; none where the contract has no repeats."""
    rows, gains = [], []
    for seed, fitted in audit.frozen.repeats.items():
        full, no_call = (selecting(name, audit.holdout, fitted[name]) for name in (FULL, NO_CALL))
        gold = audit.holdout.gold
        gains.append((full.predicted == gold).astype(float) - (no_call.predicted == gold))
        rows.append(
            {
                "seed": seed,
                "lambda_full": fitted[FULL].weight_of_cost,
                "lambda_no_call": fitted[NO_CALL].weight_of_cost,
                "call_rate": float(full.calls.mean()),
                "difference": float(gains[-1].mean()),
            }
        )
    if not rows:
        return None
    differences = np.array([row["difference"] for row in rows])
    draws = nested_draws(resampled_means(audit, gains), audit.contract.settings.seed)
    spread = float(draws.var())
    return FoldRepeats(
        tuple(rows),
        percentile_interval(float(np.median(differences)), draws, 0.95),
        float(np.mean(differences > 0)),
        float(differences.var()) / spread if spread > 0 else 0.0,
    )


def nested_draws(
    draws: Float[np.ndarray, "n_draws n_seeds"], seed: int
) -> Float[np.ndarray, " n_draws"]:
    """Of each resample the difference of one seed, taken at random."""
    chosen = np.random.default_rng([seed, 1]).integers(draws.shape[1], size=len(draws))
    return draws[np.arange(len(draws)), chosen]


def repeats_sentence(found: FoldRepeats | None) -> str:
    """What the repeats say of the primary contrast."""
    if found is None:
        return ""
    median, low, high = (signed(100 * end) for end in found.median)
    return (
        f"Over {len(found.rows)} other draws of folds the median difference is {median} points "
        f"({low} to {high}, over folds and examples); {100 * found.above_zero:.0f} % of them have "
        "a gain."
    )


def repeats_table(found: FoldRepeats | None) -> ReportTable:
    """A row for each seed, and one for all."""
    rows: Sequence[dict[str, Any]] = ()
    if found is not None:
        total = {"seed": "median", **named_interval("difference", found.median)}
        total |= {"above_zero": found.above_zero, "fold_share": found.fold_share}
        total["call_rate"] = float(np.median([row["call_rate"] for row in found.rows]))
        rows = (*found.rows, total)
    return ReportTable(
        "repeats",
        "Full minus no_call with other folds",
        (
            TableColumn("seed", "seed"),
            TableColumn("lambda_full", "λ of full", "number"),
            TableColumn("lambda_no_call", "λ of no_call", "number"),
            TableColumn("call_rate", "calls, %", "share"),
            *with_interval("difference", "difference, points", "95 % CI, folds and examples"),
            TableColumn("above_zero", "seeds with a gain, %", "share"),
            TableColumn("fold_share", "variance between seeds, %", "share"),
        ),
        tuple(rows),
        (
            "Each seed draws other folds, in which λ is selected anew; encoders take their fold "
            "assignments (fold_seed) in turn, where the tables have several. All were fitted and "
            "frozen before held-out labels were opened. Each draw of the interval takes one seed "
            "and resamples clusters.",
        ),
    )
