"""The report of a study: what is decodable, what is answered, and what fine-tuning changed.

    write_inside(Path("studies/listener"))

From files alone: no model is loaded and nothing is downloaded. An unfinished study has a report
too, which names the missing parts.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from otoscope.reports.inside.columns import StudyRow, layers_of
from otoscope.reports.inside.decodable import decodable_rows
from otoscope.reports.inside.reading import (
    BASE,
    StudyResults,
    model_name,
    read_study,
    tuned_category,
)
from otoscope.reports.inside.stored_names import STUDY_KEYS
from otoscope.reports.inside.tables import STAGES, layer_rows, stage_rows, tables
from otoscope.reports.pairing import flat_settings
from otoscope.reports.panels import PlotLine, PlotPoint, PlotScale, bar_panel, fitting, line_panel
from otoscope.reports.strips import heat
from otoscope.reports.tables import ReportTable, in_markdown, per_cent
from otoscope.reports.terminal import setting
from otoscope.reports.writing import write_report

CHANCE = 0.5
NOT_STATED = "study.json does not state what was not run with real weights."
SYNTHETIC = {
    True: "The voices are synthetic (text-to-speech). Whether a result holds for human speech is "
    "not known from it.",
    False: "The dataset's card does not call its voices synthetic.",
    None: "Whether the voices are synthetic is not known: the dataset's card is not available.",
}
ABSENT = {
    "stages": "no probes of the stages",
    "layers": "no probes where the answer is predicted",
    "heat": "no probes where the answer is predicted",
    "positions": "no probes at token positions; extract sites such as text.*@q_* and audio.*@a*",
    "transfer": "no run with questions about a direction",
    "alignment": "no features where the answer is predicted",
    "decodable": "probes were not joined with a run; `trainers.linear_probe --run` does so",
    "across": "no probes trained on one profile and tested on the other",
}


def write_inside(study: Path) -> Path:
    """Writes `report/inside.html`, `inside.md` and `tables/`; returns the page.

    Raises:
        NoStudy: The folder has no part of a study.
    """
    study = Path(study)
    found = read_study(study)
    sections = tables(found)
    return write_report(
        study / "report",
        [table for section in sections.values() for table in section],
        heading="Inside",
        facts=map(in_markdown, [never_run(found), SYNTHETIC[found.synthetic], *found.missing]),
        template="inside.html.jinja",
        values=_page(study.resolve().name, found, sections),
        page="inside.html",
        markdown="inside.md",
    )


def never_run(study: StudyResults) -> str:
    """The statement of study.json on what was not run with real weights, or that there is none."""
    return str(study.about.get("never_run") or NOT_STATED)


def _page(name: str, study: StudyResults, sections: dict[str, list[ReportTable]]) -> dict[str, Any]:
    config = study.about.get("config") or {}
    at_stages, at_layers = stage_rows(study), layer_rows(study)
    stages = [name for name in STAGES if any(row["stage"] == name for row in at_stages)]
    accuracy = "Linear-probe accuracy by"
    return {
        "title": f"Inside: {name}",
        "never_run": never_run(study),
        "synthetic": SYNTHETIC[study.synthetic],
        "is_synthetic": study.synthetic,
        "missing": study.missing,
        "about": {
            STUDY_KEYS.get(key, key).replace("_", " "): setting(value)
            for key, value in flat_settings(config).items()
            if value not in (None, "", [], {}) and key != "never_run"
        },
        "prompts": {model_name(model): prompt for model, prompt in study.prompts.items()},
        "sections": sections,
        "absent": ABSENT,
        "stage_panels": _panels(at_stages, "stage", stages, f"{accuracy} stage"),
        "layer_panels": _panels(at_layers, "layer", layers_of(at_layers), f"{accuracy} layer"),
        "alignment_panels": _alignment_panels(sections.get("alignment", [])),
        "decodable_panels": _decodable_panels(study),
        "per_cent": per_cent,
        "heat": heat,
        "heat_cosine": _heat_cosine,
        "cosine": _cosine,
    }


def role(model: str, category: str) -> str:
    """The colour of a model in a category's panel: base, fine-tuned on it, fine-tuned on another.

    >>> role("base", "echo"), role("tuned-echo", "echo"), role("tuned-volume", "echo")
    ('s1', 's2', 'grey')
    """
    if model == BASE:
        return "s1"
    return "s2" if tuned_category(model) == category else "grey"


Panels = list[tuple[str, Markup]]


def _panels(rows: Sequence[StudyRow], key: str, labels: Sequence[Any], alt: str) -> Panels:
    by_category = _by_category(rows, key, labels, "accuracy")
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
    rows: Sequence[StudyRow], key: str, labels: Sequence[Any], measure: str
) -> dict[str, list[PlotLine]]:
    return {
        category: _lines(list(own), key, labels, measure, category)
        for category, own in groupby(rows, lambda row: str(row["category"]))
    }


def _lines(
    rows: Sequence[StudyRow], key: str, labels: Sequence[Any], measure: str, category: str
) -> list[PlotLine]:
    """A line for each model; models fine-tuned on another category have no band and no answers."""
    lines = []
    for model in dict.fromkeys(row["key"] for row in rows):
        own = {row[key]: row for row in rows if row["key"] == model}
        css = role(model, category)
        points = [_point(own.get(label), measure, with_ends=css != "grey") for label in labels]
        answers = (row["answer"] for row in own.values() if row.get("answer") is not None)
        answered = None if css == "grey" else next(answers, None)
        lines.append(PlotLine(model_name(model), css, points, answered))
    return sorted(lines, key=lambda line: ("s1", "s2", "grey").index(line.css))


def _point(row: StudyRow | None, measure: str, *, with_ends: bool = True) -> PlotPoint:
    if row is None:
        return PlotPoint(None)
    if not with_ends:
        return PlotPoint(row[measure])
    return PlotPoint(row[measure], row[f"{measure}_low"], row[f"{measure}_high"])


def _decodable_panels(study: StudyResults) -> Panels:
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


def _alignment_panels(section: Sequence[ReportTable]) -> Panels:
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


def _heat_cosine(value: float | None) -> Markup:
    """Colour of a cosine's cell: one for positive values, another for negative ones."""
    return heat(None if value is None else (1 + value) / 2)


def _cosine(value: float | None) -> str:
    """A cosine with two decimals.

    >>> _cosine(-0.126), _cosine(None)
    ('−0.13', '–')
    """
    return "–" if value is None else f"{value:.2f}".replace("-", "−")
