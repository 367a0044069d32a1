"""Tables of a report: rows are plain dicts of unrounded numbers; rounding happens on printing.

Shares are 0 to 1 in rows and in CSV, per cent in print: one decimal, and a tie goes to the even
digit, 50.25 to 50.2, as in the published tables (save the one on beeps, where ties go up). Columns
without a value in any row are left out: a dataset may not have them.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import pandas as pd

from otoscope.statistics.method_names import (
    CLUSTER_BOOTSTRAP,
    CLUSTERED,
    CLUSTERED_T,
    OBUCHOWSKI,
)

MISSING = "–"
ColumnKind = Literal[
    "text", "name", "run", "raw", "count", "share", "interval", "p", "number", "number_interval"
]
Ties = Literal["even", "up"]
TEXT_KINDS = ("text", "name", "run", "raw")
DENOMINATOR = 10**7  # a share of counts up to this is recovered exactly, so that ties round evenly

FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
"""What a cell begins with that a spreadsheet runs; the wide forms in East Asian editions."""

CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line separators, marks that turn the direction, halves of pairs."""

Record = Mapping[str, Any]


@dataclass(frozen=True)
class TableColumn:
    """A named column.

    Attributes:
        key: Where its value is in a row, and its name in CSV.
        head: Its name in print.
        kind: How it is printed. `name` is a category or the like, printed with blanks for its
            underscores; `run` the name of a run; `raw` text from a model or a server;
            `interval` one of shares, in per cent.
        high: For an interval, the key of its upper end; `key` is that of the lower.
    """

    key: str
    head: str
    kind: ColumnKind = "text"
    high: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its values."""
        return (self.key, self.high) if self.high else (self.key,)


SHARE_CI = f"95 % CI, {CLUSTERED}"
DIFFERENCE_CI = f"95 % CI, {CLUSTERED_T}"
AREA_CI = f"95 % CI, {OBUCHOWSKI}"
BOOTSTRAP_CI = f"95 % CI, {CLUSTER_BOOTSTRAP}"


def with_interval(
    key: str, head: str, name: str = SHARE_CI, *, kind: Literal["share", "number"] = "share"
) -> tuple[TableColumn, TableColumn]:
    """A share or a number with its interval, see `named_interval`; `name` is its method."""
    ends: ColumnKind = "interval" if kind == "share" else "number_interval"
    interval = TableColumn(f"{key}_low", name, ends, high=f"{key}_high")
    return TableColumn(key, head, kind), interval


class TableCell(NamedTuple):
    """Printed text, and how its column is to be set."""

    text: str
    kind: ColumnKind


@dataclass(frozen=True)
class ReportTable:
    """A table.

    Attributes:
        name: Of its file, without ending.
        title: Its caption.
        columns: Which values of the rows are shown, in order.
        notes: Sentences to read with it.
        ties: Where 46.25 goes: to the `even` digit, or `up`.
    """

    name: str
    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[Record, ...]
    notes: tuple[str, ...] = ()
    ties: Ties = "even"

    @property
    def filled(self) -> tuple[TableColumn, ...]:
        """Columns with a value in some row."""
        return tuple(
            column
            for column in self.columns
            if any(row.get(key) is not None for row in self.rows for key in column.keys)
        )

    def printed(self) -> Iterator[list[TableCell]]:
        """Every row as text."""
        columns = self.filled
        for row in self.rows:
            yield [TableCell(printed(row, column, self.ties), column.kind) for column in columns]

    def to_csv(self) -> str:
        """All values unrounded, with keys for names; empty where there is none. See `csv_cell`."""
        keys = [key for column in self.filled for key in column.keys]
        return csv_text(keys, self.rows)

    def to_markdown(self) -> str:
        """Title, table and notes."""
        columns = self.filled
        head = [column.head for column in columns]
        rule = ["---" if column.kind in TEXT_KINDS else "---:" for column in columns]
        body = [[cell.text for cell in row] for row in self.printed()]
        lines = [f"| {' | '.join(map(in_markdown, row))} |" for row in [head, *body]]
        lines.insert(1, f"| {' | '.join(rule)} |")
        notes = "".join(f"\n{in_markdown(note)}\n" for note in self.notes)
        return f"### {in_markdown(self.title)}\n\n" + "\n".join(lines) + "\n" + notes


def printed(row: Record, column: TableColumn, ties: Ties = "even") -> str:
    """The text of one cell.

    >>> printed({"low": 0.25, "high": 0.5}, TableColumn("low", "95 %", "interval", high="high"))
    '25.0 to 50.0'
    >>> printed({"p": 0.0002}, TableColumn("p", "p", "p")), printed({}, TableColumn("n", "n"))
    ('< 0.001', '–')
    """
    values: list[Any] = [row.get(key) for key in column.keys]
    if any(value is None for value in values):
        return "" if column.kind == "raw" else MISSING
    value = values[0]
    match column.kind:
        case "interval":
            return " to ".join(per_cent(end) for end in values)
        case "name":
            return str(value).replace("_", " ")
        case "share":
            return per_cent(value, ties)
        case "count":
            return f"{value:,}"
        case "p":
            return "< 0.001" if value < 0.001 else f"{value:.3f}"
        case "number":
            return f"{value:,.4g}"
        case "number_interval":
            return " to ".join(f"{end:,.4g}" for end in values)
    return str(value)


def per_cent(share: float | Fraction | None, ties: Ties = "even") -> str:
    """A share in per cent with one decimal.

    >>> per_cent(1206 / 2400), per_cent(1206 / 2400, "up"), per_cent(None)
    ('50.2', '50.3', '–')
    """
    if share is None:
        return MISSING
    tenths = 1000 * Fraction(share).limit_denominator(DENOMINATOR)
    rounded = round(tenths) if ties == "even" else math.floor(tenths + Fraction(1, 2))
    return f"{rounded / 10:.1f}"


def csv_text(keys: Sequence[str], rows: Iterable[Record]) -> str:
    """Records as CSV: numbers as they are, empty where there is no value, text by `csv_cell`."""
    records = [[csv_cell(row.get(key)) for key in keys] for row in rows]
    table = pd.DataFrame(records, columns=list(map(csv_cell, keys)), dtype=object)
    return table.to_csv(index=False, lineterminator="\n")


def csv_cell(value: Any) -> Any:
    r"""A value for a file that people open in a spreadsheet, which runs what looks like a formula.

    Text that begins like one gets an apostrophe in front, control characters are written out.

    >>> csv_cell('=HYPERLINK("http://x")'), csv_cell("-5"), csv_cell(-5), csv_cell("a\x1b\nb")
    ('\'=HYPERLINK("http://x")', "'-5", -5, 'a\\x1b\nb')
    """
    if isinstance(value, Fraction):
        return float(value)
    if not isinstance(value, str):
        return value
    text = without_controls(value, keep="\n\t")
    return f"'{text}" if value.startswith(FORMULA_STARTS) else text


def without_controls(text: str, *, keep: str = "") -> str:
    r"""Text in which what steers a terminal or turns its direction is written out.

    >>> without_controls("a\x00\x1b[31m\u202eb é 声")
    'a\\x00\\x1b[31m\\u202eb é 声'
    """
    for mark in set(CONTROLS.findall(text)) - set(keep):
        text = text.replace(mark, mark.encode("unicode_escape").decode())
    return text


def in_markdown(text: str) -> str:
    r"""Text that stays in its cell, is no markup and steers no terminal.

    >>> in_markdown("<b> a|b\nc")
    '&lt;b> a\\|b c'
    """
    text = without_controls(" ".join(text.split()))
    text = re.sub(r"([\\|`*\[\]]|\b_|_\b)", r"\\\1", text)
    return text.replace("&", "&amp;").replace("<", "&lt;")


def share_matrix(
    name: str,
    title: str,
    corner: Sequence[TableColumn],
    columns: Sequence[str],
    rows: Iterable[Record],
    notes: tuple[str, ...] = (),
    ties: Ties = "even",
) -> ReportTable:
    """A table of shares with a column for each of `columns`, blanks for their underscores."""
    shares = [TableColumn(key, key.replace("_", " "), "share") for key in columns]
    return ReportTable(name, title, (*corner, *shares), tuple(rows), notes, ties)


class ShareOf(NamedTuple):
    """A share as two columns of counts: denominator and numerator."""

    n: str
    n_part: str


ACCURACY_OF = ShareOf("n", "n_correct")
PARSE_RATE_OF = ShareOf("n", "n_parsed")
INCREASE_RATE_OF = ShareOf("n_parsed", "n_increase")


def cross_shares(
    counts: pd.DataFrame,
    row: str,
    column: str,
    share: ShareOf = ACCURACY_OF,
    *,
    columns: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Exact shares by row and column, with the plain mean of each row as `average`.

    The mean is over cells before rounding, each with the same weight: 50.02, 50.06 and 50.06
    average 50.0, not 50.1. It is None unless every cell is known.

    Args:
        counts: A line for each cell, with `row`, `column` and the two counts of `share`.
        row, column: Names of columns of `counts`; rows come in the order of their first cell.
        share: Which share.
        columns: Which columns; by default in the order of their first cell.
    """
    exact = [
        Fraction(int(part), int(n)) if pd.notna(part) and n else None
        for part, n in zip(counts[share.n_part], counts[share.n], strict=True)
    ]
    cells = dict(zip(zip(counts[row], counts[column], strict=True), exact, strict=True))
    names = columns or list(dict.fromkeys(counts[column]))
    rows = []
    for name in dict.fromkeys(counts[row]):
        own = {column: cells.get((name, column)) for column in names}
        known = [share for share in own.values() if share is not None]
        average = sum(known, Fraction()) / len(known) if len(known) == len(own) > 0 else None
        rows.append({row: name, "average": average} | own)
    return rows
