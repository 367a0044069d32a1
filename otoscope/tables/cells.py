"""Cells of text files into values: numbers where a whole column is numbers, else text."""

import re
from collections.abc import Callable, Sequence
from typing import Any

NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d+)?([eE][+-]?\d{1,2})?")
"""A number that its text says entirely; `007` is a name."""

FLAGS = {"true": True, "false": False}


def values(cells: Sequence[Any]) -> list[Any]:
    """A column as integers, floats or bools where every cell is one, else unchanged.

    Empty cells are None. Cells that are not text are left alone.

    >>> values(["1", "", "20"]), values(["0.5", "1"]), values(["007", "8"]), values(["True"])
    ([1, None, 20], [0.5, 1.0], ['007', '8'], [True])
    """
    given = [None if cell == "" else cell for cell in cells]
    texts = [cell for cell in given if cell is not None]
    if not texts or not all(isinstance(cell, str) for cell in texts):
        return given
    convert: Callable[[str], Any] | None = None
    if all(text.lower() in FLAGS for text in texts):
        convert = lambda text: FLAGS[text.lower()]  # noqa: E731
    elif all(NUMBER.fullmatch(text) for text in texts):
        convert = int if all(text.lstrip("-").isdigit() for text in texts) else float
    return given if convert is None else [cell if cell is None else convert(cell) for cell in given]
