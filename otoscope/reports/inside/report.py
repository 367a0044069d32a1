"""The report of a study: what a model encodes, what it says, and what teaching changed.

    write_inside(Path("studies/listener"))

From files alone: no model is loaded, nothing is fetched. A study under way has a report too; it
says what is not there yet.
"""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from otoscope.reports import sheets
from otoscope.reports.html import render, write
from otoscope.reports.inside import tables as inside_tables
from otoscope.reports.inside.figures import Line, Point, Scale, bar_panel, fitting, line_panel
from otoscope.reports.inside.reading import BASE, Study, model_name, read_study, taught
from otoscope.reports.perception.page import heat
from otoscope.reports.sheets import Sheet

TITLE = "# Inside"
CHANCE = 0.5
NOT_SAID = "study.json does not say what was never run with real weights."
SYNTHETIC = {
    True: "The voices are synthetic: a machine spoke the clips. Whether a result holds for "
    "people's speech is not known from it.",
    False: "The dataset's card does not call its voices synthetic.",
    None: "Whether the voices are synthetic is not known: the dataset's card is not at hand.",
}
NOTHING = {
    "stages": "no probes of the stages",
    "layers": "no probes where the answer is predicted",
    "heat": "no probes where the answer is predicted",
    "positions": "no probes at token positions; extract sites such as text.*@q_* and audio.*@a*",
    "transfer": "no run with questions about a direction",
    "alignment": "no features where the answer is predicted",
    "encoded": "probes were not joined with a run; `trainers.linear_probe --run` does so",
    "across": "no probes of one profile asked about the other",
}


def write_inside(study: Path) -> Path:
    """Writes `report/inside.html`, `inside.md` and `tables/*.csv` and `*.md`; returns the page.

    Raises:
        NoStudy: Nothing of a study is in the folder.
    """
    study = Path(study)
    found = read_study(study)
    sections = inside_tables.tables(found)
    folder = study / "report"
    every = [sheet for own in sections.values() for sheet in own]
    _forget_tables(folder)
    for sheet in every:
        write(folder / "tables" / f"{sheet.name}.csv", sheets.to_csv(sheet))
        write(folder / "tables" / f"{sheet.name}.md", sheets.to_markdown(sheet))
    write(folder / "inside.md", _markdown(found, every))
    values = _page(study.resolve().name, found, sections)
    return write(folder / "inside.html", render("inside.html.jinja", values))


def _forget_tables(folder: Path) -> None:
    """Takes away the tables of an earlier report: this one may not have all of them."""
    text = folder / "inside.md"
    if text.is_file() and text.read_text(encoding="utf-8").startswith(TITLE):
        for ending in ("csv", "md"):
            for old in (folder / "tables").glob(f"*.{ending}"):
                old.unlink()


def _markdown(study: Study, every: Sequence[Sheet]) -> str:
    told = [never_run(study), SYNTHETIC[study.synthetic], *study.missing]
    lines = "".join(f"- {sheets.in_markdown(sentence)}\n" for sentence in told)
    tables = "".join(f"\n{sheets.to_markdown(sheet)}" for sheet in every)
    return f"{TITLE}\n\n{lines}{tables}"


def never_run(study: Study) -> str:
    """What study.json says was never run with real weights, or that it says nothing."""
    return str(study.about.get("never_run") or NOT_SAID)


def _page(name: str, study: Study, sections: dict[str, list[Sheet]]) -> dict[str, Any]:
    config = study.about.get("config") or {}
    return {
        "title": f"Inside: {name}",
        "never_run": never_run(study),
        "synthetic": SYNTHETIC[study.synthetic],
        "is_synthetic": study.synthetic,
        "missing": study.missing,
        "about": [
            (
                key.replace("_", " "),
                ", ".join(map(str, value)) if isinstance(value, list) else value,
            )
            for key, value in config.items()
            if value not in (None, "", [], {}) and key != "never_run"
        ],
        "prompts": {model_name(model): prompt for model, prompt in study.prompts.items()},
        "sections": sections,
        "nothing": NOTHING,
        "sheets": {sheet.name: sheet for own in sections.values() for sheet in own},
        "stage_panels": _stage_panels(study),
        "layer_panels": _layer_panels(study),
        "alignment_panels": _alignment_panels(sections.get("alignment", [])),
        "encoded_panels": _encoded_panels(study),
        "in_per_cent": sheets.in_per_cent,
        "heat": heat,
        "heat_cosine": _heat_cosine,
        "cosine": _cosine,
        "swatch": {},
        "grey": "",
    }


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_in_words(inner)}" for name, inner in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def role(model: str, category: str) -> str:
    """The colour of a model in a category's panel: base, taught this one, taught another.

    >>> role("base", "echo"), role("tuned-echo", "echo"), role("tuned-volume", "echo")
    ('s1', 's2', 'grey')
    """
    if model == BASE:
        return "s1"
    return "s2" if taught(model) == category else "grey"


Panels = list[tuple[str, Markup]]


def _stage_panels(study: Study) -> Panels:
    rows = inside_tables.stage_rows(study)
    labels = [name for name in inside_tables.STAGES if any(row["stage"] == name for row in rows)]
    return _panels(rows, "stage", labels, "accuracy", "Probe accuracy by stage")


def _layer_panels(study: Study) -> Panels:
    rows = inside_tables.layer_rows(study)
    return _panels(rows, "layer", _layers(rows), "accuracy", "Probe accuracy by layer")


def _panels(
    rows: Sequence[dict[str, Any]], key: str, labels: Sequence[Any], measure: str, alt: str
) -> Panels:
    by_category = {
        category: _lines(list(own), key, labels, measure, category)
        for category, own in groupby(rows, lambda row: str(row["category"]))
    }
    scale = fitting([line for lines in by_category.values() for line in lines], low=0.4, high=1.0)
    return [
        (
            category.replace("_", " "),
            line_panel(
                lines, [str(label) for label in labels], scale=scale, chance=CHANCE,
                alt=f"{alt}: {category.replace('_', ' ')}",
            ),
        )
        for category, lines in by_category.items()
    ]  # fmt: skip


def _lines(
    rows: Sequence[dict[str, Any]], key: str, labels: Sequence[Any], measure: str, category: str
) -> list[Line]:
    """A line for each model; only base and what was taught this category have band and answers."""
    made = []
    for model in dict.fromkeys(row["key"] for row in rows):
        own = {row[key]: row for row in rows if row["key"] == model}
        css = role(model, category)
        points = [_point(own.get(label), measure, with_ends=css != "grey") for label in labels]
        said = next((row["answer"] for row in own.values() if row.get("answer") is not None), None)
        made.append(Line(model_name(model), css, points, None if css == "grey" else said))
    return sorted(made, key=lambda line: ("s1", "s2", "grey").index(line.css))


def _point(row: dict[str, Any] | None, measure: str, *, with_ends: bool = True) -> Point:
    if row is None:
        return Point(None)
    if not with_ends:
        return Point(row[measure])
    return Point(row[measure], row[f"{measure}_low"], row[f"{measure}_high"])


def _layers(rows: Sequence[dict[str, Any]]) -> list[int]:
    return sorted({row["layer"] for row in rows})


def _encoded_panels(study: Study) -> Panels:
    rows = inside_tables.encoded_rows(study)
    layers = _layers(rows)
    by_category = {}
    for category, own in groupby(rows, lambda row: str(row["category"])):
        lines = _lines(list(own), "layer", layers, "encoded_not_said", category)
        by_category[category] = [line for line in lines if line.css != "grey"]
    tops = [
        Line("", "", [Point(p.high) for p in line.points])
        for lines in by_category.values()
        for line in lines
    ]
    scale = fitting(tops, low=0.0, high=0.3)
    return [
        (
            category.replace("_", " "),
            bar_panel(
                lines, [str(layer) for layer in layers], scale=Scale(0.0, min(1.0, scale.high)),
                alt=f"Encoded and not said by layer: {category.replace('_', ' ')}",
            ),
        )
        for category, lines in by_category.items()
    ]  # fmt: skip


def _alignment_panels(own: Sequence[Sheet]) -> Panels:
    """A panel for each model: its cosines, those of the base behind, and what comes by lot."""
    rows = [dict(row) for sheet in own if sheet.name == "alignment" for row in sheet.rows]
    layers = _layers(rows)
    by_model = {
        model: {row["layer"]: row for row in rows if row["key"] == model}
        for model in dict.fromkeys(row["key"] for row in rows)
    }
    made = []
    for model, at in by_model.items():
        css = "s1" if model == BASE else "s2"
        name = model_name(model)
        lot = [Point(at[k]["random_null"] if k in at else None) for k in layers]
        lines = [Line(name, css, [_point(at.get(k), "absolute") for k in layers])]
        if model != BASE and BASE in by_model:
            base = by_model[BASE]
            lines.append(Line(BASE, "s1", [_point(base.get(k), "absolute") for k in layers]))
        lines.append(Line(f"{name}, by lot", "grey lot", lot))
        labels = [str(layer) for layer in layers]
        alt = f"Mean absolute cosine by layer: {name}"
        made.append((name, line_panel(lines, labels, scale=Scale(), chance=None, alt=alt)))
    return made


def _heat_cosine(value: float | None) -> Markup:
    """Colour of a cosine's cell: one side for the same way, the other for against."""
    return heat(None if value is None else (1 + value) / 2)


def _cosine(value: float | None) -> str:
    """A cosine with two decimals.

    >>> _cosine(-0.126), _cosine(None)
    ('−0.13', '–')
    """
    return "–" if value is None else f"{value:.2f}".replace("-", "−")
