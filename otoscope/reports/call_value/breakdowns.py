"""Example by example, and prompt by prompt."""

from typing import Any

import numpy as np

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.contract import FULL, NO_CALL
from otoscope.audits.call_value.frozen import development_part
from otoscope.audits.call_value.parts import part_of
from otoscope.audits.call_value.routing import follow
from otoscope.audits.call_value.schema import HOLDOUT
from otoscope.reports.call_value.outcomes import accuracy, interval_name, policy_of, right_of
from otoscope.reports.tables import ReportTable, TableColumn, with_interval
from otoscope.statistics.intervals import named_interval


def changed_examples(audit: CallAudit) -> ReportTable:
    """Every held-out example on which one of both selectors alone is right."""
    part = audit.holdout
    full, no_call = policy_of(audit, FULL), policy_of(audit, NO_CALL)
    names = [*sorted(audit.contract.labels), "(unparsed)"]
    assert part.gold is not None
    assert full.chosen is not None
    assert no_call.chosen is not None
    gained = right_of(audit, FULL).astype(int) - right_of(audit, NO_CALL)
    rows = []
    for i in np.flatnonzero(gained):
        called = bool(full.calls[i])
        how = ("corrected", "harmed")[int(gained[i] < 0)]
        rows.append(
            {
                "example_id": str(part.ids[i]),
                "label": names[part.gold[i]],
                "outcome": f"{how} by a call" if called else f"{how} without a call",
                "full_action": part.actions[full.chosen[i]].name,
                "full_label": names[full.predicted[i]],
                "no_call_action": part.actions[no_call.chosen[i]].name,
                "no_call_label": names[no_call.predicted[i]],
            }
        )
    rows.sort(key=lambda row: (row["outcome"], row["example_id"]))
    columns = ("example_id", "label", "outcome", "full_action", "full_label")
    return ReportTable(
        "changed_examples",
        "Examples on which one selector alone is right",
        tuple(
            TableColumn(key, key.replace("_", " ").replace("no call", "no_call"))
            for key in (*columns, "no_call_action", "no_call_label")
        ),
        tuple(rows),
    )


def by_prompt(audit: CallAudit) -> ReportTable:
    """Each call with each of its prompts: alone, and on the routes that lead to it."""
    contract, frozen = audit.contract, audit.frozen
    rows: list[dict[str, Any]] = []
    for action, scores in frozen.prompt_scores.items():
        for prompt, n_right in scores.items():
            prompts = {**frozen.prompts, action: prompt}
            part = part_of(
                audit.tables, HOLDOUT, contract.actions, contract.labels, prompts=prompts
            )
            shared = {
                "action": action,
                "prompt": prompt,
                "chosen": "chosen" if frozen.prompts[action] == prompt else None,
                "development": n_right / development_part(audit.tables, contract).n,
            }
            policies = {action: np.full(part.n, part.index(action))}
            for route in contract.routes:
                if route.call == action:
                    policies[route.name] = follow(route, part, frozen.at(route))
            for name, chosen in policies.items():
                right = part.correct[np.arange(part.n), chosen]
                interval = named_interval("accuracy", accuracy(right, part.clusters))
                rows.append({**shared, "policy": name, **interval})
    return ReportTable(
        "by_prompt",
        "By prompt",
        (
            TableColumn("action", "action"),
            TableColumn("prompt", "prompt"),
            TableColumn("chosen", "on development"),
            TableColumn("development", "alone on development, %", "share"),
            TableColumn("policy", "policy"),
            *with_interval("accuracy", "held out, %", interval_name(audit)),
        ),
        tuple(rows),
        ("The prompt was chosen on development examples; the others are shown for comparison.",),
    )
