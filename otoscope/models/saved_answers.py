"""Files of saved answers: JSONL, CSV or Parquet into rows, each with where it stands."""

import glob
import hashlib
import json
import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from otoscope.errors import first_line, short
from otoscope.models.answer_fields import INT64
from otoscope.models.base import ModelError
from otoscope.tables.files import TableError, read_table

LOG = logging.getLogger(__name__)

SUFFIXES = (".csv", ".jsonl", ".parquet")
SavedRow = Mapping[str, Any]
LocatedRow = tuple[str, SavedRow]
"""A row, after the file and line that it is from."""


def find_files(kind: str, name: str | None) -> list[Path]:
    """The files that a path or a pattern names.

    Raises:
        ModelError: There are none.
    """
    if not name:
        raise ModelError(f"{kind}: name the file of saved answers, as in {kind}:answers.jsonl")
    if Path(name).is_file():
        return [Path(name)]
    if Path(name).is_dir():
        raise ModelError(f"{kind}: {name} is a folder; name files, as in '{name}/*.jsonl'")
    paths = sorted(Path(found) for found in glob.glob(name, recursive=True))
    if not paths:
        raise ModelError(f"{kind}: there is no file {name}")
    return paths


def read_rows(paths: Sequence[Path]) -> list[LocatedRow]:
    """All rows with where each stands. An incomplete last line of JSONL is logged and skipped.

    Raises:
        ModelError: A file of another kind, one that cannot be read, or no rows at all.
    """
    rows: list[LocatedRow] = []
    for path in paths:
        if path.suffix.lower() not in SUFFIXES:
            raise ModelError(f"{path}: saved answers are read from {list(SUFFIXES)} files")
        try:
            rows += list(_jsonl(path)) if path.suffix.lower() == ".jsonl" else read_table(path)[1]
        except TableError as error:
            raise ModelError(str(error)) from error
        except (OSError, ValueError) as error:
            raise ModelError(f"{path}: cannot be read ({first_line(error)})") from error
    if not rows:
        raise ModelError(f"{', '.join(map(str, paths))}: no answers in it")
    return rows


def _jsonl(path: Path) -> Iterator[LocatedRow]:
    """Apart from other tables: a run that was killed leaves half a line."""
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            if not line.endswith(b"\n"):  # its writer was killed
                LOG.warning("%s: line %d is incomplete and is left out", path, number)
                return
            raise ValueError(f"line {number} is not JSON") from None
        if not isinstance(row, dict):
            raise ValueError(f"line {number} is not an object")
        yield f"{path}, line {number}", row


def text_in(row: SavedRow, column: str) -> str | None:
    """A text, or None where the cell is missing, empty or NaN."""
    value = row.get(column)
    return None if value is None or value == "" or value != value else str(value)


def number_in(row: SavedRow, column: str, where: str) -> int | None:
    """A whole number, or None.

    Raises:
        ModelError: The cell holds something else; `where` names the row.
    """
    value = text_in(row, column)
    try:
        number = float(value or "nan")
    except ValueError:
        number = math.inf
    if math.isnan(number):
        return None
    if abs(number) >= INT64 or not number.is_integer():
        raise ModelError(f"{where}: {column} is {short(repr(value))}, which is not a whole number")
    return int(number)


def flag_in(row: SavedRow, column: str) -> bool:
    """Whether a flag is set; the texts of a CSV count too."""
    return (text_in(row, column) or "").lower() in ("true", "1", "1.0")


def digest(paths: Iterable[Path]) -> str:
    """SHA-256 of the files, one after another; part of the key that answers are cached by."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()
