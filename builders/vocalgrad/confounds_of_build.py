"""What moves in a build's clips besides the named factor, and how well it tells the label."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from builders.vocalgrad.listening import Hearing
from otoscope.acoustics.confounds import (
    CONTRASTS,
    NUMBERS_ONLY,
    ConfoundRow,
    Confounds,
    measure_confounds,
)
from otoscope.acoustics.gradients import attribute_of
from otoscope.statistics.intervals import UNKNOWN, Interval

COLUMNS = tuple(name for name in CONTRASTS if name not in NUMBERS_ONLY)
"""Contrasts that some category has as a confound; each is a column of the table."""

WIDEST = "high"


@dataclass(frozen=True)
class ConfoundReport:
    """How well each contrast tells the label.

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
        """All tiers as a Markdown table; the last two columns are all confounds together."""
        lines = [
            f"| category | {' | '.join(map(attribute_of, COLUMNS))} "
            f"| all together | all together, {WIDEST} tier |",
            f"|---|{'---:|' * (len(COLUMNS) + 2)}",
        ]
        for category, cells in by_category(self.all_tiers.rows).items():
            texts = [
                "intended" if cells[name].intended else auc_text(cells[name].auc)
                for name in COLUMNS
            ]
            texts += [auc_text(together_auc(c, category)) for c in (self.all_tiers, self.widest)]
            lines.append(f"| {attribute_of(category)} | {' | '.join(texts)} |")
        return "\n".join(lines)

    @property
    def not_measurable(self) -> list[str]:
        """Where a contrast could not be measured: category, contrast, and how often for what."""
        return [
            f"{attribute_of(row.category)}, {attribute_of(row.name)}: "
            + ", ".join(f"{n} {reason}" for reason, n in row.n_not_measurable.items())
            for row in self.all_tiers.rows
            if row.n_not_measurable
        ]


def confounds_of(hearing: Hearing) -> ConfoundReport:
    """How well each contrast tells the label in a build; clips with no effect are left out."""
    clips = [heard.contrasted for heard in hearing.clips if heard.contrasted is not None]
    return ConfoundReport(
        hearing.basis, measure_confounds(clips), measure_confounds(clips, tier=WIDEST)
    )


def by_category(rows: Sequence[ConfoundRow]) -> dict[str, dict[str, ConfoundRow]]:
    """The rows of each category by the name of their contrast."""
    found: dict[str, dict[str, ConfoundRow]] = {}
    for row in rows:
        found.setdefault(row.category, {})[row.name] = row
    return found


def together_auc(confounds: Confounds, category: str) -> Interval:
    """All confounds of one category together; all NaN where it has no clips."""
    found = (row.auc for row in confounds.together if row.category == category)
    return next(found, UNKNOWN)


def worst(rows: Sequence[ConfoundRow]) -> ConfoundRow | None:
    """The confound that is farthest from saying nothing; None where none could be measured."""
    known = [row for row in rows if not row.intended and not math.isnan(row.auc.estimate)]
    return max(known, key=lambda row: abs(row.auc.estimate - 0.5), default=None)


def auc_text(auc: Interval) -> str:
    """An area with its interval.

    >>> auc_text(Interval(0.5, 0.471, 0.529)), auc_text(Interval(*[float("nan")] * 3))
    ('0.50 [0.47, 0.53]', '–')
    """
    if math.isnan(auc.estimate):
        return "–"
    return f"{auc.estimate:.2f} [{auc.low:.2f}, {auc.high:.2f}]"
