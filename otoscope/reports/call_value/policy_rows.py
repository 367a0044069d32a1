"""Every policy on held-out examples: how often it is right, how often it calls, what it costs."""

from typing import Any

import numpy as np

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.contract import FULL, NO_CALL
from otoscope.audits.call_value.ledger import component_costs, latencies, policy_totals
from otoscope.audits.call_value.policies import CallPolicy
from otoscope.audits.call_value.schema import COSTS
from otoscope.reports.call_value.class_scores import PolicyF1
from otoscope.reports.call_value.gains import UNITS
from otoscope.reports.call_value.outcomes import accuracy, interval_name, policy_of, right_of
from otoscope.reports.tables import ReportTable, TableColumn, with_interval
from otoscope.statistics.intervals import named_interval, percentile_interval
from otoscope.statistics.random_routing import (
    N_DRAWS,
    expected_random_routing,
    random_routing,
)

POLICY = TableColumn("policy", "policy")
RANDOM = "as many random calls"
BOOTSTRAPPED = "95 % CI, bootstrap"


def policies_table(audit: CallAudit, macro_f1: PolicyF1 | None = None) -> ReportTable:
    """A row for each policy, selectors first and oracles last, and one of random calls.

    Args:
        macro_f1: Of all policies, where it is computed already.
    """
    macro_f1 = macro_f1 or PolicyF1(audit, [policy.name for policy in audit.policies])
    rows = [
        _row(audit, policy) | named_interval("macro_f1", macro_f1.of(policy.name))
        for policy in audit.policies
    ]
    rows.insert(len([p for p in audit.policies if p.role == "selector"]), _random(audit))
    costs = [
        TableColumn(key, head, "number")
        for name in COSTS
        for key, head in (
            (name, f"total, {UNITS[name]}"),
            (f"{name}_calls", f"of calls, {UNITS[name]}"),
        )
    ]
    return ReportTable(
        "policies",
        "Policies on held-out examples",
        (
            POLICY,
            TableColumn("role", "role"),
            TableColumn("n", "n", "count"),
            TableColumn("n_correct", "correct", "count"),
            TableColumn("n_unparsed", "without a label", "count"),
            *with_interval("accuracy", "accuracy, %", interval_name(audit)),
            *with_interval("macro_f1", "macro F1, %", BOOTSTRAPPED),
            TableColumn("n_calls", "calls", "count"),
            TableColumn("call_rate", "calls, %", "share"),
            TableColumn("planned_rate", "planned, %", "share"),
            *costs,
            TableColumn("cost_source", "cost"),
            TableColumn("latency_median_s", "median latency, s", "number"),
            TableColumn("latency_p95_s", "95 % latency, s", "number"),
            TableColumn("latency_parallel_median_s", "median, local side by side, s", "number"),
            TableColumn("audio_s_per_1000", "s of audio sent, 1,000 examples", "number"),
        ),
        tuple(rows),
        (
            "A policy is charged for every local action whose evidence it reads, both selectors "
            "for all. Totals are empty where a component's cost is unknown.",
            "Oracles choose with the labels known and are no policies.",
            f"“{RANDOM}”: as many calls as full makes, to the same models, for random examples, "
            f"no_call elsewhere; mean and 95 % range of {N_DRAWS:,} random choices, which is no "
            "confidence interval.",
            "Bootstrap: percentiles over resampled clusters, which are examples where no cluster "
            "has several.",
        ),
    )


def _row(audit: CallAudit, policy: CallPolicy) -> dict[str, Any]:
    part = audit.holdout
    right = policy.predicted == part.gold
    runs = policy.runs(part)
    costs = component_costs(part, runs, audit.allocated)
    absent = [name for name in COSTS if np.isnan(part.costs[name]).all()]
    totals = policy_totals(costs) | {
        key: None for name in absent for key in (name, f"{name}_calls")
    }
    route = next((own for own in audit.contract.routes if own.name == policy.name), None)
    sequential, parallel = latencies(part, runs)
    known = bool(np.isfinite(sequential).all())
    sent = totals["audio_s"]
    return {
        "policy": policy.name,
        "role": policy.role,
        "n": part.n,
        "n_correct": int(right.sum()),
        "n_unparsed": int(np.sum(policy.predicted < 0)),
        **named_interval("accuracy", accuracy(right, part.clusters)),
        "n_calls": int(policy.calls.sum()),
        "call_rate": float(policy.calls.mean()),
        "planned_rate": None if route is None else route.budget,
        **(totals if policy.role != "oracle" else {}),
        "cost_source": "allocated in part" if any(own.allocated for own in costs) else None,
        "latency_median_s": float(np.median(sequential)) if known else None,
        "latency_p95_s": float(np.quantile(sequential, 0.95)) if known else None,
        "latency_parallel_median_s": float(np.median(parallel)) if known else None,
        "audio_s_per_1000": None if sent is None else 1000 * sent / part.n,
    }


def random_accuracies(audit: CallAudit) -> tuple[np.ndarray, float]:
    """Accuracies with the calls of full given to random examples, and their expectation."""
    calls = np.flatnonzero(audit.holdout.is_call)
    local, by_call = right_of(audit, NO_CALL), audit.holdout.correct[:, calls]
    n_calls = policy_of(audit, FULL).called.sum(axis=0)[calls]
    rng = np.random.default_rng(audit.contract.settings.seed)
    drawn = random_routing(local, by_call, n_calls, rng=rng)
    return drawn, expected_random_routing(local, by_call, n_calls)


def _random(audit: CallAudit) -> dict[str, Any]:
    """Calls of the full selector spread at random."""
    drawn, expected = random_accuracies(audit)
    n_calls = int(policy_of(audit, FULL).calls.sum())
    return {
        "policy": RANDOM,
        "role": "reference",
        "n": audit.holdout.n,
        **named_interval("accuracy", percentile_interval(expected, drawn, 0.95)),
        "n_calls": n_calls,
        "call_rate": n_calls / audit.holdout.n,
    }
