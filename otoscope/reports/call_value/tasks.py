"""Several audits beside each other: what calls add on each task.

    audits = [read_task_audit("vocalsound"), read_task_audit("esd")]
    write_tasks_report(audits, "tasks")

Holm's correction is over the tasks. Their mean is a description: tasks are no sample of tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from otoscope.audits.call_value.audit import CHOICES, validate_free
from otoscope.audits.call_value.contract import FULL, NO_CALL, Contract, read_contract
from otoscope.audits.call_value.schema import TRANSCRIPT, CallValueError
from otoscope.errors import first_line
from otoscope.reports.call_value.figures import ForestItem, forest, signed
from otoscope.reports.tables import ReportTable, TableColumn, in_markdown, per_cent, with_interval
from otoscope.reports.writing import write_report
from otoscope.statistics.gain_wording import GainEvidence, evidence_of_answers
from otoscope.statistics.intervals import Interval, named_interval
from otoscope.statistics.multiplicity import holm

NEEDED = ("example_id", "cluster_id", "policy", "called", "correct")
Z = 1.959964


@dataclass(frozen=True)
class TaskAudit:
    """What a finished audit says of its task.

    Attributes:
        name: Its task, or its folder where tasks have no name or share one.
        correct: A row for each held-out example, a column for each policy.
        call_rate: Share of calls of the full selector.
        evidence: Of full against no_call.
    """

    name: str
    contract: Contract
    correct: pd.DataFrame
    call_rate: float
    evidence: GainEvidence


def read_task_audit(folder: Path | str) -> TaskAudit:
    """A finished audit's result.

    Raises:
        CallValueError: The folder has no contract or choices, or those of an earlier version.
    """
    folder = Path(folder)
    for name in ("contract.json", CHOICES):
        if not (folder / name).is_file():
            raise CallValueError(f"{folder} is no finished audit of calls: it has no {name}")
    contract = read_contract(folder / "contract.json")
    try:
        table = pd.read_parquet(folder / CHOICES)
    except (OSError, ValueError) as error:
        raise CallValueError(f"{folder / CHOICES} cannot be read: {first_line(error)}") from error
    if missing := [name for name in NEEDED if name not in table]:
        raise CallValueError(
            f"{folder / CHOICES} has no column {missing[0]!r}: it was written by an earlier "
            "version; run the audit again"
        )
    correct = table.pivot(index="example_id", columns="policy", values="correct").astype(bool)
    full = table[table["policy"] == FULL].set_index("example_id").loc[correct.index]
    return TaskAudit(
        name=contract.task or folder.name,
        contract=contract,
        correct=correct,
        call_rate=float(full["called"].mean()),
        evidence=evidence_of_answers(
            correct[FULL].to_numpy(),
            correct[NO_CALL].to_numpy(),
            full["cluster_id"].to_numpy().astype(str),
            margin=contract.margin,
        ),
    )


def task_rows(audits: Sequence[TaskAudit]) -> list[dict[str, Any]]:
    """A row for each task, with Holm's p over all of them."""
    adjusted = holm(np.array([own.evidence.p_value for own in audits]))
    return [
        {
            "task": own.name,
            "n": len(own.correct),
            "full": float(own.correct[FULL].mean()),
            "no_call": float(own.correct[NO_CALL].mean()),
            "call_rate": own.call_rate,
            "only_full": own.evidence.counts.only_first,
            "only_no_call": own.evidence.counts.only_second,
            **named_interval("difference", own.evidence.two_sided),
            "p_value": own.evidence.p_value,
            "p_holm": float(p),
            "gain_excluded_above": own.evidence.one_sided.high,
            "equivalent": "established" if own.evidence.within_margin else "not established",
            **_singles(own),
        }
        for own, p in zip(audits, adjusted, strict=True)
    ]


def _singles(audit: TaskAudit) -> dict[str, Any]:
    """The transcript, the best encoder and the best call, each alone."""
    found: dict[str, Any] = {}
    for kind in (TRANSCRIPT, "encoder", "generative"):
        names = [action.name for action in audit.contract.actions if action.kind == kind]
        shares = {name: float(audit.correct[name].mean()) for name in names}
        if shares:
            found[kind] = max(shares.values())
            found[f"{kind}_name"] = max(shares, key=lambda name: shares[name])
    return found


def mean_over_tasks(audits: Sequence[TaskAudit]) -> Interval | None:
    """Random-effects mean of the differences; none for fewer than two tasks.

    Standard errors are those of the tasks' intervals.

    Source: R. DerSimonian and N. Laird (1986), https://doi.org/10.1016/0197-2456(86)90046-2
    """
    if len(audits) < 2:
        return None
    effects, lows, highs = np.array([own.evidence.two_sided for own in audits]).T
    variances = ((highs - lows) / (2 * Z)) ** 2
    weights = 1 / variances
    fixed = np.average(effects, weights=weights)
    heterogeneity = np.sum(weights * (effects - fixed) ** 2) - (len(audits) - 1)
    between = heterogeneity / (weights.sum() - np.sum(weights**2) / weights.sum())
    weights = 1 / (variances + max(0.0, float(between)))
    mean, reach = float(np.average(effects, weights=weights)), Z / float(weights.sum()) ** 0.5
    return Interval(mean, mean - reach, mean + reach)


def tasks_table(audits: Sequence[TaskAudit]) -> ReportTable:
    """Every task, and the mean as a description."""
    rows = task_rows(audits)
    if (mean := mean_over_tasks(audits)) is not None:
        rows.append({"task": "random-effects mean", **named_interval("difference", mean)})
    simulated = [
        f"{own.name}: {action.name}"
        for own in audits
        for action in own.contract.actions
        if action.is_simulated
    ]
    notes: tuple[str, ...] = (
        "Difference: full minus no_call; Tango's interval and exact McNemar, or clustered t and "
        "the cluster sign flip where clusters have several examples. Holm's correction is over "
        "tasks.",
        "The random-effects mean (DerSimonian and Laird) only describes these tasks.",
    )
    if simulated:
        notes = (*notes, f"Simulated, no models: {', '.join(simulated)}.")
    return ReportTable(
        "tasks",
        "What calls add, by task",
        (
            TableColumn("task", "task"),
            TableColumn("n", "n", "count"),
            TableColumn("full", "full, %", "share"),
            TableColumn("no_call", "no_call, %", "share"),
            TableColumn("call_rate", "calls, %", "share"),
            TableColumn("only_full", "only full correct", "count"),
            TableColumn("only_no_call", "only no_call correct", "count"),
            *with_interval("difference", "difference, points", "95 % CI"),
            TableColumn("p_value", "p", "p"),
            TableColumn("p_holm", "p, Holm", "p"),
            TableColumn("gain_excluded_above", "gains above are excluded, points", "share"),
            TableColumn("equivalent", "within the margin"),
            TableColumn("transcript", "transcript alone, %", "share"),
            TableColumn("encoder", "best encoder alone, %", "share"),
            TableColumn("encoder_name", "which"),
            TableColumn("generative", "best call alone, %", "share"),
            TableColumn("generative_name", "which"),
        ),
        tuple(rows),
        notes,
    )


def task_sentences(audits: Sequence[TaskAudit]) -> list[str]:
    """What may be said of all tasks together."""
    rows = task_rows(audits)
    gains = [row["task"] for row in rows if row["p_holm"] <= 0.05 and row["difference"] > 0]
    losses = [row["task"] for row in rows if row["p_holm"] <= 0.05 and row["difference"] < 0]
    parts = [f"a gain from calls was detected on {', '.join(gains) if gains else 'no task'}"]
    if losses:
        parts.append(f"a loss on {', '.join(losses)}")
    sentences = [f"Of {len(rows)} tasks, with Holm's correction, {' and '.join(parts)}."]
    for row in rows:
        alone = {kind: row[kind] for kind in (TRANSCRIPT, "encoder", "generative") if kind in row}
        order = sorted(alone, key=lambda kind: -alone[kind])
        ranked = ", ".join(f"{NAMES[kind]} {per_cent(alone[kind])} %" for kind in order)
        sentences.append(
            f"{row['task']}: {signed(100 * row['difference'])} points "
            f"({signed(100 * row['difference_low'])} to {signed(100 * row['difference_high'])}); "
            f"alone: {ranked}."
        )
    return sentences


NAMES = {TRANSCRIPT: "transcript", "encoder": "best encoder", "generative": "best call"}


def write_tasks_report(folders: Sequence[Path | str], out: Path) -> tuple[Path, list[str]]:
    """Writes the report of several finished audits; returns its page and its sentences.

    Raises:
        CallValueError: A folder is no finished audit, is given twice, or `out` holds something.
    """
    paths = [Path(folder) for folder in folders]
    resolved = [path.resolve() for path in paths]
    if len(set(resolved)) < len(resolved):
        raise CallValueError("an audit is given twice")
    validate_free(out)
    audits = _named(paths, [read_task_audit(path) for path in paths])
    table, sentences = tasks_table(audits), task_sentences(audits)
    rows = task_rows(audits)
    items = [
        ForestItem(own.name, NO_CALL, "primary", own.evidence, row["p_holm"])
        for own, row in zip(audits, rows, strict=True)
    ]
    drawn, ticks = forest(items)
    page = write_report(
        out,
        [table],
        heading="Calls on several tasks",
        facts=map(in_markdown, sentences),
        template="call_value_tasks.html.jinja",
        values={"sentences": sentences, "forest": drawn, "ticks": ticks},
    )
    return page, sentences


def _named(paths: Sequence[Path], audits: Sequence[TaskAudit]) -> list[TaskAudit]:
    """Audits of tasks with the same name are told apart by their folders."""
    names = [own.name for own in audits]
    return [
        own if names.count(own.name) == 1 else replace(own, name=f"{own.name} ({path})")
        for path, own in zip(paths, audits, strict=True)
    ]
