"""Accuracy against calls and cost: selectors over λ, routes over budgets, random calls.

Descriptive: the curves are drawn with held-out labels, and no policy is selected on them. Each
threshold of a route is a quantile of development examples.
"""

from typing import Any

import numpy as np

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.contract import FULL, NO_CALL, Route
from otoscope.audits.call_value.ledger import component_costs, policy_totals
from otoscope.audits.call_value.policies import CallPolicy, choosing
from otoscope.audits.call_value.routing import doubt_of, follow, threshold
from otoscope.audits.call_value.selector import choose
from otoscope.reports.call_value.policy_rows import accuracy, interval_name, right_of
from otoscope.reports.tables import ReportTable, TableColumn, with_interval
from otoscope.statistics.intervals import named_interval
from otoscope.statistics.random_routing import expected_random_routing

SHOWN = ("wall_s", "price", "audio_s")
BUDGETS = tuple(k / 10 for k in range(11))


NOISE = 1e-9


def frontier(audit: CallAudit) -> ReportTable:
    """A row for each point of each curve, with a pointwise interval."""
    rows = [*_selectors(audit), *_routes(audit)]
    for row in rows:
        row["dominated"] = "dominated" if any(_better(other, row) for other in rows) else None
    rows += _random(audit)
    return ReportTable(
        "frontier",
        "Accuracy against calls and cost",
        (
            TableColumn("curve", "curve"),
            TableColumn("lambda", "λ", "number"),
            TableColumn("budget", "budget, %", "share"),
            TableColumn("call_rate", "calls, %", "share"),
            *with_interval("accuracy", "accuracy, %", f"{interval_name(audit)}, pointwise"),
            TableColumn("wall_s", "total, s", "number"),
            TableColumn("price", "total, price", "number"),
            TableColumn("audio_s", "audio sent, s", "number"),
            TableColumn("dominated", "dominated"),
        ),
        tuple(rows),
        (
            "Dominated: another point is at least as accurate with at most as many calls and at "
            "most the cost, where it is known, and better in one of these. Points of this table "
            "were not selected, and intervals are pointwise: the best of a curve is too "
            "optimistic.",
        ),
    )


def _better(other: dict[str, Any], row: dict[str, Any]) -> bool:
    gain = [other["accuracy"] - row["accuracy"], row["call_rate"] - other["call_rate"]]
    for name in SHOWN:
        if (own := row.get(name)) is not None and (others := other.get(name)) is not None:
            gain.append(own - others)
    return min(gain) >= -NOISE and max(gain) > NOISE


def _point(audit: CallAudit, policy: CallPolicy) -> dict[str, Any]:
    part = audit.holdout
    totals = policy_totals(component_costs(part, policy.runs(part), audit.allocated))
    absent = [name for name in part.costs if np.isnan(part.costs[name]).all()]
    right = np.asarray(policy.predicted == part.gold)
    return {
        "call_rate": float(policy.calls.mean()),
        **named_interval("accuracy", accuracy(right, part.clusters)),
        **{name: None if name in absent else totals[name] for name in SHOWN},
    }


def _selectors(audit: CallAudit) -> list[dict[str, Any]]:
    rows = []
    for name in (FULL, NO_CALL):
        model = audit.frozen.selectors[name].model
        own = [audit.holdout.index(action) for action in model.actions]
        part = audit.holdout.only(own)
        probabilities = model.probabilities(part)
        local = frozenset(action.name for action in part.actions if not action.is_call)
        for weight in sorted(audit.contract.settings.lambdas):
            chosen = np.array(own)[choose(probabilities, part, weight)]
            policy = choosing(name, "selector", audit.holdout, chosen, local)
            rows.append({"curve": name, "lambda": weight, **_point(audit, policy)})
    return rows


def _routes(audit: CallAudit) -> list[dict[str, Any]]:
    rows = []
    for first, call in dict.fromkeys((own.first, own.call) for own in audit.contract.routes):
        values = doubt_of(audit.development, first)
        for budget in BUDGETS:
            route = Route(first, call, budget, False)
            chosen = follow(route, audit.holdout, threshold(values, budget))
            policy = choosing(route.name, "route", audit.holdout, chosen, frozenset([first]))
            rows.append({"curve": f"{first}→{call}", "budget": budget, **_point(audit, policy)})
    return rows


def _random(audit: CallAudit) -> list[dict[str, Any]]:
    part, local = audit.holdout, right_of(audit, NO_CALL)
    rows = []
    for k in np.flatnonzero(part.is_call):
        for budget in BUDGETS:
            n_calls = int(np.floor(budget * part.n + 0.5))
            share = expected_random_routing(local, part.correct[:, [k]], np.array([n_calls]))
            rows.append(
                {
                    "curve": f"no_call→{part.actions[k].name}, random",
                    "budget": budget,
                    "call_rate": n_calls / part.n,
                    "accuracy": share,
                }
            )
    return rows
