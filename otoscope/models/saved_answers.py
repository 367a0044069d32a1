"""Files of saved answers: JSONL, CSV or Parquet into rows, each with the place where it stands."""

import csv
import glob
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from otoscope.models.base import ModelError

Row = Mapping[str, Any]
Placed = tuple[str, Row]
"""A row behind the file and line it comes from."""


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


def read_rows(paths: Sequence[Path]) -> tuple[list[Placed], int]:
    """All rows with where each stands, and the number of unfinished last lines.

    Raises:
        ModelError: A file of another kind, one that cannot be read, or no rows at all.
    """
    found: list[Placed] = []
    n_torn = 0
    for path in paths:
        reader = _READERS.get(path.suffix.lower())
        if reader is None:
            raise ModelError(f"{path}: saved answers are read from {sorted(_READERS)} files")
        try:
            for place, row in reader(path):
                n_torn += row is None
                if row is not None:
                    found.append((f"{path}: {place}", row))
        except (OSError, ValueError, csv.Error) as error:
            raise ModelError(f"{path}: cannot be read ({_first_line(error)})") from error
    if not found:
        raise ModelError(f"{', '.join(map(str, paths))}: no answers in it")
    return found, n_torn


def _jsonl(path: Path) -> Iterator[tuple[str, Row | None]]:
    """Rows, and None for a last line that a killed writer left unfinished."""
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            if not line.endswith(b"\n"):
                yield f"line {number}", None
                return
            raise ValueError(f"line {number} is not JSON") from None
        if not isinstance(row, dict):
            raise ValueError(f"line {number} is not an object")
        yield f"line {number}", row


def _csv(path: Path) -> Iterator[tuple[str, Row]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.DictReader(file, strict=True), start=1):
            yield f"row {number}", row


def _parquet(path: Path) -> Iterator[tuple[str, Row]]:
    import pyarrow.parquet

    for number, row in enumerate(pyarrow.parquet.read_table(path).to_pylist(), start=1):
        yield f"row {number}", row


_READERS: dict[str, Callable[[Path], Iterator[tuple[str, Row | None]]]] = {
    ".jsonl": _jsonl,
    ".csv": _csv,
    ".parquet": _parquet,
}


def given(row: Row, column: str) -> str | None:
    """A text that is there; empty cells of a CSV are not, nor is NaN."""
    value = row.get(column)
    return None if value is None or value == "" or value != value else str(value)


def whole(row: Row, column: str) -> int | None:
    """A number that is there."""
    value = given(row, column)
    return None if value is None else int(float(value))


def true(row: Row, column: str) -> bool:
    """Whether a flag is set; the texts of a CSV count too."""
    return (given(row, column) or "").lower() in ("true", "1", "1.0")


def digest(paths: Iterable[Path]) -> str:
    """SHA-256 of the files, one after another: an answer is cached by what it was read from."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
