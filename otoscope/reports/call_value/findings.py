"""What the page says behind the primary contrast: who decides, what calls did, at what cost."""

from collections.abc import Mapping, Sequence

import numpy as np

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.contract import FULL, NO_CALL
from otoscope.reports.call_value.figures import signed
from otoscope.reports.call_value.gains import UNITS
from otoscope.reports.call_value.policy_rows import random_accuracies
from otoscope.reports.tables import Record, ReportTable, per_cent


def simulated_actions(audit: CallAudit) -> list[str]:
    """Actions whose predictions no model made."""
    return [action.name for action in audit.contract.actions if action.is_simulated]


def simulated_notes(audit: CallAudit) -> tuple[str, str]:
    """Sentences for the verdict, and for every table and figure; empty if nothing is simulated."""
    names = simulated_actions(audit)
    if not names:
        return "", ""
    are = "is no model" if len(names) == 1 else "are no models"
    short = f"Simulated: {', '.join(names)} {are}"
    return (
        f"{short}; what is said here of its calls, and of every policy that makes them, is of a "
        "simulation.",
        f"{short}.",
    )


def findings(audit: CallAudit, tables: Mapping[str, ReportTable]) -> list[str]:
    """Sentences behind those of the primary contrast."""
    sentences = [
        _deciders(tables["by_stage"].rows),
        _calls(tables["value_per_call"].rows[0]),
        _random(audit),
        _cost(tables["policies"].rows),
        _average(tables["areas"].rows),
        _harmed(tables["by_class"].rows, tables["by_group"].rows),
        _leaks(audit),
    ]
    return [sentence for sentence in sentences if sentence]


def _deciders(rows: Sequence[Record]) -> str:
    parts = [
        f"{row['action']} for {row['n']} ({per_cent(row['full'])} % right)"
        for row in sorted(rows, key=lambda row: -row["n"])
        if row["n"]
    ]
    return f"In full the label comes from {', '.join(parts)}."


def _calls(row: Record) -> str:
    if not row["n_calls"]:
        return ""
    net = _with_unit(row, "net_per_call", "net per 100 calls")
    each = ""
    if (seconds := row.get("wall_s_per_net")) is not None:
        each = f", {_amount(seconds)} s of calls for each net correction"
    return (
        f"The calls corrected {row['corrections']} and harmed {row['harms']} of {row['n_calls']} "
        f"called examples: {net}{each}. {row['changed_elsewhere']} more changed without a call."
    )


def _random(audit: CallAudit) -> str:
    drawn, expected = random_accuracies(audit)
    full = next(own for own in audit.policies if own.name == FULL)
    if not full.calls.any():
        return ""
    own = float(np.mean(full.predicted == audit.holdout.gold))
    as_good = int(np.sum(drawn >= own - 1e-12))
    return (
        f"As many calls for random examples give {per_cent(expected)} % on average, full "
        f"{per_cent(own)} %; {as_good} of {drawn.size:,} random choices are at least as good."
    )


def _cost(rows: Sequence[Record]) -> str:
    own = {row["policy"]: row for row in rows if row["policy"] in (FULL, NO_CALL)}
    for column in ("wall_s", "price", "audio_s"):
        full, without = (own[name].get(column) for name in (FULL, NO_CALL))
        if full is not None and without is not None and max(full, without) > 0:
            calls = own[FULL].get(f"{column}_calls") or 0.0
            return (
                f"Full costs {_amount(full)} {UNITS[column]} over all held-out examples, "
                f"{_amount(calls)} of it for calls; no_call {_amount(without)}."
            )
    return "What calls and policies cost is unknown: some component has no cost in the tables."


def _average(rows: Sequence[Record]) -> str:
    if not rows or rows[0].get("gain") is None:
        return ""
    row = rows[0]
    return (
        f"On average over all shares of calls up to {row['to']:.1f} %, full gains "
        f"{_with_unit(row, 'gain', 'points')}."
    )


def _with_unit(row: Record, key: str, unit: str) -> str:
    estimate, low, high = (signed(100 * row[name]) for name in (key, f"{key}_low", f"{key}_high"))
    return f"{estimate} {unit} ({low} to {high})"


def _amount(value: float) -> str:
    return f"{value:,.1f}" if value >= 10 else f"{value:.2g}"


def _harmed(classes: Sequence[Record], groups: Sequence[Record]) -> str:
    labels = [row["label"] for row in classes[:-1] if row["flag"]]
    names = [row["group"] for row in groups if row["flag"]]
    parts = []
    if labels:
        parts.append(f"for {', '.join(labels)}")
    if names:
        parts.append(f"for the {'group' if len(names) == 1 else 'groups'} {', '.join(names)}")
    return f"Calls harm more than they correct {' and '.join(parts)}." if parts else ""


def _leaks(audit: CallAudit) -> str:
    found = [check.name for check in audit.checks if check.outcome == "found"]
    return f"Leakage checks found: {'; '.join(found)}." if found else ""
