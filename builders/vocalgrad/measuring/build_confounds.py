"""What moves in a build's clips besides the named factor, and how well it predicts the label."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from builders.vocalgrad.measuring.measurement import Measurement
from otoscope.acoustics.confounds import (
    NUMBERS_ONLY,
    ConfoundRow,
    Confounds,
    measure_confounds,
)
from otoscope.acoustics.contrasts import CONTRASTS, contrast_title
from otoscope.acoustics.gradients import attribute_of
from otoscope.statistics.intervals import UNKNOWN, Interval

CONFOUND_COLUMNS = tuple(name for name in CONTRASTS if name not in NUMBERS_ONLY)
"""Contrasts that some category has as a confound; each is a column of the table."""

TOGETHER = ("all together", "avoidable together")
"""All confounds of a category in one model, and the avoidable ones."""

WIDEST, MARK = "high", "†"


@dataclass(frozen=True)
class ConfoundReport:
    """How well each contrast predicts the label.

    Attributes:
        basis: Which clips were measured, in words.
        all_tiers: Over all clips, compared within tier and curve.
        widest: Of the high tier alone, where most moves.
    """

    basis: str
    all_tiers: Confounds
    widest: Confounds

    @property
    def table(self) -> str:
        """All tiers as a Markdown table; the last four columns are confounds together."""
        together = [f"{name}{tier}" for tier in ("", f", {WIDEST} tier") for name in TOGETHER]
        titles = [*map(contrast_title, CONFOUND_COLUMNS), *together]
        lines = [f"| category | {' | '.join(titles)} |", f"|---|{'---:|' * len(titles)}"]
        for category, rows in by_category(self.all_tiers.rows).items():
            texts = [contrast_text(rows[name]) for name in CONFOUND_COLUMNS]
            texts += [
                auc_text(joint_auc(confounds, category, avoidable_only=avoidable_only))
                for confounds in (self.all_tiers, self.widest)
                for avoidable_only in (False, True)
            ]
            lines.append(f"| {attribute_of(category)} | {' | '.join(texts)} |")
        return "\n".join(lines)

    @property
    def unavoidable(self) -> list[str]:
        """Which confounds are unavoidable, and why."""
        return unavoidable_reasons(self.all_tiers)

    @property
    def not_measurable(self) -> list[str]:
        """Where a contrast could not be measured: category, contrast, and how often for what."""
        return [
            f"{attribute_of(row.category)}, {contrast_title(row.name)}: "
            + ", ".join(f"{n} {reason}" for reason, n in row.n_not_measurable.items())
            for row in self.all_tiers.rows
            if row.n_not_measurable
        ]


def confound_report(measurement: Measurement) -> ConfoundReport:
    """How well each contrast predicts the label in a build, clips with no effect not counted."""
    clips = [clip.contrasted for clip in measurement.clips if clip.contrasted is not None]
    return ConfoundReport(
        measurement.basis, measure_confounds(clips), measure_confounds(clips, tier=WIDEST)
    )


def by_category(rows: Sequence[ConfoundRow]) -> dict[str, dict[str, ConfoundRow]]:
    """The rows of each category by the name of their contrast."""
    found: dict[str, dict[str, ConfoundRow]] = {}
    for row in rows:
        found.setdefault(row.category, {})[row.name] = row
    return found


def joint_auc(confounds: Confounds, category: str, *, avoidable_only: bool) -> Interval:
    """All confounds of one category together, or the avoidable ones; NaN where it has no clips."""
    aucs = {(row.category, row.avoidable_only): row.auc for row in confounds.joint}
    return aucs.get((category, avoidable_only), UNKNOWN)


def unavoidable_reasons(confounds: Confounds) -> list[str]:
    """Which confounds are unavoidable, and why; those of one reason together."""
    named: dict[tuple[str, str], list[str]] = {}
    for row in confounds.rows:
        if row.unavoidable:
            named.setdefault((row.category, row.unavoidable), []).append(contrast_title(row.name))
    return [
        f"{attribute_of(category)}, {' and '.join(names)}: {reason}"
        for (category, reason), names in named.items()
    ]


def worst(rows: Sequence[ConfoundRow]) -> ConfoundRow | None:
    """The avoidable confound that is farthest from 0.5; None where none could be measured."""
    avoidable = [row for row in rows if not row.intended and not row.unavoidable]
    known = [row for row in avoidable if not math.isnan(row.auc.estimate)]
    return max(known, key=lambda row: abs(row.auc.estimate - 0.5), default=None)


def auc_text(auc: Interval) -> str:
    """An area with its interval.

    >>> auc_text(Interval(0.5, 0.471, 0.529)), auc_text(Interval(*[float("nan")] * 3))
    ('0.50 [0.47, 0.53]', '–')
    """
    if math.isnan(auc.estimate):
        return "–"
    return f"{auc.estimate:.2f} [{auc.low:.2f}, {auc.high:.2f}]"


def contrast_text(row: ConfoundRow) -> str:
    """A table's entry for one contrast; unavoidable ones are marked."""
    if row.intended:
        return "intended"
    return f"{auc_text(row.auc)} {MARK}" if row.unavoidable else auc_text(row.auc)
