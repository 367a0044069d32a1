"""What the paper on generative audio calls printed, beside an audit of the same task.

Source: `../data/README.md`.
"""

from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from otoscope.audits.call_value.audit import CallAudit
from otoscope.errors import InputError
from otoscope.reports.call_value.outcomes import accuracy, interval_name, right_of
from otoscope.reports.tables import ReportTable, TableColumn, with_interval
from otoscope.statistics.intervals import named_interval, wilson

SOURCE = "M. Geng (2026), arXiv 2608.27817"
RESULTS, CONTRASTS = "call_value_published.csv", "call_value_published_contrasts.csv"


@cache
def published_calls(name: str = RESULTS) -> pd.DataFrame:
    """Results or contrasts of the paper, in the order of the file; not to be changed.

    Texts that do not apply are empty, numbers that were not printed NaN.
    """
    with (files("otoscope.reports") / "data" / name).open("rb") as file:
        table = pd.read_csv(file)
    texts = table.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]]
    return table.fillna(dict.fromkeys(texts, "")).assign(data=table["data"].fillna(""))


def validate_published(task: str | None) -> None:
    """Raises `InputError` where the paper has no task of a name that was given."""
    known = list(dict.fromkeys(published_calls()["task"]))
    if task is not None and task not in known:
        raise InputError(f"the paper has no task {task!r}; there are {', '.join(known)}")


def published_tables(audit: CallAudit, task: str | None = None) -> list[ReportTable]:
    """The paper's results of a task, beside those of policies with the same name here.

    Args:
        task: Whose; by default the contract's. Without rows where the paper has no such task.

    Raises:
        InputError: The paper has no task of a name that was given.
    """
    validate_published(task)
    wanted = audit.contract.task if task is None else task
    return [_results(audit, wanted), _contrasts(wanted)]


def _of(name: str, task: str) -> list[dict[str, Any]]:
    table = published_calls(name)
    rows = table[table["task"] == task].to_dict("records")
    return [{str(k): None if v == "" or pd.isna(v) else v for k, v in row.items()} for row in rows]


def _results(audit: CallAudit, task: str) -> ReportTable:
    names = {policy.name for policy in audit.policies}
    rows = []
    for row in _of(RESULTS, task):
        row |= named_interval("accuracy", wilson(int(row["n_correct"]), int(row["n"])))
        if row["here"] in names:
            own = accuracy(right_of(audit, row["here"]), audit.holdout.clusters)
            row |= named_interval("own", own)
        rows.append(row)
    return ReportTable(
        "published",
        "The paper's results of this task",
        (
            TableColumn("data", "split"),
            TableColumn("policy", "policy in the paper"),
            TableColumn("n", "n", "count"),
            TableColumn("n_correct", "correct", "count"),
            *with_interval("accuracy", "accuracy, %", "95 % CI, Wilson"),
            TableColumn("here", "name here"),
            *with_interval("own", "accuracy here, %", interval_name(audit)),
            TableColumn("macro_f1", "macro F1, %", "share"),
            TableColumn("call_rate", "calls, %", "share"),
            TableColumn("total_s", "total, s", "number"),
            TableColumn("generative_s", "of calls, s", "number"),
            TableColumn("place", "place"),
        ),
        tuple(rows),
        (
            f"Source: {SOURCE}. Counts are derived from the printed accuracies, and intervals from "
            "the counts. Other models, prompts and examples than here: numbers beside each other, "
            "not a comparison.",
        ),
    )


def _contrasts(task: str) -> ReportTable:
    return ReportTable(
        "published_contrasts",
        "The paper's contrasts of this task, in points",
        (
            TableColumn("data", "split"),
            TableColumn("policy", "policy in the paper"),
            TableColumn("reference", "reference"),
            TableColumn("role", "role"),
            TableColumn("n", "n", "count"),
            TableColumn("only_policy_correct", "only policy correct", "count"),
            TableColumn("only_reference_correct", "only reference correct", "count"),
            TableColumn("difference", "difference", "share"),
            TableColumn("low", "95 % CI, bootstrap", "interval", high="high"),
            TableColumn("p", "p, exact McNemar", "p"),
            TableColumn("p_holm", "p, Holm", "p"),
        ),
        tuple(
            {k: int(v) if k.startswith("only") and v is not None else v for k, v in row.items()}
            for row in _of(CONTRASTS, task)
        ),
        (
            f"Source: {SOURCE}. Beyond the primary contrast the discordant counts are derived: no "
            "others give what is printed.",
        ),
    )
