"""Rows of a dataset that others published, on the Hub or on disk: cells, and audio as files."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import datasets

from builders.corpora.base import CorpusError
from builders.corpora.reading.dataset_rows import store_audio
from otoscope.audits.audio_files import NoFile, cell_of
from otoscope.audits.opening import DatasetError, find_dataset, opening
from otoscope.errors import first_line
from otoscope.folders import cache_folder


class PublishedRow(NamedTuple):
    """One row.

    Attributes:
        number: Its place in the split, from 0.
        path: Its audio, in a file named by its hash.
        audio_name: What the dataset calls the audio file; empty where it does not say.
        cells: Its other columns; a ClassLabel as its name.
    """

    number: int
    path: Path
    audio_name: str
    cells: Mapping[str, Any]


class PublishedRows(NamedTuple):
    """All rows of a split, and where they are from, in words."""

    rows: list[PublishedRow]
    origin: str


def published_rows(
    dataset: str,
    *,
    needed: Sequence[str],
    split: str = "test",
    audio: str = "audio",
    config: str | None = None,
    work_folder: Path | None = None,
) -> PublishedRows:
    """The rows of one split, in order; their audio is stored in the cache.

    Args:
        dataset: A folder as the Hub has it, or `ORG/NAME@REVISION`.
        needed: Columns beside the audio that must be there.
        split: Of the dataset.
        audio: The column with the audio.
        config: The default one when absent.
        work_folder: Where the audio goes; the cache by default.

    Raises:
        CorpusError: It cannot be opened, is not pinned, lacks a column, or a row has no audio.
    """
    name, _, revision = dataset.partition("@") if not Path(dataset).is_dir() else (dataset, "", "")
    folder = work_folder or cache_folder() / "streamed"
    try:
        opened = find_dataset(name, config, revision or None)
        stream = opened.streamed(split)
        with opening(name):
            columns = list(stream.column_names or next(iter(stream), {}))
    except DatasetError as error:
        raise CorpusError(str(error)) from error
    if missing := [column for column in (audio, *needed) if column not in columns]:
        raise CorpusError(
            f"{dataset}, split {split}: no column {missing[0]!r}; it has {', '.join(columns)}"
        )
    features = stream.features or {}
    classes = {c: f for c, f in features.items() if isinstance(f, datasets.ClassLabel)}
    if isinstance(features.get(audio), datasets.Audio):
        stream = stream.cast_column(audio, datasets.Audio(decode=False))
    rows = []
    try:
        with opening(name):
            for number, row in enumerate(stream):
                data, stored = cell_of(row.pop(audio))
                data = data or (opened.files.read(stored) if stored else b"")
                if not data:
                    raise CorpusError(f"{dataset}, row {number}: no audio in {audio!r}")
                cells = {
                    c: classes[c].int2str(v) if c in classes and isinstance(v, int) else v
                    for c, v in row.items()
                }
                path = store_audio(folder, data, stored or "")
                rows.append(PublishedRow(number, path, stored or "", cells))
    except NoFile as error:
        raise CorpusError(f"{dataset}, row {len(rows)}: {first_line(error)}") from error
    except DatasetError as error:
        raise CorpusError(str(error)) from error
    if not rows:
        raise CorpusError(f"{dataset}, split {split}: no rows")
    where = Path(name).resolve().name if Path(name).is_dir() else name
    at = f" at revision {revision}" if revision else f" (a copy on disk, {_hash(rows)})"
    return PublishedRows(rows, f"{where}{at}, split {split}, {len(rows)} rows")


def _hash(rows: Sequence[PublishedRow]) -> str:
    names = "\n".join(row.path.name for row in rows)
    return f"audio SHA-256 {hashlib.sha256(names.encode()).hexdigest()[:16]}"
