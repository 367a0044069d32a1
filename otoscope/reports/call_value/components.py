"""What each policy pays for: its components, measured, allocated or unknown."""

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.ledger import component_costs
from otoscope.reports.tables import ReportTable, TableColumn

WITHOUT = ("oracle", "ablation")


def ledger_table(audit: CallAudit) -> ReportTable:
    """A row for each action that a policy needs on some held-out example."""
    rows = [
        {
            "policy": policy.name,
            "component": own.component,
            "n": own.n,
            **own.totals,
            "allocated": ", ".join(own.allocated) or None,
        }
        for policy in audit.policies
        if policy.role not in WITHOUT
        for own in component_costs(audit.holdout, policy.runs(audit.holdout), audit.allocated)
    ]
    return ReportTable(
        "ledger",
        "Costs by component, over held-out examples",
        (
            TableColumn("policy", "policy"),
            TableColumn("component", "component"),
            TableColumn("n", "examples", "count"),
            TableColumn("wall_s", "s", "number"),
            TableColumn("price", "price", "number"),
            TableColumn("audio_s", "audio sent, s", "number"),
            TableColumn("tokens", "tokens", "number"),
            TableColumn("allocated", "allocated"),
        ),
        tuple(rows),
        (
            "Allocated: the contract declares the total over held-out examples, spread evenly. "
            "Empty: unknown for some example.",
        ),
    )
