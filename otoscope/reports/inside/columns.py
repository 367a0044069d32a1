"""Columns and row orders that the tables of a study share."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from otoscope.probes.predictions import CONVERGED, PROBE, RIDGE
from otoscope.probes.table import ALL
from otoscope.reports.inside.reading import StudyResults, model_name
from otoscope.reports.tables import ReportTable, TableColumn, share_matrix, with_interval
from otoscope.statistics.method_names import CLUSTERED_NOTE

StudyRow = dict[str, Any]


MODEL = TableColumn("model", "model", "run")
CATEGORY = TableColumn("category", "category", "name")
LAYER = TableColumn("layer", "layer", "count")
SITE = TableColumn("site", "site")
PROBE_ACCURACY = with_interval("accuracy", "linear-probe accuracy, %")
N_TEST = TableColumn("n_test", "clips", "count")
N_SOURCES = TableColumn("n_sources", "sources", "count")
CONTROL = TableColumn("control_accuracy", "control accuracy, %", "share")
RIDGE_ACCURACY = TableColumn("ridge", "ridge baseline, %", "share")
CONVERGED_ACCURACY = TableColumn("converged", "not converged: with more steps, %", "share")

PROBES_NOTE = (
    "Chance level 50 %. Control: the same probe trained on labels of which half are swapped, "
    "source by source; expected at chance. Ridge baseline: closed-form regression on the same "
    "features. " + CLUSTERED_NOTE
)


def probe_rows(rows: Iterable[StudyRow], method: str = PROBE) -> list[StudyRow]:
    """Rows of one method."""
    return [row for row in rows if row["method"] == method]


def with_ridge(rows: Sequence[StudyRow]) -> list[StudyRow]:
    """Rows of probes, with the accuracy of the ridge baseline and of the converged probe."""
    others = {
        (r["method"], r["site"], r["category"]): r["accuracy"]
        for method in (RIDGE, CONVERGED)
        for r in probe_rows(rows, method)
    }
    return [
        row | {m: others.get((m, row["site"], row["category"])) for m in (RIDGE, CONVERGED)}
        for row in probe_rows(rows)
    ]


def named(model: str) -> StudyRow:
    """The columns that name a model: in print, and as in the study's folder."""
    return {"model": model_name(model), "key": model}


def category_rank(study: StudyResults, category: str) -> int:
    """Position of a category in tables; one that the study does not name is last."""
    order = (*study.categories, ALL)
    return order.index(category) if category in order else len(order)


def by_category(study: StudyResults, rows: Iterable[StudyRow]) -> list[StudyRow]:
    """Rows in the order of categories."""
    return sorted(rows, key=lambda row: category_rank(study, row["category"]))


def category_map(
    study: StudyResults,
    name: str,
    title: str,
    shares: Mapping[tuple[str, str], Any],
    columns: Sequence[str],
    notes: tuple[str, ...] = (),
) -> ReportTable:
    """Shares by category and one of `columns`; categories without any are left out."""
    rows = [
        {"category": category, **{at: shares.get((category, at)) for at in columns}}
        for category in (*study.categories, ALL)
        if any((category, at) in shares for at in columns)
    ]
    return share_matrix(name, title, (CATEGORY,), columns, rows, notes)


def layers_of(rows: Iterable[StudyRow]) -> list[int]:
    """Every layer, in order."""
    return sorted({row["layer"] for row in rows})
