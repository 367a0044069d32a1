"""A log of JSON lines that a killed process leaves readable: a line counts once it is complete."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from otoscope.atomic import naming_disk_errors
from otoscope.errors import short


def read_lines(path: Path, error: Callable[[str], Exception]) -> dict[str, dict[str, Any]]:
    """Each line by its `id`; a torn last one is skipped, and of two with one id the last counts.

    Raises:
        error: A line is damaged; it is named.
    """
    found: dict[str, dict[str, Any]] = {}
    if not path.exists():
        return found
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):
                try:
                    row = json.loads(line)
                    found[row["id"]] = row
                except (ValueError, TypeError, KeyError, RecursionError) as cause:
                    raise error(
                        f"{path}, line {number}: damaged ({short(cause)}); remove the line and "
                        "run again"
                    ) from cause
    return found


def append_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes rows behind the last complete line, and flushes them to the disk."""
    data = b"".join(json.dumps(row, ensure_ascii=True).encode() + b"\n" for row in rows)
    with naming_disk_errors(path), path.open("ab+") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        if size and file.read(1) != b"\n":
            file.seek(0)
            file.truncate(sum(len(line) for line in file if line.endswith(b"\n")))
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
