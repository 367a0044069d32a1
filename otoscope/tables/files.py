"""Files of rows: CSV, TSV, JSON lines and Parquet into rows, each with where it stands."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from otoscope.errors import InputError, first_line

PlacedRow = tuple[str, dict[str, Any]]
"""A row, behind the file and line that it is from."""


class TableError(InputError, ValueError):
    """A file of rows that cannot be read; the message names the file and the line."""


def read_table(path: Path) -> tuple[list[str], list[PlacedRow]]:
    """The columns and the rows of a file; blanks around names of columns are dropped.

    Cells of CSV and TSV are text, None where a line is too short; rows of JSON lines lack what
    their line lacks.

    Args:
        path: By its extension `.csv`, `.tsv`, `.jsonl` or `.parquet`; anything else is read as CSV.

    Raises:
        TableError: Not readable, not UTF-8, a line with too many cells, or a column twice.
    """
    path = Path(path)
    try:
        return _READERS.get(path.suffix.lower(), _csv)(path)
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or first_line(error)}") from error
    except UnicodeDecodeError as error:
        raise TableError(f"{path} is not UTF-8 text ({error.reason}); save it as UTF-8") from error
    except csv.Error as error:
        raise TableError(f"{path} is not a readable CSV: {error}") from error
    except pa.ArrowException as error:
        raise TableError(f"{path} is not a readable Parquet file: {first_line(error)}") from error


def _csv(path: Path) -> tuple[list[str], list[PlacedRow]]:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True, delimiter=delimiter)
        columns = _columns(path, next(reader, []))
        rows = []
        for cells in reader:
            where = f"{path}, line {reader.line_num}"
            if len(cells) > len(columns):
                raise TableError(f"{where} has more cells than the header has columns")
            if cells:
                missing = [None] * (len(columns) - len(cells))
                rows.append((where, dict(zip(columns, [*cells, *missing], strict=True))))
    return columns, rows


def _jsonl(path: Path) -> tuple[list[str], list[PlacedRow]]:
    rows = list(_json_rows(path))
    return list(dict.fromkeys(name for _, row in rows for name in row)), rows


def _json_rows(path: Path) -> Iterator[PlacedRow]:
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), start=1):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise TableError(f"{where} is not JSON ({first_line(error)})") from error
        if not isinstance(row, dict):
            raise TableError(f"{where} is not an object")
        yield where, dict(zip(_columns(where, row), row.values(), strict=True))


def _parquet(path: Path) -> tuple[list[str], list[PlacedRow]]:
    table = pq.read_table(path)
    columns = _columns(path, table.column_names)
    rows = table.rename_columns(columns).to_pylist()
    return columns, [(f"{path}, row {number}", row) for number, row in enumerate(rows)]


def _columns(where: object, names: Any) -> list[str]:
    columns = [str(name).strip() for name in names]
    for name in columns:
        if columns.count(name) > 1:
            raise TableError(f"{where} has the column {name!r} twice")
    return columns


_READERS: dict[str, Callable[[Path], tuple[list[str], list[PlacedRow]]]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
