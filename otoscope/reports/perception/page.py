"""Values of the page of a perception report: tables, and pictures of the same numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from otoscope.reports import strips
from otoscope.reports.embedded_audio import SampleAudio
from otoscope.reports.pairing import flat_settings
from otoscope.reports.panels import PlotLine, PlotPoint, PlotScale, line_panel
from otoscope.reports.perception.findings import PerceptionFindings
from otoscope.reports.perception.reading import PerceptionRun
from otoscope.reports.perception.scores import ALL, ORDERS
from otoscope.reports.perception.summary import cautions
from otoscope.reports.strips import Mark
from otoscope.reports.tables import Record, ReportTable, per_cent
from otoscope.reports.terminal import setting

TIERS = ORDERS["tier"]
BIAS_SHAPES = {"rising": "up", "falling": "down", "unchanged": "ring"}
MOST_BANDS = 2  # more of them cover each other
NO_POINT = PlotPoint(None)
Series = Mapping[str, int]


def page_values(
    found: PerceptionFindings,
    samples: ReportTable,
    audio: Sequence[SampleAudio],
    *,
    with_audio: bool,
) -> dict[str, Any]:
    """Values of the template; `audio` has a player for each row of `samples`."""
    series = {run.name: i for i, run in enumerate(found.runs)}
    tables = found.tables
    summary = found.summaries
    players = list(zip(samples.rows, audio, strict=True))
    return {
        "runs": [
            _about(run, series[run.name], found.prompts.get(run.name), summary.get(run.name, ""))
            for run in found.runs
        ],
        "cautions": cautions(found.runs),
        "prompts": sorted(set(found.prompts.values())),
        "tables": {name: _without_only_run(table, series) for name, table in tables.items()},
        "sections": found.sections,
        "swatch": {name: strips.swatch(i) for name, i in series.items()},
        "grey": strips.swatch(None),
        "bias_swatch": {name: strips.swatch(0, shape) for name, shape in BIAS_SHAPES.items()},
        "categories": _rows_of(tables, "accuracy_by_category", "category", series),
        "breakdowns": {
            name: _rows_of(tables, f"accuracy_by_{name}", name, series)
            for name in ORDERS
            if f"accuracy_by_{name}" in tables
        },
        "tiers": _tiers(tables, series),
        "bias": _bias(tables, series),
        "prompt_rows": _rows_of(tables, "accuracy_by_prompt", "prompt", series),
        "samples": [
            (name, [(row, player) for row, player in players if row["run"] == name])
            for name in series
        ],
        "with_audio": with_audio,
        "with_bands": len(series) <= MOST_BANDS,
        "heat": strips.heat,
        "per_cent": per_cent,
    }


def _about(run: PerceptionRun, nth: int, prompt: str | None, summary: str) -> dict[str, Any]:
    texts = run.answers.drop_duplicates("base_prompt").set_index("base_prompt")["prompt"]
    return {
        "name": run.name,
        "swatch": strips.swatch(nth),
        "model": str(run.about.get("model") or ""),
        "n": len(run.answers),
        "summary": summary,
        "prompt": prompt,
        "settings": {key: setting(value) for key, value in flat_settings(run.about).items()},
        "prompts": texts.to_dict(),
    }


def _without_only_run(table: ReportTable, series: Series) -> ReportTable:
    """The table without a run column that has the same value in every row."""
    if len(series) > 1 or any(row.get("run") not in series for row in table.rows):
        return table
    return replace(table, columns=tuple(c for c in table.columns if c.kind != "run"))


def _mark(row: Record, series: Series) -> Mark:
    """A row's accuracy with its interval."""
    name = row["run"]
    return Mark(*_estimate(row), series.get(name), name=name)


def _estimate(row: Record) -> tuple[Any, Any, Any]:
    """A row's accuracy, with the clustered interval where there is one."""
    kind = "wilson" if row.get("clustered_low") is None else "clustered"
    return row.get("accuracy"), row.get(f"{kind}_low"), row.get(f"{kind}_high")


def _rows_of(
    tables: Mapping[str, ReportTable], name: str, key: str, series: Series
) -> list[dict[str, Any]]:
    """A strip for each value of `key`: a line for each run, and one for published results."""
    rows = []
    for value, own in _by(tables.get(name), key).items():
        lines = [[_mark(row, series)] for row in own if row["run"] in series]
        others = [_mark(row, series) for row in own if row["run"] not in series]
        if key == "category":
            others += _published(tables.get("published"), value)
        if others:
            lines.append(others)
        shown = value if key == "prompt" else value.replace("_", " ")
        rows.append({"name": shown, "strip": strips.strip(lines)})
    return rows


def _by(table: ReportTable | None, key: str) -> dict[str, list[Record]]:
    """Rows by the value of a column, in order; nothing without a table."""
    groups: dict[str, list[Record]] = {}
    for row in table.rows if table else ():
        groups.setdefault(row[key], []).append(row)
    return groups


def _published(table: ReportTable | None, category: str) -> list[Mark]:
    """The published models' accuracies in one category; their averages for all."""
    key = "average" if category == ALL else category
    rows = [row for row in table.rows if row["origin"] == "published"] if table else []
    return [Mark(row.get(key), series=None, name=row["name"]) for row in rows]


def _tiers(tables: Mapping[str, ReportTable], series: Series) -> list[tuple[str, Markup]]:
    """A panel for each category, with a line for each run."""
    panels = []
    with_bands = len(series) <= MOST_BANDS
    for category, rows in _by(tables.get("accuracy_by_category_and_tier"), "category").items():
        points = {
            (row["run"], row["tier"]): PlotPoint(*_estimate(row)[: 3 if with_bands else 1])
            for row in rows
        }
        lines = [
            PlotLine(
                name, strips.css_class(i), [points.get((name, t), NO_POINT) for t in TIERS],
                shape=strips.shape_of(i),
            )
            for name, i in series.items()
        ]  # fmt: skip
        name = category.replace("_", " ")
        alt = f"Accuracy by tier: {name}"
        panels.append((name, line_panel(lines, TIERS, scale=PlotScale(), chance=0.5, alt=alt)))
    return panels


def _bias(tables: Mapping[str, ReportTable], series: Series) -> list[dict[str, Any]]:
    """The rate of "increase" about rising, falling and unchanged clips, a line for each run."""
    rows = []
    named = list(series.values()) if len(series) > 1 else []
    for category, own in _by(tables.get("prediction_rates"), "category").items():
        lines = [
            [
                Mark(
                    row["increase_share"], series=i, shape=BIAS_SHAPES[row["clips"]],
                    name=f"{name}, {row['clips']} clips",
                )
                for row in own
                if row["run"] == name
            ]
            for name, i in series.items()
        ]  # fmt: skip
        rows.append({"name": category.replace("_", " "), "strip": strips.strip(lines, named=named)})
    return rows
