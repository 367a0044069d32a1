"""The main result of one run in a line: accuracy with its interval and number of questions."""

from pathlib import Path

from otoscope.registry import Registry, imported
from otoscope.reports.tables import ReportTable, TableColumn, printed

HEADLINES: Registry[str] = Registry(
    "headline",
    {
        "perception": "otoscope.reports.perception.scores:main_scores",
        "meld": "otoscope.reports.meld:main_scores",
        "labels": "otoscope.reports.labels:main_scores",
    },
)
"""Name of an audit to `module:function`, from a run folder to a table whose first row counts."""


def headline(run: Path | str) -> str:
    """As in `accuracy 61.3 % (95 % CI 55.0 to 67.2), n = 2,160`; empty where there is none."""
    from otoscope.audits.runs import read_about

    audit = str(read_about(Path(run)).get("audit"))
    table: ReportTable | None = imported(HEADLINES[audit])(run) if audit in HEADLINES else None
    return headline_of(table) if table is not None and table.rows else ""


def headline_of(table: ReportTable) -> str:
    """The same from a table with columns `accuracy`, its interval and `n`, for its first row."""
    row = table.rows[0]
    intervals = (column for column in table.filled if column.kind == "interval")
    interval = next((c for c in intervals if row.get(c.key) is not None), None)
    accuracy = printed(row, TableColumn("accuracy", "", "share"))
    within = f" ({interval.head}: {printed(row, interval)})" if interval else ""
    return f"accuracy {accuracy} %{within}, n = {row['n']:,}"
