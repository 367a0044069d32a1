"""What the page of a perception report is made of: tables, and pictures of the same numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from otoscope.reports.perception import strips
from otoscope.reports.perception.findings import Findings
from otoscope.reports.perception.samples import SampleAudio
from otoscope.reports.perception.scores import ALL, ORDERS
from otoscope.reports.perception.strips import Mark
from otoscope.reports.readings import Run
from otoscope.reports.sheets import Row, Sheet, in_per_cent

BIAS_SHAPES = {"rising clips": "up", "falling clips": "down", "unchanged clips": "ring"}


def page_values(
    found: Findings,
    samples: Sequence[tuple[list[dict[str, Any]], list[SampleAudio]]],
    *,
    with_audio: bool,
) -> dict[str, Any]:
    """What the template asks for."""
    series = {run.name: i for i, run in enumerate(found.runs)}
    prompts = sorted(set(found.shown.values()))
    return {
        "title": "Perception report",
        "runs": [_about(run, series[run.name], found.shown.get(run.name)) for run in found.runs],
        "prompts": prompts,
        "sheets": {
            s.name: _without_only_run(s, series)
            for section in found.tables.values()
            for s in section
        },
        "sections": found.tables,
        "swatch": {name: strips.swatch(i) for name, i in series.items()},
        "grey": strips.swatch(None),
        "bias_swatch": {name: strips.swatch(0, shape) for name, shape in BIAS_SHAPES.items()},
        "categories": _rows_of(found.sheet("accuracy_by_category"), "category", series, found),
        "breakdowns": {
            name: _rows_of(sheet, name, series, found)
            for name in ORDERS
            if (sheet := found.sheet(f"accuracy_by_{name}"))
        },
        "tiers": _tiers(found.sheet("accuracy_by_category_and_tier"), series),
        "bias": _bias(found.sheet("answer_shares"), series),
        "prompt_rows": _rows_of(found.sheet("accuracy_by_prompt"), "prompt", series, found),
        "samples": [
            (run.name, list(zip(rows, sounds, strict=True)))
            for run, (rows, sounds) in zip(found.runs, samples, strict=True)
        ],
        "with_audio": with_audio,
        "heat": heat,
        "in_per_cent": in_per_cent,
    }


def _about(run: Run, nth: int, shown: str | None) -> dict[str, Any]:
    texts: dict[str, str] = {}
    for name, text in zip(run.answers["base"], run.answers["prompt"], strict=True):
        texts.setdefault(name, text)
    return {
        "name": run.name,
        "swatch": strips.swatch(nth),
        "model": str(run.about.get("model") or ""),
        "n": len(run.answers),
        "n_unanswered": run.n_unanswered,
        "partial": run.partial,
        "shown": shown,
        "lines": about_lines(run.about),
        "prompts": texts,
    }


def about_lines(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What run.json says, flat: dotted names and texts.

    >>> about_lines({"model": {"name": "m", "dtype": None}, "prompts": ["main", "change"]})
    [('model.name', 'm'), ('model.dtype', 'none'), ('prompts', 'main, change')]
    """
    lines: list[tuple[str, str]] = []
    for key, value in about.items():
        if isinstance(value, Mapping):
            lines += [(f"{key}.{inner}", text) for inner, text in about_lines(value)]
        elif isinstance(value, list):
            lines.append((key, ", ".join(map(str, value))))
        else:
            lines.append((key, "none" if value in (None, "") else str(value)))
    return lines


def _without_only_run(sheet: Sheet, series: Mapping[str, int]) -> Sheet:
    """The table without the column that would say the same in every row."""
    if len(series) > 1 or any(row.get("run") not in series for row in sheet.rows):
        return sheet
    return replace(sheet, columns=tuple(c for c in sheet.columns if c.kind != "run"))


def _mark(row: Row, series: Mapping[str, int]) -> Mark:
    """A row's accuracy, with the interval by source where there is one."""
    low, high = row.get("clustered_low"), row.get("clustered_high")
    if low is None:
        low, high = row.get("wilson_low"), row.get("wilson_high")
    name = row["run"]
    return Mark(row.get("accuracy"), low, high, series.get(name), name=name)


def _rows_of(
    sheet: Sheet | None, key: str, series: Mapping[str, int], found: Findings
) -> list[dict[str, Any]]:
    """A strip for each value of `key`: a line for each run, and one for who else is known."""
    if sheet is None:
        return []
    rows = []
    for value in dict.fromkeys(row[key] for row in sheet.rows):
        mine = [row for row in sheet.rows if row[key] == value]
        lines = [[_mark(row, series)] for row in mine if row["run"] in series]
        others = [_mark(row, series) for row in mine if row["run"] not in series]
        if key == "category":
            others += _published(found.sheet("beside_the_published"), value)
        if others:
            lines.append(others)
        name = value if key == "prompt" else value.replace("_", " ")
        rows.append({"name": name, "strip": strips.strip(lines)})
    return rows


def _published(sheet: Sheet | None, category: str) -> list[Mark]:
    """The published models' cells of one category; their averages for all."""
    key = "average" if category == ALL else category
    rows = [row for row in sheet.rows if row["whose"] == "published"] if sheet else []
    return [Mark(row.get(key), series=None, name=row["name"]) for row in rows]


def _tiers(sheet: Sheet | None, series: Mapping[str, int]) -> list[dict[str, Any]]:
    if sheet is None:
        return []
    pictures = []
    for category in dict.fromkeys(row["category"] for row in sheet.rows):
        cells = {(r["run"], r["tier"]): r for r in sheet.rows if r["category"] == category}
        lines = [
            [
                _mark(cells[name, tier], series) if (name, tier) in cells else Mark(None, series=i)
                for tier in ORDERS["tier"]
            ]
            for name, i in series.items()
        ]
        picture = strips.steps(lines, n_steps=len(ORDERS["tier"]))
        pictures.append({"name": category.replace("_", " "), "picture": picture})
    return pictures


def _bias(sheet: Sheet | None, series: Mapping[str, int]) -> list[dict[str, Any]]:
    """The share of "increase" about rising, falling and unchanged clips, a line for each run."""
    if sheet is None:
        return []
    rows = []
    for category in dict.fromkeys(row["category"] for row in sheet.rows):
        lines = [
            [
                Mark(
                    row["increase_share"], series=i, shape=BIAS_SHAPES[row["heard"]],
                    name=f"{name}, {row['heard']}",
                )
                for row in sheet.rows
                if (row["category"], row["run"]) == (category, name)
            ]
            for name, i in series.items()
        ]  # fmt: skip
        rows.append({"name": category.replace("_", " "), "strip": strips.strip(lines)})
    return rows


def heat(share: Any) -> Markup:
    """Colour of a cell: how far a share lies from one half, as classes and a strength."""
    if share is None:
        return Markup('class="number"')
    strength = min(75, round(150 * abs(float(share) - 0.5)))
    side = "above" if share > 0.5 else "below"
    return Markup(f'class="number heat {side}" style="--k: {strength}%"')
