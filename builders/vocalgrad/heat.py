"""The table of confounds as coloured cells; the colour only repeats what the cell says."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from builders.vocalgrad.confounds_of_build import COLUMNS, by_category, together_auc
from otoscope.acoustics.confounds import ConfoundRow, Confounds
from otoscope.statistics.intervals import Interval


class Cell(NamedTuple):
    """One cell.

    Attributes:
        number, interval: What it says; empty and a dash where nothing is known.
        intended: The contrast is part of what the category is about, and gets no colour.
        bound: Why no rendering can be free of it; None where one can.
        side: `above` or `below` 0.5.
        strength: How far from 0.5, 0 to 1.
        n_missing: Clips in which it could not be measured.
    """

    number: str
    interval: str
    intended: bool
    bound: str | None
    side: str
    strength: float
    n_missing: int


class Row(NamedTuple):
    """The cells of one category in one build: for each of `COLUMNS`, then for `TOGETHER`."""

    category: str
    build: str
    cells: list[Cell]


def heat_table(builds: Mapping[str, Confounds]) -> list[Row]:
    """Rows by category, in each the builds one under the other."""
    tables = {name: by_category(confounds.rows) for name, confounds in builds.items()}
    categories = list(dict.fromkeys(c for table in tables.values() for c in table))
    return [
        Row(
            category,
            name,
            [
                *(_cell_of(table[category][column]) for column in COLUMNS),
                *(_cell(together_auc(builds[name], category, free=f)) for f in (False, True)),
            ],
        )
        for category in categories
        for name, table in tables.items()
        if category in table
    ]


def _cell_of(row: ConfoundRow) -> Cell:
    n_missing = sum(row.n_not_measurable.values())
    return _cell(row.auc, intended=row.intended, bound=row.bound, n_missing=n_missing)


def _cell(
    auc: Interval, *, intended: bool = False, bound: str | None = None, n_missing: int = 0
) -> Cell:
    if math.isnan(auc.estimate):
        return Cell("–", "", intended, bound, "above", 0.0, n_missing)
    return Cell(
        f"{auc.estimate:.2f}",
        f"{auc.low:.2f}–{auc.high:.2f}",
        intended,
        bound,
        "above" if auc.estimate >= 0.5 else "below",
        0.0 if intended else round(2 * abs(auc.estimate - 0.5), 2),
        n_missing,
    )
