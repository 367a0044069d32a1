"""Terminal output in which text from models and datasets has no control characters or markup.

Answers, ids and settings are untrusted text. Printed raw, an escape sequence in an answer could
recolour or overwrite the lines around it, and `[red]` would vanish as markup.
"""

import json
import os
import shlex
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH_OF_FILES = 160
"""Columns where the output is not a terminal and its width is not set."""


def setting(value: Any) -> str:
    """A setting as text: a string as it is, a missing value as a dash, anything else as JSON."""
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def visible(text: str) -> str:
    r"""The text on one line, with everything that would not print written as an escape.

    >>> visible("a\x1b[31mb\n\u202ec")
    'a\\x1b[31mb\\n\\u202ec'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shell_word(text: object) -> str:
    """One word of a command to copy: quoted where a shell would split or expand it.

    >>> shell_word("runs/a"), shell_word("my runs/a")
    ('runs/a', "'my runs/a'")
    """
    return shlex.quote(visible(str(text)))


def indented(text: str, before: str) -> str:
    r"""The text with a mark before each line, and other characters that would not print escaped.

    >>> print(indented("one\n\ttwo", "> "))
    > one
    > \ttwo
    """
    return "\n".join(before + visible(line) for line in text.split("\n"))


def print_line(console: Console, text: str) -> None:
    """Prints text as it is; a terminal wraps it."""
    console.print(Text(text), soft_wrap=True)


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Collection[str] = ()
) -> Table:
    """Rows under heads, of which `numbers` are set to the right; cells are never read as markup."""
    made = Table(box=SIMPLE, pad_edge=False, header_style="bold")
    for head in heads:
        made.add_column(
            Text(visible(head)), justify="right" if head in numbers else "left", overflow="fold"
        )
    for row in rows:
        made.add_row(*(Text(visible(cell)) for cell in row))
    return made


def console() -> Console:
    """The standard output: $COLUMNS wide, or as wide as the terminal, or wide for files."""
    columns = os.environ.get("COLUMNS", "")
    set_width = int(columns) if columns.isdecimal() else None
    width = set_width or (None if sys.stdout.isatty() else WIDTH_OF_FILES)
    return Console(highlight=False, markup=False, emoji=False, width=width)
