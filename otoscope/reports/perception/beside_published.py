"""Runs beside the models and people of the VocalGrad paper."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from otoscope.reports.perception import published
from otoscope.reports.perception.scores import HUMAN_NOTE
from otoscope.reports.readings import BEEP, CLIP, Answers, Run
from otoscope.reports.sheets import Column, Sheet, matrix
from otoscope.reports.tables import Table, tabulate

HUMAN = Fraction(944, 1000)
"""People's accuracy, the mean over categories. Source: VocalGrad, Table 2."""

PUBLISHED_NOTE = (
    "Published models answered 2,400 clips of each category made from VCTK. Their rows compare "
    "with a run on those clips; beside a run on others they are only a yardstick."
)
BEEP_NOTE = (
    "Published models answered 240 beeps of each category, asked with the prompt audio_ref; "
    "printed as in the paper, where 46.25 became 46.3."
)


def published_sheet(
    answered: Sequence[tuple[Run, Answers]], prompts: Iterable[str], *, kind: str = CLIP
) -> Sheet:
    """Runs, the published models and people, by category; averages are over the columns shown.

    Args:
        answered: Runs with the answers that stand for them.
        prompts: The prompt of each run's answers; published rows are for the first.
        kind: `clip`, or `beep` for the published rows on beeps.
    """
    tallies = {(run.name, c): t for run, a in answered for c, t in a.tallies("category").items()}
    columns = tuple(sorted({category for _, category in tallies}))
    mine = tabulate(tallies, title="", corner="", columns=columns)
    rows = [_as_record(mine, i, "this report") for i in range(len(mine.rows))]
    theirs = _published(next(iter(prompts), None), kind)
    notes: tuple[str, ...] = ()
    if theirs is not None and set(columns) & set(theirs.columns):
        notes = (PUBLISHED_NOTE if kind != BEEP else BEEP_NOTE,)
        rows += [_as_record(theirs, i, "published", columns) for i in range(len(theirs.rows))]
        if kind != BEEP and set(columns) == set(published.CATEGORIES):
            rows.append({"name": "people", "whose": "published", "average": HUMAN})
            notes += (HUMAN_NOTE,)
    corner = (
        Column("name", "model or run", "run"),
        Column("whose", "whose"),
        Column("average", "average", "share"),
    )
    name, on = ("beside_the_published", "") if kind != BEEP else ("beside_on_beeps", " on beeps")
    title = f"Beside the published models{on}, accuracy in %"
    sheet = matrix(name, title, corner, columns, rows, notes)
    return sheet if theirs is None else replace(sheet, ties=theirs.ties)


def _published(prompt: str | None, kind: str) -> Table | None:
    if kind == BEEP:
        return published.beep_table()
    if prompt == "main":
        return published.main_table()
    if prompt == "few_shot":
        return published.few_shot_table()
    if prompt is None or prompt not in published.PROMPT_EXPERIMENTS:
        return None
    return published.prompt_table(prompt)


def _as_record(
    table: Table, i: int, whose: str, columns: tuple[str, ...] | None = None
) -> dict[str, Any]:
    """A row of a table as a plain dict; the average is over the columns asked for."""
    row = table.rows[i]
    cells = dict(zip(table.columns, row.cells, strict=True))
    shown = [cells.get(column) for column in columns or table.columns]
    known = [cell for cell in shown if cell is not None]
    average = sum(known, Fraction()) / len(known) if len(known) == len(shown) > 0 else None
    return {"name": row.name, "whose": whose, "average": average} | dict(
        zip(columns or table.columns, shown, strict=True)
    )
