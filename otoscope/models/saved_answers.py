"""Files of saved answers: JSONL, CSV or Parquet into rows, each with where it stands."""

import csv
import glob
import hashlib
import json
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from otoscope.errors import first_line, short
from otoscope.models.base import ModelError

LOG = logging.getLogger(__name__)

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
        reader = _READERS.get(path.suffix.lower())
        if reader is None:
            raise ModelError(f"{path}: saved answers are read from {sorted(_READERS)} files")
        try:
            rows += [(f"{path}: {where}", row) for where, row in reader(path)]
        except (OSError, ValueError, csv.Error) as error:
            raise ModelError(f"{path}: cannot be read ({first_line(error)})") from error
    if not rows:
        raise ModelError(f"{', '.join(map(str, paths))}: no answers in it")
    return rows


def _jsonl(path: Path) -> Iterator[LocatedRow]:
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
        yield f"line {number}", row


def _csv(path: Path) -> Iterator[LocatedRow]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.DictReader(file, strict=True), start=1):
            yield f"row {number}", row


def _parquet(path: Path) -> Iterator[LocatedRow]:
    import pyarrow.parquet

    for number, row in enumerate(pyarrow.parquet.read_table(path).to_pylist(), start=1):
        yield f"row {number}", row


_READERS: dict[str, Callable[[Path], Iterator[LocatedRow]]] = {
    ".jsonl": _jsonl,
    ".csv": _csv,
    ".parquet": _parquet,
}


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
    if abs(number) >= 2**63:
        raise ModelError(f"{where}: {column} is {short(repr(value))}, which is no number that fits")
    return None if math.isnan(number) else int(number)


def flag_in(row: SavedRow, column: str) -> bool:
    """Whether a flag is set; the texts of a CSV count too."""
    return (text_in(row, column) or "").lower() in ("true", "1", "1.0")


def digest(paths: Iterable[Path]) -> str:
    """SHA-256 of the files, one after another; part of the key that answers are cached by."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()
