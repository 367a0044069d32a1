"""Figures of the page: intervals of contrasts, and accuracy of routes over budgets.

Colours come from the page's style sheet, which has a dark mode. Rows of contrasts scale with the
page, the others are small plots side by side.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from otoscope.reports.call_value.contrasts import Contrast
from otoscope.reports.call_value.frontier_figure import by_curve
from otoscope.reports.panels import PlotLine, PlotPoint, fitting, line_panel
from otoscope.reports.strips import SHAPES, css_class
from otoscope.reports.tables import Record
from otoscope.statistics.gain_wording import GainEvidence

HEIGHT = 16  # pixels of a contrast's row


class ForestRow(NamedTuple):
    """One contrast of the figure: its names, its numbers in words, and its picture."""

    policy: str
    reference: str
    words: str
    picture: Markup


class ForestItem(NamedTuple):
    """What a row of the figure is about.

    Attributes:
        adjusted: Holm's p-value, or None.
        role: Decides colour and shape.
    """

    policy: str
    reference: str
    role: str
    evidence: GainEvidence
    adjusted: float | None


def forest(
    contrasts: Sequence[Contrast | ForestItem],
) -> tuple[list[ForestRow], list[tuple[float, str]]]:
    """A row for each contrast, and the ticks of their scale as positions in per cent and texts."""
    ends = [abs(end) for own in contrasts for end in own.evidence.two_sided]
    widest = max((end for end in ends if not math.isnan(end)), default=0.0)
    reach = 5.0 * math.ceil(20 * max(widest, contrasts[0].evidence.margin, 0.05))
    rows = [
        ForestRow(own.policy, own.reference, _in_words(own), _forest_row(own, reach))
        for own in contrasts
    ]
    ticks = [-reach, -reach / 2, 0.0, reach / 2, reach]
    return rows, [(_across(tick, reach), signed(tick, digits=0)) for tick in ticks]


def _in_words(own: Contrast | ForestItem) -> str:
    estimate, low, high = (signed(100 * end) for end in own.evidence.two_sided)
    p = own.evidence.p_value if own.adjusted is None else own.adjusted
    name = "p" if own.adjusted is None else "Holm's p"
    tested = f"{name} {'< 0.001' if p < 0.001 else f'{p:.3f}'}"
    return f"{estimate} ({low} to {high}), {tested}, {own.role}"


def signed(points: float, digits: int = 1) -> str:
    """Points with their sign.

    >>> signed(-2.84), signed(0.0), signed(5.0, digits=0)
    ('−2.8', '0.0', '+5')
    """
    text = f"{points:+.{digits}f}".replace("-", "−")
    return text[1:] if float(text[1:]) == 0 else text


def _across(points: float, reach: float) -> float:
    return 100 * (points + reach) / (2 * reach)


def _forest_row(contrast: Contrast | ForestItem, reach: float) -> Markup:
    estimate, low, high = (_across(100 * e, reach) for e in contrast.evidence.two_sided)
    margin = 100 * contrast.evidence.margin
    left, right = _across(-margin, reach), _across(margin, reach)
    grid = "".join(
        f'<line class="{kind}" x1="{x}%" x2="{x}%" y1="0" y2="{HEIGHT}"/>'
        for x, kind in zip((0, 25, 75, 100, 50), (*["grid"] * 4, "chance"), strict=True)
    )
    series = {"primary": 0, "secondary": 1}.get(contrast.role)
    shape = {"primary": "dot", "secondary": "diamond"}.get(contrast.role, "box")
    y = HEIGHT // 2
    return Markup(
        f'<svg class="strip" width="100%" height="{HEIGHT}" aria-hidden="true">'
        f'<g class="grey"><rect class="band" x="{left:.2f}%" width="{right - left:.2f}%" y="0" '
        f'height="{HEIGHT}"/></g>{grid}<g class="{css_class(series)}">'
        f'<line class="whisker" x1="{low:.2f}%" x2="{high:.2f}%" y1="{y}" y2="{y}"/>'
        f'<svg x="{estimate:.2f}%" y="{y}" overflow="visible">{SHAPES[shape]}</svg></g></svg>'
    )


def route_panels(rows: Sequence[Record]) -> list[tuple[str, Markup]]:
    """Accuracy of each route over its planned budget, no_call as it was frozen for reference."""
    curves = by_curve(rows, routes=True)
    lines = {
        name: PlotLine(
            name, "s1", [PlotPoint(r["accuracy"], r["band_low"], r["band_high"]) for r in own]
        )
        for name, own in curves.items()
    }
    if not lines:
        return []
    scale = fitting(list(lines.values()), low=1.0, high=1.0)
    return [
        (
            name,
            line_panel(
                [line],
                [f"{100 * row['budget']:g}" for row in curves[name]],
                scale=scale,
                chance=None,
                alt=f"Accuracy of {name} over its budget of calls in per cent",
            ),
        )
        for name, line in lines.items()
    ]
