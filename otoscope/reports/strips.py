"""Small pictures in a report's rows: shares from 0 to 100 per cent, drawn in the page's colours.

Strips scale with the page: positions are in per cent and marks in pixels, so marks keep their
shape. Each of `N_SERIES` series has a colour in the style sheet and a shape, by which it is known
without colours; then the colours begin anew with other shapes.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from markupsafe import Markup, escape

from otoscope.reports.tables import per_cent

N_SERIES = 8
LINE = 16  # pixels from one mark to the next below it
GRID = (0, 25, 50, 75, 100)
SHAPES = {
    "dot": '<circle r="4.2"/>',
    "diamond": '<path d="M0-5.2 5.2 0 0 5.2-5.2 0Z"/>',
    "square": '<path d="M-3.9-3.9H3.9V3.9H-3.9Z"/>',
    "up": '<path d="M0-5.2 5 3.8H-5Z"/>',
    "down": '<path d="M0 5.2 5-3.8H-5Z"/>',
    "ring": '<circle r="4" class="hollow"/>',
    "cross": '<path d="M-4-4 4 4M-4 4 4-4" class="tick"/>',
    "box": '<path d="M-3.6-3.6H3.6V3.6H-3.6Z" class="hollow"/>',
    "tick": '<path d="M0-5.5V5.5" class="tick"/>',
}
Share = float | Fraction
TURNS = ("dot", "diamond", "square", "up", "down", "ring", "cross", "box")


class Mark(NamedTuple):
    """One share on a strip.

    Attributes:
        share: Where, 0 to 1; not drawn where it is None.
        low, high: Ends of its whisker, or None.
        series: Which colour, counted from 0; None for grey.
        shape: A name in `SHAPES`; None for the series' own.
        name: What it is, shown when pointed at.
    """

    share: Share | None
    low: Share | None = None
    high: Share | None = None
    series: int | None = 0
    shape: str | None = None
    name: str = ""


def css_class(series: int | None) -> str:
    """The colour of a series."""
    return "grey" if series is None else f"s{series % N_SERIES + 1}"


def shape_of(series: int | None) -> str:
    """The shape of a series' marks."""
    return "tick" if series is None else TURNS[(series + series // N_SERIES) % len(TURNS)]


def strip(
    lines: Sequence[Sequence[Mark]],
    *,
    width: str = "100%",
    chance: float | None = 0.5,
    named: Sequence[int] = (),
) -> Markup:
    """Marks on a scale from 0 to 100 per cent, a line below the other.

    Args:
        lines: The marks of each line.
        width: Of the whole, as in CSS.
        chance: Where a dashed line is drawn.
        named: The series of each line, whose mark is set before it; without them no mark is.
    """
    height = LINE * max(1, len(lines))
    parts = [f'<line class="grid" x1="{x}%" x2="{x}%" y1="0" y2="{height}"/>' for x in GRID]
    if chance is not None:
        x = _at(chance)
        parts.append(f'<line class="chance" x1="{x}" x2="{x}" y1="0" y2="{height}"/>')
    for i, series in enumerate(named):
        y = LINE * i + LINE // 2
        mark = SHAPES[shape_of(series)]
        parts.append(
            f'<svg x="-14" y="{y}" overflow="visible"><g class="{css_class(series)}" '
            f'transform="scale(.8)">{mark}</g></svg>'
        )
    for i, marks in enumerate(lines):
        parts += [_draw(mark, LINE * i + LINE // 2) for mark in marks]
    return Markup(
        f'<svg class="strip" width="{width}" height="{height}" aria-hidden="true">'
        f"{''.join(parts)}</svg>"
    )


def _draw(mark: Mark, y: int) -> str:
    if mark.share is None:
        return ""
    whisker = ""
    if mark.low is not None and mark.high is not None:
        whisker = (
            f'<line class="whisker" x1="{_at(mark.low)}" x2="{_at(mark.high)}" y1="{y}" y2="{y}"/>'
        )
    label = escape(f"{mark.name}: {per_cent(mark.share)} %")
    body = SHAPES[mark.shape or shape_of(mark.series)]
    return (
        f'<g class="{css_class(mark.series)}"><title>{label}</title>{whisker}'
        f'<svg x="{_at(mark.share)}" y="{y}" overflow="visible">{body}</svg></g>'
    )


def _at(share: Share) -> str:
    return f"{100 * float(share):.2f}%"


def swatch(series: int | None, shape: str | None = None) -> Markup:
    """A mark by itself, for legends and tables."""
    return Markup(
        f'<svg class="swatch" width="14" height="12" viewBox="-7 -6 14 12" aria-hidden="true">'
        f'<g class="{css_class(series)}">{SHAPES[shape or shape_of(series)]}</g></svg>'
    )


def heat(share: Share | None) -> Markup:
    """Colour of a cell by the distance of a share from one half, as classes and a strength."""
    if share is None:
        return Markup('class="number"')
    strength = min(75, round(150 * abs(float(share) - 0.5)))
    side = "above" if share > 0.5 else "below"
    return Markup(f'class="number heat {side}" style="--k: {strength}%"')
