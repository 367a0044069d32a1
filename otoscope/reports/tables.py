"""Tables of percentages from counts, the same for a run and for published results.

A cell keeps its share as an exact fraction. The average of a row is the plain mean of its cells
before rounding, each column with the same weight: 50.02, 50.06 and 50.06 average 50.0, not 50.1.
Printing rounds to one decimal, and a tie goes to the even digit: 50.25 becomes 50.2. The published
tables do both, save that the one on beeps sends ties up.
"""

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

MISSING = "–"


class Tally(NamedTuple):
    """Counts of the answers that one cell is about.

    Attributes:
        n: Answers asked for: the denominator of accuracy, whatever came back.
        n_correct: Correct ones.
        n_unparsed: Those without a label.
        n_increase: Those that say "increase"; None where that is not known.
    """

    n: int
    n_correct: int
    n_unparsed: int
    n_increase: int | None = None


Measure = Callable[[Tally], Fraction | None]


def accuracy(tally: Tally) -> Fraction | None:
    """Correct of all that were asked for; None of nothing."""
    return _share(tally.n_correct, tally.n)


def parsed_rate(tally: Tally) -> Fraction | None:
    """Answers with a label of all that were asked for; None of nothing."""
    return _share(tally.n - tally.n_unparsed, tally.n)


def increase_share(tally: Tally) -> Fraction | None:
    """ "Increase" of the answers with a label; None of nothing and where it is not known."""
    if tally.n_increase is None:
        return None
    return _share(tally.n_increase, tally.n - tally.n_unparsed)


def _share(part: int, whole: int) -> Fraction | None:
    return Fraction(part, whole) if whole else None


def total(tallies: Iterable[Tally]) -> Tally:
    """All counts added up."""
    chosen = list(tallies)
    said = [tally.n_increase for tally in chosen]
    known = [count for count in said if count is not None]
    return Tally(
        sum(t.n for t in chosen),
        sum(t.n_correct for t in chosen),
        sum(t.n_unparsed for t in chosen),
        sum(known) if len(known) == len(said) else None,
    )


@dataclass(frozen=True)
class Row:
    """A row of a table: shares from 0 to 1, None where there is nothing to show."""

    name: str
    cells: tuple[Fraction | None, ...]

    @property
    def average(self) -> Fraction | None:
        """Plain mean of the cells; None unless there are any and all of them are known."""
        known = [cell for cell in self.cells if cell is not None]
        return sum(known, Fraction()) / len(known) if len(known) == len(self.cells) > 0 else None


@dataclass(frozen=True)
class Table:
    """Named rows of shares under named columns.

    Attributes:
        title: What the numbers are.
        corner: What the rows are.
        columns: Names of the columns.
        rows: Each with one cell a column.
        averages: Whether the mean of each row is shown.
        ties: Where 50.25 goes: to the `even` digit, or `up`.
    """

    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    averages: bool = True
    ties: Literal["even", "up"] = "even"

    def printed(self) -> list[list[str]]:
        """Head and rows as text, in per cent."""
        head = [self.corner, *(["average"] if self.averages else []), *self.columns]
        body = [
            [row.name, *(percent(share, ties=self.ties) for share in shares)]
            for row, shares in zip(self.rows, self.shares(), strict=True)
        ]
        return [head, *body]

    def shares(self) -> list[list[Fraction | None]]:
        """What each row shows, its average first if averages are shown."""
        return [([row.average] if self.averages else []) + [*row.cells] for row in self.rows]


def tabulate(
    tallies: Mapping[tuple[str, str], Tally],
    *,
    title: str,
    corner: str,
    measure: Measure = accuracy,
    columns: Sequence[str] | None = None,
    averages: bool = True,
) -> Table:
    """A table of one measure.

    Args:
        tallies: Counts by row and column name. Rows come in the order of their first cell.
        title, corner, averages: As in `Table`.
        measure: From counts to a share.
        columns: Which columns, in which order; by default in the order of their first cell. A cell
            that has no counts is empty.
    """
    rows = dict.fromkeys(row for row, _ in tallies)
    names = tuple(columns or dict.fromkeys(column for _, column in tallies))

    def cell(row: str, column: str) -> Fraction | None:
        tally = tallies.get((row, column))
        return None if tally is None else measure(tally)

    return Table(
        title,
        corner,
        names,
        tuple(Row(row, tuple(cell(row, column) for column in names)) for row in rows),
        averages,
    )


def percent(share: Fraction | None, *, ties: Literal["even", "up"] = "even") -> str:
    """A share in per cent with one decimal.

    >>> percent(Fraction(1206, 2400)), percent(Fraction(1206, 2400), ties="up"), percent(None)
    ('50.2', '50.3', '–')
    """
    if share is None:
        return MISSING
    tenths = 1000 * share
    whole = round(tenths) if ties == "even" else math.floor(tenths + Fraction(1, 2))
    return f"{whole / 10:.1f}"


def to_markdown(table: Table) -> str:
    """The table as Markdown, title first."""
    head, *body = [[_in_markdown(text) for text in row] for row in table.printed()]
    rule = ["---", *["---:"] * (len(head) - 1)]
    lines = [f"| {' | '.join(row)} |" for row in [head, rule, *body]]
    return f"**{table.title}**\n\n" + "\n".join(lines) + "\n"


def _in_markdown(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def to_csv(table: Table) -> str:
    """The table as CSV: percentages unrounded, nothing where there is nothing to show."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.printed()[0])
    for row, shares in zip(table.rows, table.shares(), strict=True):
        writer.writerow([row.name, *("" if s is None else float(100 * s) for s in shares)])
    return buffer.getvalue()
