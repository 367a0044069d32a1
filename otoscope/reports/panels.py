"""Small plots of shares over tiers, stages or layers, as lines with bands or as bars.

Colours come from the page's style sheet, which has a dark mode.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from otoscope.reports.strips import SHAPES

WIDTH, HEIGHT = 250, 150
LEFT, RIGHT, TOP, BOTTOM = 26, 8, 6, 18
INSET = 14
MOST_TICKS = 8
MARK_SCALE = 0.65


class PlotPoint(NamedTuple):
    """A share with its interval at a labelled position; not drawn where it is None."""

    share: float | None
    low: float | None = None
    high: float | None = None


class PlotLine(NamedTuple):
    """Shares over all labels.

    Attributes:
        name: Its legend, shown on hover.
        css: Its colour, a class of the style sheet; more classes may follow.
        points: One for each label.
        answered: A share that is the same for all labels, drawn as a dashed line.
        shape: Its marks, a name in `strips.SHAPES`.
    """

    name: str
    css: str
    points: Sequence[PlotPoint]
    answered: float | None = None
    shape: str = "dot"


class PlotScale(NamedTuple):
    """Range of the vertical axis, as shares; the same for panels to be compared."""

    low: float = 0.0
    high: float = 1.0

    def y(self, share: float) -> float:
        """Distance from the top; shares outside the scale are drawn on its edge."""
        inside = min(max(share, self.low), self.high)
        height = HEIGHT - TOP - BOTTOM
        return TOP + height * (self.high - inside) / (self.high - self.low)


def fitting(lines: Sequence[PlotLine], *, low: float, high: float) -> PlotScale:
    """A scale in steps of a tenth that holds all estimates, and at least `low` to `high`.

    >>> fitting([PlotLine("", "", [PlotPoint(0.32), PlotPoint(0.9)])], low=0.4, high=1.0)
    PlotScale(low=0.3, high=1.0)
    """
    values = [p.share for line in lines for p in line.points if p.share is not None]
    values += [line.answered for line in lines if line.answered is not None]
    tenths = [10 * value for value in (*values, low, high)]
    return PlotScale(math.floor(min(tenths) + 1e-9) / 10, math.ceil(max(tenths) - 1e-9) / 10)


def line_panel(
    lines: Sequence[PlotLine],
    labels: Sequence[str],
    *,
    scale: PlotScale,
    chance: float | None,
    alt: str,
) -> Markup:
    """Lines over labelled positions, each with a band for its interval; the first lies on top.

    A line for `chance` is dashed; `alt` is the text alternative.
    """
    positions = _positions(len(labels))
    drawn = [_line(line, labels, positions, scale) for line in reversed(lines)]
    return _panel([_axes(labels, positions, scale, chance), *drawn], alt)


def bar_panel(
    bars: Sequence[PlotLine], labels: Sequence[str], *, scale: PlotScale, alt: str
) -> Markup:
    """Bars side by side at labelled positions, each with a whisker for its interval."""
    across = (WIDTH - LEFT - RIGHT) / max(1, len(labels))
    positions = [LEFT + across * (k + 0.5) for k in range(len(labels))]
    width = min(14.0, 0.8 * across / max(1, len(bars)))
    drawn = []
    for nth, bar in enumerate(bars):
        apart = width * (nth - (len(bars) - 1) / 2)
        for point, label, position in zip(bar.points, labels, positions, strict=True):
            if point.share is not None:
                drawn.append(_bar(bar, point, label, position + apart, width, scale))
    return _panel([_axes(labels, positions, scale, None), *drawn], alt)


def _bar(
    bar: PlotLine, point: PlotPoint, label: str, x: float, width: float, scale: PlotScale
) -> str:
    assert point.share is not None
    top, floor = sorted((scale.y(point.share), scale.y(0.0)))
    return (
        f'<g class="{bar.css}"><title>{_label(bar, point, label)}</title>'
        f'<rect class="bar" x="{x - width / 2:.1f}" y="{top:.1f}" width="{0.9 * width:.1f}" '
        f'height="{floor - top:.1f}"/>{_whisker(point, x, scale)}</g>'
    )


def _line(
    line: PlotLine, labels: Sequence[str], positions: Sequence[float], scale: PlotScale
) -> str:
    there = [(p, label, x) for p, label, x in zip(line.points, labels, positions, strict=True)]
    known = [(p, label, x, p.share) for p, label, x in there if p.share is not None]
    band = [(x, p.low, p.high) for p, _, x, _ in known if p.low is not None and p.high is not None]
    parts = []
    if len(band) > 1:
        edge = [f"{x:.1f},{scale.y(high):.1f}" for x, _, high in band]
        edge += [f"{x:.1f},{scale.y(low):.1f}" for x, low, _ in reversed(band)]
        parts.append(f'<polygon class="band" points="{" ".join(edge)}"/>')
    elif band:
        parts += [_whisker(p, x, scale) for p, _, x, _ in known]
    points = " ".join(f"{x:.1f},{scale.y(share):.1f}" for _, _, x, share in known)
    parts.append(f'<polyline class="path" points="{points}"/>')
    parts += [
        f'<g class="mark" transform="translate({x:.1f} {scale.y(share):.1f}) scale({MARK_SCALE})">'
        f"<title>{_label(line, p, label)}</title>{SHAPES[line.shape]}</g>"
        for p, label, x, share in known
    ]
    if line.answered is not None:
        y = scale.y(line.answered)
        parts.append(
            f'<line class="answered" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}">'
            f"<title>{escape(line.name)}, answers: "
            f"{100 * line.answered:.1f} %</title></line>"
        )
    return f'<g class="{line.css}">{"".join(parts)}</g>'


def _whisker(point: PlotPoint, x: float, scale: PlotScale) -> str:
    if point.low is None or point.high is None:
        return ""
    return (
        f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{scale.y(point.low):.1f}" '
        f'y2="{scale.y(point.high):.1f}"/>'
    )


def _label(line: PlotLine, point: PlotPoint, label: str) -> Markup:
    assert point.share is not None
    reach = ""
    if point.low is not None and point.high is not None:
        reach = f" ({100 * point.low:.1f} to {100 * point.high:.1f})"
    return escape(f"{line.name}, {label}: {100 * point.share:.1f}{reach}")


def _positions(n: int) -> list[float]:
    extent = WIDTH - LEFT - RIGHT - 2 * INSET
    return [LEFT + INSET + extent * (k / (n - 1) if n > 1 else 0.5) for k in range(n)]


def _axes(
    labels: Sequence[str], positions: Sequence[float], scale: PlotScale, chance: float | None
) -> str:
    extent = scale.high - scale.low
    step = next(tenths for tenths in (1, 2, 5) if extent / tenths <= 0.6 or tenths == 5)
    parts = []
    for tenths in range(-10, 11, step):
        share = tenths / 10
        if not scale.low - 1e-9 <= share <= scale.high + 1e-9:
            continue
        y = scale.y(share)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{LEFT - 4}" y="{y + 3.5:.1f}" text-anchor="end">{_in_per_cent(share)}</text>'
        )
    if chance is not None:
        y = scale.y(chance)
        parts.append(
            f'<line class="chance" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
    every = -(-len(labels) // MOST_TICKS)
    for k, (label, x) in enumerate(zip(labels, positions, strict=True)):
        if k % every == 0:
            parts.append(
                f'<text x="{x:.1f}" y="{HEIGHT - 4}" text-anchor="middle">{escape(label)}</text>'
            )
    return f'<g class="axes">{"".join(parts)}</g>'


def _in_per_cent(share: float) -> str:
    return f"{100 * share:.0f}".replace("-", "−")


def _panel(parts: Sequence[str], alt: str) -> Markup:
    return Markup('<svg class="panel" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        WIDTH, HEIGHT, alt
    ) + Markup("".join(parts) + "</svg>")
