"""Spans that a person has corrected, as a CSV."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from builders.corpora.base import CorpusError
from otoscope.tables.files import TableError, read_table

COLUMNS = ("clip_id", "onset_sec", "offset_sec")
YES, NO = ("yes", "1", "true", "y"), ("no", "0", "false", "n", "")
DROP = dict.fromkeys(YES, True) | dict.fromkeys(NO, False)


class Correction(NamedTuple):
    """A clip's span in seconds as a person set it, or None to leave the clip out."""

    span_s: tuple[float, float] | None


def read_corrections(path: Path) -> dict[str, Correction]:
    """Corrections by clip id.

    The CSV has columns `clip_id`, `onset_sec`, `offset_sec` and, optionally, `drop` (`yes` leaves
    the clip out; its times may then be empty). The page of `spans` writes it.

    Raises:
        CorpusError: A column is missing, a cell is not what it must be, or a clip appears twice.
    """
    try:
        columns, rows = read_table(path)
    except TableError as error:
        raise CorpusError(str(error)) from error
    if missing := [name for name in COLUMNS if name not in columns]:
        raise CorpusError(f"{path}: lacks the column(s) {missing}; it has {columns}")
    corrections: dict[str, Correction] = {}
    for where, row in rows:
        clip_id = str(row["clip_id"])
        if clip_id in corrections:
            raise CorpusError(f"{where}: {clip_id!r} appears twice")
        drop = str(row.get("drop") or "").strip().lower()
        if drop not in DROP:
            raise CorpusError(f"{where}: drop must be `yes`, `no` or empty, got {drop!r}")
        corrections[clip_id] = Correction(None if DROP[drop] else _span(row, where))
    return corrections


def _span(row: Mapping[str, Any], where: str) -> tuple[float, float]:
    try:
        span = float(row["onset_sec"]), float(row["offset_sec"])
    except (TypeError, ValueError) as error:
        raise CorpusError(f"{where}: times must be numbers ({error})") from error
    if not all(map(math.isfinite, span)):
        raise CorpusError(f"{where}: times must be numbers, got {span}")
    return span
