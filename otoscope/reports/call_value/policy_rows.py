"""Every policy on held-out examples: how often it is right, how often it calls, what it costs."""

from typing import Any

import numpy as np

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.ledger import component_costs, latencies, policy_totals
from otoscope.audits.call_value.policies import CallPolicy
from otoscope.audits.call_value.schema import COSTS
from otoscope.reports.tables import ReportTable, TableColumn, with_interval
from otoscope.statistics.intervals import Interval, clustered_interval, named_interval, wilson
from otoscope.statistics.macro_f1 import macro_f1
from otoscope.statistics.method_names import CLUSTERED
from otoscope.statistics.random_routing import expected_random_routing

POLICY = TableColumn("policy", "policy")
UNITS = {"wall_s": "s", "price": "price", "audio_s": "s of audio sent", "tokens": "tokens"}
RANDOM = "as many random calls"


def interval_name(audit: CallAudit) -> str:
    """Of the intervals of shares."""
    return f"95 % CI, {CLUSTERED}" if is_clustered(audit) else "95 % CI, Wilson"


def is_clustered(audit: CallAudit) -> bool:
    """Whether some cluster has several held-out examples."""
    return len(np.unique(audit.holdout.clusters)) < audit.holdout.n


def accuracy(right: np.ndarray, clusters: np.ndarray) -> Interval:
    """Share of correct examples: Wilson's interval, or the clustered one."""
    if len(np.unique(clusters)) == len(clusters):
        return wilson(int(right.sum()), len(right))
    return clustered_interval(right, clusters)


def right_of(audit: CallAudit, name: str) -> np.ndarray:
    """Whether a policy is right on each held-out example."""
    return np.asarray(policy_of(audit, name).predicted == audit.holdout.gold)


def policy_of(audit: CallAudit, name: str) -> CallPolicy:
    """The policy of that name."""
    return next(policy for policy in audit.policies if policy.name == name)


def macro_f1_of(audit: CallAudit, predicted: np.ndarray) -> float:
    """Mean F1 of the classes that occur."""
    gold, n_labels = audit.holdout.gold, len(audit.contract.labels)
    assert gold is not None
    counts = np.zeros((n_labels, n_labels + 1), dtype=np.int64)
    np.add.at(counts, (gold, np.where(predicted < 0, n_labels, predicted)), 1)
    return float(macro_f1(counts))


def policies_table(audit: CallAudit) -> ReportTable:
    """A row for each policy, selectors first and oracles last, and one of random calls."""
    rows = [_row(audit, policy) for policy in audit.policies]
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
            *with_interval("accuracy", "accuracy, %", interval_name(audit)),
            TableColumn("macro_f1", "macro F1, %", "share"),
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
            f"“{RANDOM}”: the calls of full, to the same models, for random examples, no_call "
            "elsewhere; expected accuracy.",
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
        **named_interval("accuracy", accuracy(right, part.clusters)),
        "macro_f1": macro_f1_of(audit, policy.predicted),
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


def _random(audit: CallAudit) -> dict[str, Any]:
    """Calls of the full selector spread at random."""
    full = policy_of(audit, "full")
    calls = np.flatnonzero(audit.holdout.is_call)
    n_calls = full.called.sum(axis=0)[calls]
    share = expected_random_routing(
        right_of(audit, "no_call"), audit.holdout.correct[:, calls], n_calls
    )
    return {
        "policy": RANDOM,
        "role": "reference",
        "n": audit.holdout.n,
        "accuracy": share,
        "n_calls": int(n_calls.sum()),
        "call_rate": float(n_calls.sum() / audit.holdout.n),
    }
