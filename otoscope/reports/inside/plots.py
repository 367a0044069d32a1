"""The plots of a study's page: lines and bars by category, lines of angles by model."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from markupsafe import Markup

from otoscope.reports.inside.columns import StudyRow, layers_of
from otoscope.reports.inside.decodable import decodable_rows
from otoscope.reports.inside.reading import BASE, StudyResults, model_name, tuned_category
from otoscope.reports.panels import PlotLine, PlotPoint, PlotScale, bar_panel, fitting, line_panel
from otoscope.reports.tables import ReportTable

CHANCE = 0.5
Panels = list[tuple[str, Markup]]
RoleOf = Callable[[str, str], str]


def role(model: str, category: str) -> str:
    """The colour of a model in a category's panel: base, fine-tuned on it, fine-tuned on another.

    >>> role("base", "echo"), role("tuned-echo", "echo"), role("tuned-volume", "echo")
    ('s1', 's2', 'grey')
    """
    if model == BASE:
        return "s1"
    return "s2" if tuned_category(model) == category else "grey"


def accuracy_panels(
    rows: Sequence[StudyRow], key: str, labels: Sequence[Any], alt: str, role_of: RoleOf = role
) -> Panels:
    """Linear-probe accuracy: a panel for each category, a line for each model.

    Args:
        rows: In order of categories.
        key: Column of the horizontal axis.
        labels: Its values, in order.
        alt: Text alternative.
        role_of: From a row's `key` and its category to a colour.
    """
    by_category = _by_category(rows, key, labels, "accuracy", role_of)
    scale = fitting([line for lines in by_category.values() for line in lines], low=0.4, high=1.0)
    draw = partial(line_panel, labels=list(map(str, labels)), scale=scale, chance=CHANCE)
    return _drawn(by_category, draw, alt)


def _drawn(
    by_category: Mapping[str, Sequence[PlotLine]], draw: Callable[..., Markup], alt: str
) -> Panels:
    """A panel for each category, named as in print."""
    named = ((category.replace("_", " "), lines) for category, lines in by_category.items())
    return [(name, draw(lines, alt=f"{alt}: {name}")) for name, lines in named]


def _by_category(
    rows: Sequence[StudyRow], key: str, labels: Sequence[Any], measure: str, role_of: RoleOf = role
) -> dict[str, list[PlotLine]]:
    return {
        category: _lines(list(own), key, labels, measure, category, role_of)
        for category, own in groupby(rows, lambda row: str(row["category"]))
    }


def _lines(
    rows: Sequence[StudyRow],
    key: str,
    labels: Sequence[Any],
    measure: str,
    category: str,
    role_of: RoleOf,
) -> list[PlotLine]:
    """A line for each model; models fine-tuned on another category have no band and no answers."""
    lines = []
    for model in dict.fromkeys(row["key"] for row in rows):
        own = {row[key]: row for row in rows if row["key"] == model}
        css = role_of(model, category)
        points = [_point(own.get(label), measure, with_ends=css != "grey") for label in labels]
        answers = (row["answer"] for row in own.values() if row.get("answer") is not None)
        answered = None if css == "grey" else next(answers, None)
        lines.append(PlotLine(model_name(model), css, points, answered))
    return sorted(lines, key=lambda line: (line.css == "grey", line.css))


def _point(row: StudyRow | None, measure: str, *, with_ends: bool = True) -> PlotPoint:
    if row is None:
        return PlotPoint(None)
    if not with_ends:
        return PlotPoint(row[measure])
    return PlotPoint(row[measure], row[f"{measure}_low"], row[f"{measure}_high"])


def decodable_panels(study: StudyResults) -> Panels:
    """Bars of what is decodable and not answered, by layer."""
    rows = decodable_rows(study)
    layers = layers_of(rows)
    by_category = {
        category: [line for line in lines if line.css != "grey"]
        for category, lines in _by_category(rows, "layer", layers, "decodable_not_answered").items()
    }
    ends = [
        PlotLine("", "", [PlotPoint(p.high) for p in line.points])
        for lines in by_category.values()
        for line in lines
    ]
    scale = PlotScale(0.0, min(1.0, fitting(ends, low=0.0, high=0.3).high))
    draw = partial(bar_panel, labels=list(map(str, layers)), scale=scale)
    return _drawn(by_category, draw, "Decodable but not answered, by layer")


def alignment_panels(section: Sequence[ReportTable]) -> Panels:
    """A panel for each model: its cosines, those of the base behind, and the random null."""
    rows = [dict(row) for table in section if table.name == "alignment" for row in table.rows]
    layers = layers_of(rows)
    by_model = {
        model: {row["layer"]: row for row in rows if row["key"] == model}
        for model in dict.fromkeys(row["key"] for row in rows)
    }
    panels = []
    for model, at in by_model.items():
        name = model_name(model)
        null = [PlotPoint(at[k]["random_null"] if k in at else None) for k in layers]
        points = [_point(at.get(k), "absolute") for k in layers]
        lines = [PlotLine(name, "s1" if model == BASE else "s2", points)]
        if model != BASE and BASE in by_model:
            base = by_model[BASE]
            lines.append(PlotLine(BASE, "s1", [_point(base.get(k), "absolute") for k in layers]))
        lines.append(PlotLine(f"{name}, random null", "grey null", null))
        labels = [str(layer) for layer in layers]
        alt = f"Mean absolute cosine by layer: {name}"
        panels.append((name, line_panel(lines, labels, scale=PlotScale(), chance=None, alt=alt)))
    return panels
