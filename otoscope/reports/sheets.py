"""Tables of records: rows are plain dicts of unrounded numbers; rounding happens on printing.

Shares are 0 to 1 in rows and in CSV, per cent in print. Columns that hold nothing in any row are
left out: a data set without them has no such column.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from otoscope.reports.tables import MISSING, percent

Kind = Literal["text", "name", "run", "raw", "count", "share", "interval", "p", "number"]
Ties = Literal["even", "up"]
LEFT = ("text", "name", "run", "raw")
DENOMINATOR = 10**7  # a share of counts up to this is recovered exactly, so that ties round evenly

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A named column.

    Attributes:
        key: Where its value stands in a row, and its name in CSV.
        name: Its head in print.
        kind: How it is printed. `name` is a category or the like, printed with blanks for its
            underscores; `run` the name of a run; `raw` what somebody said.
        high: For an interval, the key of its upper end; `key` is that of the lower.
    """

    key: str
    name: str
    kind: Kind = "text"
    high: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys it shows."""
        return (self.key, self.high) if self.kind == "interval" else (self.key,)


class Cell(NamedTuple):
    """Printed text, and how its column is to be set."""

    text: str
    kind: Kind


@dataclass(frozen=True)
class Sheet:
    """A table.

    Attributes:
        name: Of its file, without ending.
        title: What it says.
        columns: Which values of the rows are shown, in order.
        rows: The records.
        notes: Sentences to read with it.
        ties: Where 46.25 goes: to the `even` digit, or `up`.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    ties: Ties = "even"

    @property
    def shown(self) -> tuple[Column, ...]:
        """Columns with a value in some row."""
        return tuple(
            column
            for column in self.columns
            if any(row.get(key) is not None for row in self.rows for key in column.keys)
        )

    def printed(self) -> Iterator[list[Cell]]:
        """Every row as text."""
        for row in self.rows:
            yield [Cell(in_print(row, column, self.ties), column.kind) for column in self.shown]


def in_print(row: Row, column: Column, ties: Ties = "even") -> str:
    """The text of one cell.

    >>> in_print({"low": 0.25, "high": 0.5}, Column("low", "95 %", "interval", high="high"))
    '25.0 to 50.0'
    >>> in_print({"p": 0.0002}, Column("p", "p", "p")), in_print({}, Column("n", "n", "count"))
    ('< 0.001', '–')
    """
    values: list[Any] = [row.get(key) for key in column.keys]
    if any(value is None for value in values):
        return "" if column.kind == "raw" else MISSING
    value = values[0]
    match column.kind:
        case "interval":
            return " to ".join(in_per_cent(end) for end in values)
        case "name":
            return str(value).replace("_", " ")
        case "share":
            return in_per_cent(value, ties)
        case "count":
            return f"{value:,}"
        case "p":
            return "< 0.001" if value < 0.001 else f"{value:.3f}"
        case "number":
            return f"{value:,.4g}"
    return str(value)


def in_per_cent(share: float | Fraction | None, ties: Ties = "even") -> str:
    """A share with one decimal, rounded as `otoscope.reports.tables` does.

    >>> in_per_cent(1206 / 2400), in_per_cent(5035 / 10000), in_per_cent(None)
    ('50.2', '50.4', '–')
    """
    if share is None:
        return MISSING
    return percent(Fraction(share).limit_denominator(DENOMINATOR), ties=ties)


def to_csv(sheet: Sheet) -> str:
    """All values as they are, with keys for names; nothing where there is nothing."""
    keys = [key for column in sheet.shown for key in column.keys]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(keys)
    for row in sheet.rows:
        writer.writerow(["" if row.get(k) is None else _plain(row[k]) for k in keys])
    return buffer.getvalue()


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def to_markdown(sheet: Sheet) -> str:
    """Title, table and notes."""
    head = [column.name for column in sheet.shown]
    rule = ["---" if column.kind in LEFT else "---:" for column in sheet.shown]
    body = [[cell.text for cell in row] for row in sheet.printed()]
    lines = [f"| {' | '.join(map(in_markdown, row))} |" for row in [head, *body]]
    lines.insert(1, f"| {' | '.join(rule)} |")
    notes = "".join(f"\n{in_markdown(note)}\n" for note in sheet.notes)
    return f"### {in_markdown(sheet.title)}\n\n" + "\n".join(lines) + "\n" + notes


def in_markdown(text: str) -> str:
    r"""Text that stays in its cell and is no markup.

    >>> in_markdown("<b> a|b\nc")
    '&lt;b> a\\|b c'
    """
    text = re.sub(r"([\\|`*\[\]]|\b_|_\b)", r"\\\1", text)
    return " ".join(text.replace("&", "&amp;").replace("<", "&lt;").split())


def matrix(
    name: str,
    title: str,
    corner: Sequence[Column],
    columns: Sequence[str],
    rows: Sequence[Row],
    notes: tuple[str, ...] = (),
) -> Sheet:
    """A table of shares with a column for each of `columns`, blanks for their underscores."""
    shares = [Column(key, key.replace("_", " "), "share") for key in columns]
    return Sheet(name, title, (*corner, *shares), tuple(rows), notes)
