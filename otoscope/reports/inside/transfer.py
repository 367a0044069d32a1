"""Tables of transfer: fine-tuned on one category, tested on all."""

from otoscope.probes.table import ALL
from otoscope.reports.inside.columns import MODEL, N_SOURCES, StudyRow, named
from otoscope.reports.inside.reading import BASE, StudyResults, tuned_category
from otoscope.reports.tables import (
    DIFFERENCE_CI,
    ReportTable,
    TableColumn,
    share_matrix,
    with_interval,
)
from otoscope.statistics.method_names import CLUSTERED_NOTE


def tables(study: StudyResults) -> list[ReportTable]:
    """The long table, and the matrix."""
    rows = transfer_rows(study)
    return [_long_table(rows), _matrix(study, rows)]


def transfer_rows(study: StudyResults) -> list[StudyRow]:
    """Accuracy of each model on each category, and its change by fine-tuning."""
    return [
        row | named(row["key"]) | {"tuned_on": tuned_category(row["key"]) or BASE}
        for row in study.answered
    ]


def _long_table(rows: list[StudyRow]) -> ReportTable:
    return ReportTable(
        "transfer", "Fine-tuned on one category, tested on all",
        (MODEL, TableColumn("category", "tested on", "name"),
         *with_interval("accuracy", "answer accuracy, %"),
         *with_interval("change", "change from base, points", DIFFERENCE_CI),
         TableColumn("n", "clips", "count"), TableColumn("n_shared", "shared with base", "count"),
         N_SOURCES),
        tuple(rows),
        ("Denominator: all planned questions; an answer that is missing or unparsed is not "
         "correct. Changes are paired, over the clips that both models have. All: categories "
         "have equal weights. Models that are correct on the same clips differ by exactly 0.",
         CLUSTERED_NOTE),
    )  # fmt: skip


def _matrix(study: StudyResults, rows: list[StudyRow]) -> ReportTable:
    tested = [n for n in (*study.categories, ALL) if any(row["category"] == n for row in rows)]
    by_model: dict[str, StudyRow] = {}
    for row in rows:
        own = by_model.setdefault(row["key"], {"tuned_on": row["tuned_on"]})
        own[row["category"]] = row["accuracy"]
    return share_matrix(
        "transfer_matrix", "Answer accuracy, %: fine-tuned on (row) by tested on (column)",
        (TableColumn("tuned_on", "fine-tuned on", "name"),), tested, by_model.values(),
        ("The long table has intervals and changes from the base.",),
    )  # fmt: skip
