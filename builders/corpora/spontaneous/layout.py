"""Reads a folder of Common Voice Spontaneous Speech, locale by locale.

`<release>-<locale>/ss-corpus-<locale>.tsv` lists the clips in `<release>-<locale>/audios/`.
"""

import csv
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from builders.corpora.base import CorpusError

TABLE = "ss-corpus-{}.tsv"
AUDIO_FOLDER = "audios"
COLUMNS = ("client_id", "audio_file", "prompt_id", "transcription")
DURATION = ("duration_ms", "duration")
"""The same milliseconds under two names."""


class SpontaneousClip(NamedTuple):
    """A clip as its table describes it; its audio has not been opened."""

    locale: str
    client_id: str
    prompt_id: str
    transcription: str
    duration_s: float
    path: Path
    gender: str = ""

    @property
    def speaker_id(self) -> str:
        """Unique over locales."""
        return f"{self.locale}:{self.client_id}"


@dataclass(frozen=True)
class Locale:
    """The clips of one language.

    Attributes:
        name: E.g. `cdo`.
        release: Name of its folder, e.g. `sps-corpus-4.0-2026-06-12-cdo`.
        n_listed: Rows of the table.
        clips: Those that can be drawn, in the order of the table, one a file.
        excluded: How many rows were excluded, by reason.
    """

    name: str
    release: str
    n_listed: int
    clips: tuple[SpontaneousClip, ...]
    excluded: dict[str, int]


def find_tables(root: Path) -> dict[str, Path]:
    """The table of every locale somewhere below a folder.

    Raises:
        CorpusError: None, or two of one locale.
    """
    tables: dict[str, Path] = {}
    for path in sorted(root.rglob(TABLE.format("*"))):
        locale = path.stem.removeprefix("ss-corpus-")
        if locale in tables:
            raise CorpusError(
                f"{tables[locale]} and {path} are both of {locale}; keep one release in {root}"
            )
        tables[locale] = path
    if not tables:
        raise CorpusError(
            f"{root} holds no {TABLE.format('LOCALE')}; unpack the downloads of Common Voice "
            "Spontaneous Speech there"
        )
    return tables


def read_locale(name: str, table: Path, *, below_s: float) -> Locale:
    """The clips of one locale that last less than `below_s` and have an audio file.

    Of rows that name the same file the first counts.

    Raises:
        CorpusError: The table cannot be read, or lacks a column.
    """
    folder = table.parent / AUDIO_FOLDER
    header, rows = read_tsv(table)
    column = next((c for c in DURATION if c in header), "")
    missing = [c for c in COLUMNS if c not in header] + ([] if column else [DURATION[0]])
    if missing:
        raise CorpusError(f"{table} has no column {missing[0]!r}; it has {header}")
    clips: dict[str, SpontaneousClip] = {}
    excluded: Counter[str] = Counter()
    for row in rows:
        file_name = row["audio_file"]
        duration_s = _seconds(row[column])
        if duration_s is None:
            excluded["without a length in milliseconds"] += 1
        elif duration_s >= below_s:
            excluded[f"of {below_s:g} s or longer"] += 1
        elif not row["client_id"]:
            excluded["without a speaker"] += 1
        elif Path(file_name).name != file_name or not (folder / file_name).is_file():
            excluded["without their audio file"] += 1
        elif file_name in clips:
            excluded["naming an audio file again"] += 1
        else:
            clips[file_name] = SpontaneousClip(
                name,
                row["client_id"],
                row["prompt_id"],
                " ".join(row["transcription"].split()),
                duration_s,
                folder / file_name,
                " ".join((row.get("gender") or "").split()),
            )
    return Locale(name, table.parent.name, len(rows), tuple(clips.values()), dict(excluded))


def read_tsv(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """The columns and rows of a tab-separated file, whether it quotes its cells or not.

    Releases do not document it. Quotes count where they keep a row on its line, or where reading
    without them leaves rows of the wrong length; so a stray one never swallows other rows.

    Raises:
        CorpusError: Not readable either way.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path} is not UTF-8 text ({error.reason})") from error
    lines = [line for line in text.split("\n") if line.strip()]
    quoted = _parsed(lines, csv.QUOTE_MINIMAL)
    plain = _parsed(lines, csv.QUOTE_NONE)
    for rows, fits in ((quoted, len(quoted) == len(lines)), (plain, True), (quoted, True)):
        if fits and rows and all(len(row) == len(rows[0]) for row in rows):
            return rows[0], [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    odd = next((n for n, row in enumerate(plain, 1) if len(row) != len(plain[0])), 1)
    raise CorpusError(
        f"{path}, line {odd}: {len(plain[odd - 1]) if plain else 0} cells where the header has "
        f"{len(plain[0]) if plain else 0}"
    )


def _parsed(lines: list[str], quoting: Literal[0, 3]) -> list[list[str]]:
    try:
        return list(csv.reader([f"{line}\n" for line in lines], "excel-tab", quoting=quoting))
    except csv.Error:  # a cell of absurd length, after a stray quote
        return []


def _seconds(milliseconds: str) -> float | None:
    try:
        seconds = float(milliseconds) / 1000
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None
