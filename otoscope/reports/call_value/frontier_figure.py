"""Accuracy over calls, time, money and audio sent: curves of selectors and of random calls."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from otoscope.audits.call_value.contract import FULL, NO_CALL
from otoscope.reports.call_value.curves import RANDOM
from otoscope.reports.panels import PlotLine, PlotPoint, PlotScale, fitting
from otoscope.reports.strips import css_class
from otoscope.reports.tables import Record

WIDTH, HEIGHT = 320, 210
LEFT, RIGHT, TOP, BOTTOM, INSET = 28, 10, 6, 32, 4
AXES = {
    "call_rate": "calls, % of examples",
    "wall_s": "time, s",
    "price": "price",
    "audio_s": "audio sent, s",
}
"""What accuracy is drawn over, by column of the frontier's table."""

NOISE = 1e-9
BAND = ("band_low", "accuracy", "band_high")
Curves = Mapping[str, Sequence[Record]]


class CurveLegend(NamedTuple):
    """Colour and name of a curve."""

    css: str
    name: str


class CostScale(NamedTuple):
    """Both axes of a plot: a column of cost from `low` to `high`, and shares."""

    column: str
    low: float
    high: float
    shares: PlotScale

    def x(self, row: Record) -> float:
        """Where a point lies from the left."""
        return self.at((row[self.column] - self.low) / (self.high - self.low))

    @staticmethod
    def at(part: float) -> float:
        """A part of the horizontal axis, 0 to 1, in units of the picture."""
        return LEFT + INSET + (WIDTH - LEFT - RIGHT - 2 * INSET) * part

    def y(self, share: float) -> float:
        """Where a share lies from the top; those outside the scale are drawn on its edge."""
        low, high = self.shares
        inside = min(max(share, low), high)
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - inside) / (high - low)


def by_curve(rows: Iterable[Record], *, routes: bool) -> dict[str, list[Record]]:
    """Rows of routes, or those of selectors and of random calls, by curve."""
    curves: dict[str, list[Record]] = {}
    for row in rows:
        is_route = row["curve"] not in (FULL, NO_CALL) and not row["curve"].endswith(RANDOM)
        if is_route == routes:
            curves.setdefault(row["curve"], []).append(row)
    return curves


def frontier_legend(rows: Iterable[Record]) -> list[CurveLegend]:
    """Of the curves in `frontier_panels`."""
    names = by_curve(rows, routes=False)
    return [CurveLegend(css_class(i), name) for i, name in enumerate(names)]


def frontier_panels(rows: Sequence[Record]) -> list[tuple[str, Markup]]:
    """A plot for each axis of which every cost is known and that varies.

    They reach to the largest share of calls that a selector makes at any λ.
    """
    most = max(row["call_rate"] for row in rows if row["curve"] in (FULL, NO_CALL)) or 1.0
    curves = by_curve([row for row in rows if row["call_rate"] <= most + NOISE], routes=False)
    every = [row for own in curves.values() for row in own]
    points = [PlotPoint(row[key]) for row in every for key in BAND]
    least = min(row["band_low"] for row in every)
    shares = fitting([PlotLine("", "", points)], low=least - 0.001, high=least)
    panels = []
    for column, title in AXES.items():
        values = [row[column] for row in every]
        if None not in values and min(values) < max(values):
            scale = CostScale(column, min(values), max(values), shares)
            panels.append((f"Accuracy in % over {title}", _panel(curves, scale)))
    return panels


def _panel(curves: Curves, scale: CostScale) -> Markup:
    drawn = [_axes(scale)]
    for i, (name, rows) in reversed(list(enumerate(curves.items()))):
        drawn.append(_curve(name, css_class(i), sorted(rows, key=scale.x), scale))
    alt = f"Accuracy over {AXES[scale.column]}: {', '.join(curves)}"
    return Markup('<svg class="panel" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        WIDTH, HEIGHT, alt
    ) + Markup("".join(drawn) + "</svg>")


def _curve(name: str, css: str, rows: Sequence[Record], scale: CostScale) -> str:
    if name.endswith(RANDOM):
        css += " null"
    x = [f"{scale.x(row):.1f}" for row in rows]
    low, middle, high = ([f"{scale.y(row[key]):.1f}" for row in rows] for key in BAND)
    if len(set(x)) == 1:  # a single cost: its widest band as a whisker
        ends = min(row["band_low"] for row in rows), max(row["band_high"] for row in rows)
        y1, y2 = (f"{scale.y(end):.1f}" for end in ends)
        parts = [f'<line class="whisker" x1="{x[0]}" x2="{x[0]}" y1="{y1}" y2="{y2}"/>']
    else:
        edge = [*zip(x, high, strict=True), *reversed(list(zip(x, low, strict=True)))]
        parts = [f'<polygon class="band" points="{" ".join(map(",".join, edge))}"/>']
    path = " ".join(map(",".join, zip(x, middle, strict=True)))
    parts.append(f'<polyline class="path" points="{path}"/>')
    places = {(x, y): row for x, y, row in zip(x, middle, rows, strict=True)}
    parts += [
        f'<circle cx="{x}" cy="{y}" r="2.2"><title>{_label(name, row)}</title></circle>'
        for (x, y), row in places.items()
    ]
    return f'<g class="{css}">{"".join(parts)}</g>'


def _label(name: str, row: Record) -> Markup:
    return escape(
        f"{name}, {100 * row['call_rate']:.1f} % calls: {100 * row['accuracy']:.1f} % "
        f"(pointwise {100 * row['accuracy_low']:.1f} to {100 * row['accuracy_high']:.1f}, "
        f"band {100 * row['band_low']:.1f} to {100 * row['band_high']:.1f})"
    )


def _axes(scale: CostScale) -> str:
    parts = []
    for tenths in range(round(10 * scale.shares.low), round(10 * scale.shares.high) + 1):
        y = scale.y(tenths / 10)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{LEFT - 5}" y="{y + 3.5:.1f}" text-anchor="end">{10 * tenths}</text>'
        )
    unit = 100 if scale.column == "call_rate" else 1
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        value = unit * (scale.low + (scale.high - scale.low) * part)
        parts.append(
            f'<text x="{scale.at(part):.1f}" y="{HEIGHT - BOTTOM + 13}" text-anchor="middle">'
            f"{value:,.3g}</text>"
        )
    parts.append(
        f'<text x="{scale.at(0.5)}" y="{HEIGHT - 4}" text-anchor="middle">'
        f"{AXES[scale.column]}</text>"
    )
    return f'<g class="axes">{"".join(parts)}</g>'
