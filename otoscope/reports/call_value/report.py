"""Writes the report folder of a call-value audit: page, Markdown and tables."""

from pathlib import Path

from otoscope.audits.call_value.audit import CallAudit
from otoscope.reports.call_value.breakdowns import by_prompt, changed_examples
from otoscope.reports.call_value.class_scores import PolicyF1
from otoscope.reports.call_value.components import ledger_table
from otoscope.reports.call_value.contrasts import contrasts, contrasts_table, verdict
from otoscope.reports.call_value.diagnostics import fits
from otoscope.reports.call_value.figures import forest, frontier_figure, legend
from otoscope.reports.call_value.frontier import frontier
from otoscope.reports.call_value.gains import by_class, by_group, by_stage, value_per_call
from otoscope.reports.call_value.policy_rows import policies_table
from otoscope.reports.call_value.probabilities import (
    calibration_table,
    expected,
    reliability_table,
    signals,
)
from otoscope.reports.tables import ReportTable, TableColumn, in_markdown
from otoscope.reports.writing import write_report


def write_call_report(audit: CallAudit, out: Path) -> tuple[Path, list[str]]:
    """Writes the report into an audit's folder; returns the page and what may be said."""
    macro_f1 = PolicyF1(audit, [policy.name for policy in audit.policies])
    found = contrasts(audit, macro_f1)
    sentences = verdict(audit, found)
    curves, between = frontier(audit)
    splits = expected(audit)
    tables = [
        contrasts_table(audit, found),
        policies_table(audit, macro_f1),
        ledger_table(audit),
        by_stage(audit),
        value_per_call(audit),
        by_class(audit),
        by_group(audit),
        changed_examples(audit),
        by_prompt(audit),
        curves,
        between,
        fits(audit),
        signals(splits),
        calibration_table(splits),
        reliability_table(splits),
        checks_table(audit),
    ]
    page = write_report(
        out,
        tables,
        heading="Call-value report",
        facts=[*map(in_markdown, sentences), *map(in_markdown, facts(audit))],
        template="call_value.html.jinja",
        values={
            "forest": forest(found),
            "curves": frontier_figure(curves.rows),
            "legend": legend(curves.rows),
            "verdict": sentences,
            "facts": facts(audit),
            "task": audit.contract.task,
        },
    )
    return page, sentences


def facts(audit: CallAudit) -> list[str]:
    """What was evaluated, and how often."""
    contract = audit.contract
    times = "once" if audit.evaluations == 1 else f"{audit.evaluations} times"
    return [
        f"{audit.development.n} development and {audit.holdout.n} held-out examples, "
        f"{len(contract.labels)} labels, {len(contract.actions)} actions",
        f"contract {contract.sha256[:12]}, frozen before held-out labels were opened: "
        f"{audit.frozen_sha256[:12]}",
        f"held-out labels have been opened {times} under this contract file",
    ]


def checks_table(audit: CallAudit) -> ReportTable:
    """What the leakage checks found."""
    return ReportTable(
        "checks",
        "Leakage checks",
        (
            TableColumn("check", "looked for"),
            TableColumn("outcome", "outcome"),
            TableColumn("detail", "detail"),
        ),
        tuple(
            {"check": own.name, "outcome": own.outcome, "detail": own.detail}
            for own in audit.checks
        ),
        ("“unknown”: the tables have no column to check by.",),
    )
