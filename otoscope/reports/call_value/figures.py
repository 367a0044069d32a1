"""Two figures of the page: intervals of contrasts, and accuracy against the share of calls."""

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from otoscope.reports.call_value.contrasts import Contrast
from otoscope.reports.panels import PlotLine as Line
from otoscope.reports.panels import PlotPoint, PlotScale, fitting
from otoscope.reports.strips import css_class
from otoscope.reports.tables import Record

WIDE, ROW, NAMES = 640, 20, 260
RIGHT, TOP, BOTTOM = 14, 6, 22
TALL, LEFT = 260, 34


def forest(contrasts: Sequence[Contrast]) -> Markup:
    """A line for each contrast: its difference in points, with its 95 % interval."""
    ends = [abs(end) for own in contrasts for end in own.evidence.two_sided]
    widest = max(end for end in ends if not math.isnan(end))
    reach = max(5.0, 5.0 * math.ceil(20 * widest))
    height = TOP + ROW * len(contrasts) + BOTTOM

    def x(points: float) -> float:
        return NAMES + (WIDE - NAMES - RIGHT) * (points + reach) / (2 * reach)

    margin = 100 * contrasts[0].evidence.margin
    floor = height - BOTTOM
    parts = [
        f'<g class="grey"><rect class="band" x="{x(-margin):.1f}" y="{TOP}" '
        f'width="{x(margin) - x(-margin):.1f}" height="{floor - TOP}"/></g>'
    ]
    for tick in (-reach, -reach / 2, 0.0, reach / 2, reach):
        kind = "chance" if tick == 0 else "grid"
        text = f"{tick:+g}".replace("-", "−") if tick else "0"
        parts.append(
            f'<line class="{kind}" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{floor}"/>'
            f'<text x="{x(tick):.1f}" y="{height - 6}" text-anchor="middle">{text}</text>'
        )
    for i, own in enumerate(contrasts):
        estimate, low, high = (100 * end for end in own.evidence.two_sided)
        y = TOP + ROW * (i + 0.5)
        name = f"{own.policy} − {own.reference}"
        title = f"{name}, {own.role}: {estimate:+.1f} points ({low:+.1f} to {high:+.1f})"
        colour = css_class({"primary": 0, "secondary": 1}.get(own.role))
        parts.append(
            f'<g class="{colour}"><title>{escape(title)}</title>'
            f'<text x="{NAMES - 8}" y="{y + 3.5:.1f}" text-anchor="end">{escape(name)}</text>'
            f'<line class="whisker" x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{y}" y2="{y}"/>'
            f'<circle cx="{x(estimate):.1f}" cy="{y}" r="3.6"/></g>'
        )
    return _figure(parts, height, "Differences of policies in points, with 95 % intervals")


def curves_of(rows: Iterable[Record]) -> dict[str, list[Record]]:
    """Points by curve, by share of calls; selectors at the same point once."""
    curves: dict[str, list[Record]] = {}
    for row in rows:
        curves.setdefault(row["curve"], []).append(row)
    return {
        name: list({(r["call_rate"], r["accuracy"]): r for r in _by_rate(own)}.values())
        for name, own in curves.items()
    }


def _by_rate(rows: Iterable[Record]) -> list[Record]:
    return sorted(rows, key=lambda row: (row["call_rate"], row["accuracy"]))


def _colour(i: int, name: str) -> str:
    return css_class(None if name.endswith("random") else i)


def legend(rows: Iterable[Record]) -> list[tuple[str, str]]:
    """Colour and name of each curve."""
    return [(_colour(i, name), name) for i, name in enumerate(curves_of(rows))]


def frontier_figure(rows: Iterable[Record]) -> Markup:
    """Accuracy against the share of calls, a line for each curve; pointwise intervals on hover."""
    curves = curves_of(rows)
    points = [PlotPoint(row["accuracy"]) for own in curves.values() for row in own]
    scale = fitting([Line("", "", points)], low=1.0, high=1.0)
    parts = [*_axes(scale)]
    for i, (name, own) in enumerate(curves.items()):
        places = [(_x(row["call_rate"]), _y(scale, row["accuracy"]), row) for row in own]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
        dots = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4"><title>{_label(name, row)}</title></circle>'
            for x, y, row in places
        )
        parts.append(
            f'<g class="{_colour(i, name)}"><polyline class="path" points="{path}"/>{dots}</g>'
        )
    return _figure(parts, TALL, "Accuracy against the share of calls, in per cent")


def _label(name: str, row: Record) -> Markup:
    reach = ""
    if row.get("accuracy_low") is not None:
        reach = f" ({100 * row['accuracy_low']:.1f} to {100 * row['accuracy_high']:.1f})"
    return escape(
        f"{name}, {100 * row['call_rate']:.1f} % calls: {100 * row['accuracy']:.1f} %{reach}"
    )


def _x(share: float) -> float:
    return LEFT + (WIDE - LEFT - RIGHT) * share


def _y(scale: PlotScale, share: float) -> float:
    return TOP + (TALL - TOP - BOTTOM) * (scale.high - share) / (scale.high - scale.low)


def _axes(scale: PlotScale) -> list[str]:
    parts = []
    for tenths in range(round(10 * scale.low), round(10 * scale.high) + 1):
        y = _y(scale, tenths / 10)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{LEFT - 5}" y="{y + 3.5:.1f}" text-anchor="end">{10 * tenths}</text>'
        )
    for quarter in range(5):
        x = _x(quarter / 4)
        parts.append(
            f'<text x="{x:.1f}" y="{TALL - 6}" text-anchor="middle">{25 * quarter} %</text>'
        )
    return parts


def _figure(parts: Sequence[str], height: int, alt: str) -> Markup:
    return (
        Markup(
            '<svg class="panel" style="max-width: 52rem" viewBox="0 0 {} {}" role="img" '
            'aria-label="{}">'
        ).format(WIDE, height, alt)
        + Markup("".join(parts))
        + Markup("</svg>")
    )
