"""Writes the report folder of a call-value audit: page, Markdown and tables."""

from dataclasses import replace
from pathlib import Path

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.limits import LIMITS
from otoscope.audits.labelled import LabelledData
from otoscope.reports.call_value.breakdowns import by_prompt, changed_examples
from otoscope.reports.call_value.changed_audio import changed_cards
from otoscope.reports.call_value.class_scores import PolicyF1
from otoscope.reports.call_value.components import ledger_table
from otoscope.reports.call_value.contrasts import contrasts, contrasts_table, verdict
from otoscope.reports.call_value.diagnostics import fits
from otoscope.reports.call_value.figures import forest, route_panels
from otoscope.reports.call_value.findings import findings, simulated_notes
from otoscope.reports.call_value.frontier import frontier
from otoscope.reports.call_value.frontier_figure import frontier_legend, frontier_panels
from otoscope.reports.call_value.gains import by_class, by_group, by_stage, value_per_call
from otoscope.reports.call_value.pictures import (
    confusion_panels,
    confusion_table,
    reliability_panels,
)
from otoscope.reports.call_value.policy_rows import policies_table
from otoscope.reports.call_value.probabilities import (
    calibration_table,
    expected,
    reliability_table,
    signals,
)
from otoscope.reports.call_value.published import published_tables
from otoscope.reports.call_value.repeats import fold_repeats, repeats_sentence, repeats_table
from otoscope.reports.tables import ReportTable, TableColumn, in_markdown
from otoscope.reports.writing import write_report


def write_call_report(
    audit: CallAudit,
    out: Path,
    dataset: LabelledData | None = None,
    published: str | None = None,
) -> tuple[Path, list[str]]:
    """Writes the report into an audit's folder; returns the page and what may be said.

    Args:
        dataset: Where the examples' audio is, by their `example_id`; no players without it.
        published: The paper's task whose results stand beside; by default the contract's own.

    Raises:
        InputError: The paper has no task of that name.
    """
    macro_f1 = PolicyF1(audit, [policy.name for policy in audit.policies])
    found = contrasts(audit, macro_f1)
    sentences = verdict(audit, found)
    warning, note = simulated_notes(audit)
    made = all_tables(audit, contrasts_table(audit, found), macro_f1)
    repeated = fold_repeats(audit)
    made = [*made, repeats_table(repeated), *published_tables(audit, published)]
    tables = {own.name: own for own in made}
    if note:
        sentences.append(warning)
        tables = {k: replace(own, notes=(*own.notes, note)) for k, own in tables.items()}
    more = findings(audit, tables)
    if sentence := repeats_sentence(repeated):
        more.insert(0, sentence)
    rows, ticks = forest(found)
    curves = tables["frontier"].rows
    page = write_report(
        out,
        tables.values(),
        heading="Call-value report",
        facts=[*map(in_markdown, sentences), *map(in_markdown, more + facts(audit))],
        template="call_value.html.jinja",
        values={
            "task": audit.contract.task,
            "verdict": sentences,
            "findings": more,
            "facts": facts(audit),
            "simulated": (warning, note),
            "forest": rows,
            "ticks": ticks,
            "legend": frontier_legend(curves),
            "frontier": frontier_panels(curves),
            "routes": route_panels(curves),
            "confusion": confusion_panels(audit),
            "reliability": reliability_panels(tables["reliability"].rows),
            "cards": changed_cards(audit, tables["changed_examples"].rows, dataset),
            "with_audio": dataset is not None,
        },
    )
    return page, sentences


def all_tables(
    audit: CallAudit, contrasts_: ReportTable, macro_f1: PolicyF1 | None = None
) -> list[ReportTable]:
    """Every table of the report, in the order of the Markdown."""
    curves, between = frontier(audit)
    splits = expected(audit)
    return [
        contrasts_,
        policies_table(audit, macro_f1),
        ledger_table(audit),
        by_stage(audit),
        value_per_call(audit),
        by_class(audit),
        by_group(audit),
        changed_examples(audit),
        confusion_table(audit),
        by_prompt(audit),
        curves,
        between,
        fits(audit),
        signals(splits),
        calibration_table(splits),
        reliability_table(splits),
        checks_table(audit),
        limits_table(),
    ]


def limits_table() -> ReportTable:
    """What no number of the report shows."""
    rows = tuple({"limit": limit} for limit in LIMITS)
    return ReportTable("limits", "What this does not show", (TableColumn("limit", "limit"),), rows)


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
