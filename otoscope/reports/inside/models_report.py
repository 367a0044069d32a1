"""The report of several studies: one page with a line for each.

write_models([Path("studies/kimi"), Path("studies/qwen2")], Path("inside"))
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from otoscope.reports.inside.columns import StudyRow, layers_of
from otoscope.reports.inside.models import about, in_domain_rows, tables
from otoscope.reports.inside.plots import accuracy_panels
from otoscope.reports.inside.reading import StudyFolderError, read_study
from otoscope.reports.inside.tables import STAGES
from otoscope.reports.strips import heat, swatch
from otoscope.reports.tables import ReportTable, in_markdown, per_cent
from otoscope.reports.writing import write_report

LINES = ("models_stages", "models_layers")
MOST_STUDIES = 8
"""Colours of lines."""


def write_models(folders: Sequence[Path], out: Path) -> Path:
    """Writes `inside.html`, `inside.md` and `tables/` about several studies; returns the page.

    Args:
        folders: Of studies; by the name of its folder each is known.
        out: Of the report; the studies' own reports stay.

    Raises:
        StudyFolderError: A folder is no study or is there twice, or there are too many.
    """
    if len(folders) > MOST_STUDIES:
        raise StudyFolderError(f"one page has room for {MOST_STUDIES} studies, not {len(folders)}")
    names = [folder.resolve().name for folder in folders]
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise StudyFolderError(f"a study is there twice: {', '.join(map(str, folders))}")
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    studies = {name: read_study(folder) for name, folder in zip(names, folders, strict=True)}
    found = tables(studies)
    series = {name: f"s{n}" for n, name in enumerate(studies, start=1)}
    rows = {t.name: [_keyed(row) for row in t.rows] for t in found if t.name in LINES}
    at_stages, at_layers = rows.get("models_stages", []), rows.get("models_layers", [])
    stages = [stage for stage in STAGES if any(row["stage"] == stage for row in at_stages)]
    facts = [f"{name}: {about(study)['spec'] or 'model not stated'}"
             for name, study in studies.items()]  # fmt: skip
    values: dict[str, Any] = {
        "title": "Inside: several models",
        "studies": {
            name: {
                **about(study),
                "css": series[name],
                "missing": study.missing,
                "n_in_domain": sum(row["study"] == name for row in in_domain_rows(studies)),
            }
            for name, study in studies.items()
        },
        "matrix": _named(found, "models_in_domain_matrix"),
        "stage_panels": accuracy_panels(
            at_stages, "stage", stages, "Linear-probe accuracy by stage",
            lambda key, category: series[key],
        ),
        "layer_panels": accuracy_panels(
            at_layers, "layer", layers_of(at_layers), "Linear-probe accuracy by layer",
            lambda key, category: series[key],
        ),
        "swatch": {name: swatch(n) for n, name in enumerate(studies)},
        "per_cent": per_cent,
        "heat": heat,
    }  # fmt: skip
    return write_report(
        out, found, heading="Inside: several models", facts=map(in_markdown, facts),
        template="inside_models.html.jinja", values=values, page="inside.html",
        markdown="inside.md",
    )  # fmt: skip


def _keyed(row: Any) -> StudyRow:
    """A row of a base model, keyed by its study: a line of its own in the panels."""
    return dict(row) | {"key": row["study"]}


def _named(found: Sequence[ReportTable], name: str) -> ReportTable | None:
    return next((table for table in found if table.name == name), None)
