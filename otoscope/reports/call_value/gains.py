"""What calls corrected and harmed: by class, by group of speakers, by the action that decides."""

from typing import Any

import numpy as np

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.contract import FULL, NO_CALL, NO_CALL_MASK
from otoscope.audits.call_value.policies import CallPolicy
from otoscope.audits.call_value.schema import COSTS
from otoscope.reports.call_value.outcomes import (
    accuracy,
    interval_name,
    known_interval,
    policy_of,
    right_of,
)
from otoscope.reports.tables import ReportTable, TableColumn, with_interval
from otoscope.statistics.call_gains import call_gains
from otoscope.statistics.intervals import named_interval

ALL = "all"
UNITS = {"wall_s": "s", "price": "price", "audio_s": "s of audio sent", "tokens": "tokens"}
MOST_SPEAKERS = 12
"""Up to so many held-out speakers are groups of their own, where no group is declared."""

GAINS = (
    TableColumn("n_calls", "calls", "count"),
    TableColumn("corrections", "corrected by a call", "count"),
    TableColumn("harms", "harmed by a call", "count"),
    TableColumn("changed_elsewhere", "changed without a call", "count"),
    *with_interval("net_per_call", "net per 100 calls", "95 % CI, exact"),
)
GAIN_COUNTS = ("n_calls", "corrections", "harms", "neutral", "changed_elsewhere")
GAINS_NOTE = (
    "Corrected and harmed: full is right and no_call is not, or the reverse, on examples for which "
    "full calls; “without a call”: on the others, where the refitted selector takes another local "
    "action."
)


def _gains(audit: CallAudit, rows: np.ndarray) -> dict[str, Any]:
    full, no_call = right_of(audit, FULL)[rows], right_of(audit, NO_CALL)[rows]
    gains = call_gains(full, no_call, policy_of(audit, FULL).calls[rows])
    return {
        "n": int(rows.sum()),
        "n_calls": gains.n_calls,
        "corrections": gains.corrections,
        "harms": gains.harms,
        "changed_elsewhere": gains.changed_elsewhere,
        "full": float(full.mean()) if rows.any() else None,
        "no_call": float(no_call.mean()) if rows.any() else None,
        **known_interval("net_per_call", gains.net_per_call),
        "flag": "calls harm" if gains.harms > gains.corrections else None,
    }


def by_class(audit: CallAudit) -> ReportTable:
    """Both selectors and the calls for each label, and for all."""
    gold = audit.holdout.gold
    assert gold is not None
    rows = [
        {"label": label, **_gains(audit, gold == k)}
        for k, label in enumerate(sorted(audit.contract.labels))
    ]
    rows.append({"label": ALL, **_gains(audit, np.ones(audit.holdout.n, dtype=bool))})
    return ReportTable(
        "by_class",
        "By class",
        (
            TableColumn("label", "label"),
            TableColumn("n", "n", "count"),
            TableColumn("full", "full, %", "share"),
            TableColumn("no_call", "no_call, %", "share"),
            *GAINS,
            TableColumn("flag", "flag"),
        ),
        tuple(rows),
        (GAINS_NOTE,),
    )


def by_stage(audit: CallAudit) -> ReportTable:
    """Which action decides in the full selector, how accurately, and what a call changed there."""
    part, full = audit.holdout, policy_of(audit, FULL)
    rows = []
    for k, action in enumerate(part.actions):
        if action.is_controller:
            continue
        own = np.asarray(full.chosen == k)
        row = {"action": action.name, "kind": action.kind, **_gains(audit, own)}
        if own.any():
            right = right_of(audit, FULL)[own]
            row |= named_interval("full", accuracy(right, part.clusters[own]))
        rows.append(row)
    return ReportTable(
        "by_stage",
        "Which action decides in full",
        (
            TableColumn("action", "action"),
            TableColumn("kind", "kind"),
            TableColumn("n", "decides", "count"),
            *with_interval("full", "full, %", interval_name(audit)),
            TableColumn("no_call", "no_call there, %", "share"),
            *GAINS,
        ),
        tuple(rows),
        ("An action that never decides has no accuracy.", GAINS_NOTE),
    )


def by_group(audit: CallAudit) -> ReportTable:
    """Both selectors and the calls for each group of speakers; no rows where none is known."""
    examples = audit.tables.examples.loc[audit.holdout.ids]
    column, names = "group", examples["group"]
    if names.isna().all() and examples["speaker"].nunique() <= MOST_SPEAKERS:
        column, names = "speaker", examples["speaker"]
    named = np.where(names.isna(), "(unknown)", names.astype(str))
    known = sorted(set(named)) if names.notna().any() else []
    rows = [{"group": name, **_gains(audit, named == name)} for name in known]
    return ReportTable(
        "by_group",
        f"By {column} of speakers" if column == "group" else "By speaker",
        (
            TableColumn("group", column),
            TableColumn("n", "n", "count"),
            TableColumn("full", "full, %", "share"),
            TableColumn("no_call", "no_call, %", "share"),
            *GAINS,
            TableColumn("flag", "flag"),
        ),
        tuple(rows),
        (GAINS_NOTE,),
    )


def value_per_call(audit: CallAudit) -> ReportTable:
    """What the calls of each policy corrected and harmed against its match without, and cost.

    Selectors against both readings of no_call; routes against the action that they start from; the
    calls of full by endpoint as well.
    """
    full = policy_of(audit, FULL)
    rows = [_per_call(audit, full, reference) for reference in (NO_CALL, NO_CALL_MASK)]
    calls = [k for k in np.flatnonzero(audit.holdout.is_call) if full.called[:, k].any()]
    rows += [_per_call(audit, full, NO_CALL, int(k)) for k in calls if len(calls) > 1]
    rows += [
        _per_call(audit, policy_of(audit, route.name), route.first)
        for route in audit.contract.routes
    ]
    return ReportTable(
        "value_per_call",
        "Value per call",
        (
            TableColumn("policy", "policy"),
            TableColumn("reference", "without calls"),
            TableColumn("endpoint", "calls of"),
            TableColumn("n_calls", "calls", "count"),
            TableColumn("corrections", "corrected", "count"),
            TableColumn("harms", "harmed", "count"),
            TableColumn("neutral", "neither", "count"),
            TableColumn("changed_elsewhere", "changed without a call", "count"),
            *with_interval("net_per_call", "net per 100 calls", "95 % CI, exact"),
            *(
                TableColumn(f"{name}_per_net", f"{head} per net correction", "number")
                for name, head in zip(
                    COSTS, ("s", "price", "s of audio sent", "tokens"), strict=True
                )
            ),
        ),
        tuple(rows),
        (
            "Cost per net correction is that of the calls over corrections less harms; empty where "
            "calls corrected no more than they harmed, or a cost is unknown.",
            "A policy of one endpoint among several counts only its own calls; what other calls "
            "changed is “without a call” there.",
        ),
    )


def _per_call(
    audit: CallAudit, policy: CallPolicy, reference: str, endpoint: int | None = None
) -> dict[str, Any]:
    part = audit.holdout
    made = (
        policy.called
        if endpoint is None
        else policy.called & (np.arange(len(part.actions)) == endpoint)
    )
    found = call_gains(
        right_of(audit, policy.name), right_of(audit, reference), np.asarray(made.any(axis=1))
    )
    costs = {}
    for name in COSTS:
        each = found.cost_per_net_correction(float(part.costs[name][made].sum()))
        costs[f"{name}_per_net"] = None if np.isnan(each) else each
    return {
        "policy": policy.name,
        "reference": reference,
        "endpoint": ALL if endpoint is None else part.actions[endpoint].name,
        **{key: getattr(found, key) for key in GAIN_COUNTS},
        **known_interval("net_per_call", found.net_per_call),
        **costs,
    }
