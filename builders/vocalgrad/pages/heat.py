"""The table of confounds as coloured cells; the colour only repeats the number."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from builders.vocalgrad.measuring.build_confounds import (
    CONFOUND_COLUMNS,
    by_category,
    joint_auc,
)
from otoscope.acoustics.confounds import ConfoundRow, Confounds
from otoscope.statistics.intervals import Interval


class HeatCell(NamedTuple):
    """One cell.

    Attributes:
        number, interval: Its text; a dash and the reason where nothing is known.
        intended: The contrast is part of what the category is about, and gets no colour.
        unavoidable: Why every rendering has it; None where it is avoidable.
        side: `above` or `below` 0.5.
        strength: How far from 0.5, 0 to 1.
        n_missing: Clips in which it could not be measured.
    """

    number: str
    interval: str
    intended: bool
    unavoidable: str | None
    side: str
    strength: float
    n_missing: int


class HeatRow(NamedTuple):
    """One category in one build: a cell for each of `CONFOUND_COLUMNS`, then of `TOGETHER`."""

    category: str
    build: str
    cells: list[HeatCell]


def heat_table(builds: Mapping[str, Confounds]) -> list[HeatRow]:
    """Rows by category, in each the builds one under the other."""
    tables = {name: by_category(confounds.rows) for name, confounds in builds.items()}
    categories = list(dict.fromkeys(c for table in tables.values() for c in table))
    return [
        HeatRow(
            category,
            name,
            [
                *(_cell_of(table[category][column]) for column in CONFOUND_COLUMNS),
                *(
                    _cell(
                        joint_auc(builds[name], category, avoidable_only=only),
                        empty="too few sources",
                    )
                    for only in (False, True)
                ),
            ],
        )
        for category in categories
        for name, table in tables.items()
        if category in table
    ]


def _cell_of(row: ConfoundRow) -> HeatCell:
    n_missing = sum(row.n_not_measurable.values())
    empty = "not measurable" if n_missing else "no pairs"
    return _cell(
        row.auc, intended=row.intended, unavoidable=row.unavoidable, n_missing=n_missing,
        empty=empty,
    )  # fmt: skip


def _cell(
    auc: Interval,
    *,
    intended: bool = False,
    unavoidable: str | None = None,
    n_missing: int = 0,
    empty: str,
) -> HeatCell:
    if math.isnan(auc.estimate):
        return HeatCell("–", empty, intended, unavoidable, "above", 0.0, n_missing)
    return HeatCell(
        f"{auc.estimate:.2f}",
        f"{auc.low:.2f}–{auc.high:.2f}",
        intended,
        unavoidable,
        "above" if auc.estimate >= 0.5 else "below",
        0.0 if intended else round(2 * abs(auc.estimate - 0.5), 2),
        n_missing,
    )
