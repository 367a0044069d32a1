"""The table that may lie beside a folder of audio, and the checks of its rows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from builders.corpora.base import CorpusError
from builders.corpora.reading.dataset_rows import cell_text
from builders.corpora.reading.item_ids import check_id
from builders.splits import SPLITS
from otoscope.tables.files import TableError, read_table
from otoscope.tables.names import ColumnError, item_columns

FILE_NAME = "file_name"


@dataclass(frozen=True)
class MetadataRow:
    """The fields of one file; empty or None where the table gives none."""

    where: str
    file_name: str
    item_id: str = ""
    clip_id: str = ""
    speaker_id: str = ""
    sentence_id: str = ""
    transcript: str = ""
    split: str = ""
    span_s: tuple[float, float] | None = None
    gender: str = ""
    accent: str = ""


def read_metadata(path: Path) -> dict[str, MetadataRow]:
    """The rows of a table by normalised `file_name`, in the order of the file.

    Unknown columns are ignored. Whether the files exist is not checked here.

    Args:
        path: CSV with a header line, JSON lines or Parquet; text is UTF-8.

    Raises:
        CorpusError: The file is no such table, or a row contradicts itself or another; the
            message gives the line.
    """
    try:
        columns, placed = read_table(path)
        if FILE_NAME not in columns:
            raise CorpusError(f"{path} has no column {FILE_NAME!r}; it has {columns}")
        names = item_columns(columns)
    except (TableError, ColumnError) as error:
        reason = str(error) if isinstance(error, TableError) else f"{path}: {error}"
        raise CorpusError(reason) from error
    rows = [_row(where, raw, names) for where, raw in placed]
    by_name: dict[str, MetadataRow] = {}
    for row in rows:
        if row.file_name in by_name:
            first = by_name[row.file_name].where.rpartition(", ")[2]
            raise CorpusError(f"{row.where}: file_name {row.file_name!r} is already on {first}")
        by_name[row.file_name] = row
    _check_split_everywhere(rows)
    return by_name


def _row(where: str, raw: Mapping[str, object], names: Mapping[str, str]) -> MetadataRow:
    cells = {key: cell_text(value) for key, value in raw.items()}
    found = {field: cells.get(name, "") for field, name in names.items()}
    split = found.get("split", "")
    if split and split not in SPLITS:
        raise CorpusError(f"{where}: unknown split {split!r}; there are {', '.join(SPLITS)}")
    ids = {
        key: check_id(cells[key], where=where) for key in ("item_id", "clip_id") if cells.get(key)
    }
    return MetadataRow(
        where=where,
        file_name=_relative(str(raw.get(FILE_NAME) or ""), where),
        speaker_id=found.get("speaker_id", ""),
        sentence_id=found.get("sentence_id", ""),
        transcript=found.get("transcript", ""),
        split=split,
        span_s=_span(cells, where),
        gender=found.get("gender", ""),
        accent=found.get("accent", ""),
        **ids,
    )


def _relative(file_name: str, where: str) -> str:
    """`file_name` in its shortest form; it may not lead out of the folder."""
    path = PurePosixPath(file_name.replace("\\", "/").strip())
    if not path.parts:
        raise CorpusError(f"{where}: file_name is empty")
    if path.is_absolute() or ".." in path.parts:
        raise CorpusError(
            f"{where}: file_name {file_name!r} must be relative to the folder and stay inside it"
        )
    return str(path)


def _span(cells: dict[str, str], where: str) -> tuple[float, float] | None:
    given = {name: cells.get(name, "") for name in ("onset_sec", "offset_sec")}
    if not any(given.values()):
        return None
    absent = [name for name, value in given.items() if not value]
    if absent:
        raise CorpusError(f"{where}: {absent[0]} is missing; give both ends of the span or neither")
    onset_s, offset_s = (_number(name, value, where) for name, value in given.items())
    if onset_s < 0 or offset_s <= onset_s:
        raise CorpusError(
            f"{where}: the span from {onset_s:g} to {offset_s:g} s is not one; "
            "it must start at 0 or later and end after its start"
        )
    return onset_s, offset_s


def _number(name: str, value: str, where: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise CorpusError(f"{where}: {name} must be a number of seconds, got {value!r}")
    return number


def _check_split_everywhere(rows: list[MetadataRow]) -> None:
    without = [row for row in rows if not row.split]
    if without and len(without) < len(rows):
        raise CorpusError(
            f"{without[0].where} has no split while other rows have one; give all or none"
        )
