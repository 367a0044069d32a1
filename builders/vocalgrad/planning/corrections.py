"""Spans that a person has corrected, as a CSV."""

import csv
import math
from pathlib import Path
from typing import NamedTuple

from builders.corpora.base import CorpusError


class Correction(NamedTuple):
    """A clip's span in seconds as a person set it, or None to leave the clip out."""

    span_s: tuple[float, float] | None


def read_corrections(path: Path) -> dict[str, Correction]:
    """Corrections by clip id.

    The CSV has columns `clip_id`, `onset_sec`, `offset_sec` and, optionally, `drop` (`yes` leaves
    the clip out; its times may then be empty). The page of `spans` writes it.

    Raises:
        CorpusError: A column is missing, a number is not one, or a clip appears twice.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            missing = {"clip_id", "onset_sec", "offset_sec"} - set(reader.fieldnames or ())
            if missing:
                raise CorpusError(
                    f"{path}: lacks the column(s) {sorted(missing)}; it has {reader.fieldnames}"
                )
            lines = list(reader)
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorpusError(f"{path}: not a readable CSV in UTF-8 ({error})") from error
    corrections: dict[str, Correction] = {}
    for number, line in enumerate(lines, start=2):
        clip_id = line["clip_id"]
        if clip_id in corrections:
            raise CorpusError(f"{path}, line {number}: {clip_id!r} appears twice")
        if (line.get("drop") or "").strip().lower() in {"yes", "1", "true", "y"}:
            corrections[clip_id] = Correction(None)
            continue
        try:
            span = float(line["onset_sec"]), float(line["offset_sec"])
        except (TypeError, ValueError) as error:
            raise CorpusError(f"{path}, line {number}: times must be numbers ({error})") from error
        if not all(map(math.isfinite, span)):
            raise CorpusError(f"{path}, line {number}: times must be numbers, got {span}")
        corrections[clip_id] = Correction(span)
    return corrections
