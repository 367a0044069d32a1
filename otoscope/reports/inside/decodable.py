"""Tables of what is decodable by a linear probe and not answered by the model."""

from collections.abc import Sequence

from otoscope.reports.inside.columns import (
    CATEGORY,
    LAYER,
    MODEL,
    N_SOURCES,
    StudyRow,
    by_category,
    named,
    probe_rows,
)
from otoscope.reports.inside.reading import StudyResults, predicts_answer
from otoscope.reports.inside.stored_names import decodable_row
from otoscope.reports.tables import DIFFERENCE_CI, ReportTable, TableColumn, with_interval
from otoscope.statistics.method_names import CLUSTERED_NOTE

NOTES = (
    "A probe at chance is correct on about half of the clips that are answered wrongly, so the "
    "share that is decodable and not answered contains chance hits. Chance-corrected: only the "
    "probe correct, minus neither correct; 0 for a probe at chance where the answer is wrong.",
    "Decodable minus answered is paired. McNemar's test takes clips as independent, the "
    "interval does not: where they disagree, use the interval. Holm: over all sites and "
    "categories.",
    CLUSTERED_NOTE,
)


def tables(study: StudyResults) -> list[ReportTable]:
    """At the last layer of each model, and at every layer."""
    title = "Decodable but not answered, by layer"
    return [at_last_layer(study), _table("decodable_by_layer", title, decodable_rows(study))]


def decodable_rows(study: StudyResults) -> list[StudyRow]:
    """At every layer where the answer is predicted."""
    found = [
        decodable_row(row) | named(model)
        for model, rows in study.decodable.items()
        for row in probe_rows(rows)
        if predicts_answer(row["site"])
    ]
    return by_category(study, found)


def at_last_layer(study: StudyResults) -> ReportTable:
    """At the last layer of each model."""
    rows = decodable_rows(study)
    last = {row["key"]: row["layer"] for row in sorted(rows, key=lambda row: row["layer"])}
    return _table(
        "decodable_at_last_layer", "Decodable but not answered, at the last layer",
        [row for row in rows if row["layer"] == last[row["key"]]],
    )  # fmt: skip


def _table(name: str, title: str, rows: Sequence[StudyRow]) -> ReportTable:
    return ReportTable(
        name, title,
        (CATEGORY, MODEL, LAYER,
         *with_interval("decodable_not_answered", "decodable, not answered, %"),
         *with_interval("chance_corrected", "chance-corrected, points", DIFFERENCE_CI),
         *with_interval(
             "decodable_minus_answered", "decodable minus answered, points", DIFFERENCE_CI
         ),
         TableColumn("decodable", "decodable, %", "share"),
         TableColumn("answered", "answered correctly, %", "share"),
         *with_interval("answered_not_decodable", "answered, not decodable, %"),
         *with_interval("probe_where_wrong", "probe accuracy where the answer is wrong, %"),
         *with_interval("control_where_wrong", "control accuracy where the answer is wrong, %"),
         TableColumn("p_mcnemar", "p, McNemar", "p"), TableColumn("p_holm", "p, Holm", "p"),
         TableColumn("n", "clips", "count"), N_SOURCES,
         TableColumn("n_not_in_run", "not in the run", "count")),
        tuple(rows), NOTES,
    )  # fmt: skip
