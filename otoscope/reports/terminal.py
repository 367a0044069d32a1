"""What goes to a terminal: text from models and data sets cannot steer it.

Answers, ids and settings are somebody else's text. Printed as they are, an escape sequence in an
answer could recolour or overwrite what stands around it, and `[red]` would vanish as markup.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH_OF_FILES = 160
"""Columns where the output is no terminal and nothing says how wide it is."""


class Column(NamedTuple):
    """Head of a column, and whether it holds numbers."""

    head: str
    numbers: bool = False


def visible(text: str) -> str:
    r"""The text on one line, with everything that would not print written as an escape.

    >>> visible("a\x1b[31mb\n\u202ec")
    'a\\x1b[31mb\\n\\u202ec'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def indented(text: str, before: str = "  | ") -> str:
    r"""The text with its lines kept and marked, and everything else that would not print escaped.

    >>> print(indented("one\n\ttwo", "> "))
    > one
    > \ttwo
    """
    return "\n".join(before + visible(line) for line in text.split("\n"))


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> Table:
    """Rows under heads; cells are shown as they are, never read as markup."""
    made = Table(box=SIMPLE, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(
            Text(visible(column.head)),
            justify="right" if column.numbers else "left",
            overflow="fold",
        )
    for row in rows:
        made.add_row(*(Text(visible(cell)) for cell in row))
    return made


def console() -> Console:
    """The standard output: as wide as $COLUMNS says, or the terminal, or wide for files."""
    columns = os.environ.get("COLUMNS", "")
    told = int(columns) if columns.isdecimal() else None
    width = told or (None if sys.stdout.isatty() else WIDTH_OF_FILES)
    return Console(highlight=False, markup=False, emoji=False, width=width)
