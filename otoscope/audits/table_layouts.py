"""Folders of audio files with metadata, and CSV files, as `load_dataset` finds them.

`datasets` needs torchcodec for a folder of audio even where nothing is decoded, and makes numbers
of ids such as `007` in a CSV. So files are found with `datasets`, and their rows are read here.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import PurePosixPath
from typing import Any

import datasets
import pyarrow as pa
from datasets.packaged_modules.audiofolder.audiofolder import AudioFolder
from datasets.packaged_modules.csv.csv import CsvConfig

from otoscope.audits.audio_files import AudioFiles
from otoscope.tables.cells import values
from otoscope.tables.files import TableError, read_table

LOG = logging.getLogger(__name__)

METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
FILE_NAME = "file_name"
EXTENSIONS = frozenset(AudioFolder.EXTENSIONS)


def is_audio_folder(builder: datasets.DatasetBuilder) -> bool:
    """Whether `datasets` takes a dataset for a folder of audio files."""
    return isinstance(builder, AudioFolder)


def is_plain_csv(builder: datasets.DatasetBuilder) -> bool:
    """Whether a dataset is CSV or TSV files without settings or types of its own."""
    config = builder.config
    if not isinstance(config, CsvConfig) or builder.info.features is not None:
        return False
    usual, ignored = CsvConfig(), {"name", "version", "data_dir", "data_files", "description"}
    ignored |= {"sep"} if config.sep in (",", "\t") else set()
    files = [file for names in (config.data_files or {}).values() for file in names]
    return all(file.endswith((".csv", ".tsv")) for file in files) and all(
        getattr(config, field.name) == getattr(usual, field.name)
        for field in fields(config)
        if field.name not in ignored
    )


def csv_splits(
    found: Mapping[str, Collection[str]], files: AudioFiles
) -> dict[str, datasets.Dataset]:
    """The rows of each split of CSV files; columns that are all numbers are numbers.

    Raises:
        TableError: A file cannot be read, or none has a row.
    """
    return {
        split: _dataset([row for name in names for row in _typed_rows(name, files)], files)
        for split, names in found.items()
    }


def folder_splits(
    found: Mapping[str, Collection[str]], files: AudioFiles, *, with_labels: bool
) -> dict[str, datasets.Dataset]:
    """The rows of each split; `audio` holds the path of a file, relative to the dataset.

    With metadata there is a row for each of its rows, else one for each audio file, which has the
    name of its folder as `label` where there are several.

    Args:
        found: The files of each split, relative to the dataset.
        files: Where they are.
        with_labels: Whether folders are labels.

    Raises:
        TableError: An archive, or metadata that cannot be read or name no file.
    """
    every = sorted({name for names in found.values() for name in names})
    if archive := next((name for name in every if name.lower().endswith(".zip")), None):
        raise TableError(f"{files.where}: {archive} is an archive; unpack it and leave it out")
    # metadata above the folders of the splits belong to all of them
    above = [] if any(map(_is_metadata, every)) else [name for name in METADATA if files.has(name)]
    splits = {}
    for split, names in found.items():
        clips = {name for name in names if PurePosixPath(name).suffix.lower() in EXTENSIONS}
        if tables := [*filter(_is_metadata, names), *above[:1]]:
            rows = [row for table in tables for row in _listed(table, files)]
            if above:
                rows = [row for row in rows if row["audio"]["path"] in clips]
            _tell_unlisted(clips - {row["audio"]["path"] for row in rows}, files)
        else:
            rows = _unlisted(sorted(clips), with_labels)
        splits[split] = _dataset(rows, files)
    return splits


def _is_metadata(name: str) -> bool:
    return PurePosixPath(name).name in METADATA


def _listed(table: str, files: AudioFiles) -> list[dict[str, Any]]:
    """The rows of a metadata file; numbers of a CSV are numbers where a whole column is."""
    rows = _typed_rows(table, files, text=(FILE_NAME,))
    if rows and FILE_NAME not in rows[0]:
        raise TableError(f"{table} has no column {FILE_NAME!r}; it has {list(rows[0])}")
    for number, row in enumerate(rows, start=1):
        path = PurePosixPath(str(row[FILE_NAME] or "").strip().replace("\\", "/"))
        if not path.parts or path.is_absolute() or ".." in path.parts:
            raise TableError(
                f"{table}, row {number}: file_name {row[FILE_NAME]!r} must name a file in the "
                "dataset's folder"
            )
        row |= _audio(str(PurePosixPath(table).parent / path))
    return rows


def _typed_rows(table: str, files: AudioFiles, text: Collection[str] = ()) -> list[dict[str, Any]]:
    """All rows of a file, each with every column; `text` names columns that stay text."""
    columns, placed = read_table(files.find(table))
    cells = {name: [row.get(name) for _, row in placed] for name in columns}
    if table.endswith((".csv", ".tsv")):
        cells = {n: given if n in text else values(given) for n, given in cells.items()}
    return [{name: cells[name][number] for name in columns} for number in range(len(placed))]


def _unlisted(clips: Sequence[str], with_labels: bool) -> list[dict[str, Any]]:
    folders = [PurePosixPath(clip).parent.name for clip in clips]
    labels = with_labels and len(set(folders)) > 1
    return [
        {FILE_NAME: clip, **_audio(clip), **({"label": folder} if labels else {})}
        for clip, folder in zip(clips, folders, strict=True)
    ]


def _audio(path: str) -> dict[str, Any]:
    return {"audio": {"bytes": None, "path": path}}


def _tell_unlisted(clips: Collection[str], files: AudioFiles) -> None:
    if clips:
        LOG.warning(
            "%s: %d audio files are in no metadata and are left out, such as %s",
            files.where,
            len(clips),
            min(clips),
        )


def _dataset(rows: list[dict[str, Any]], files: AudioFiles) -> datasets.Dataset:
    if not rows:
        raise TableError(f"{files.where}: its table has no rows")
    names = dict.fromkeys(name for row in rows for name in row)
    try:
        table = datasets.Dataset.from_dict({n: [row.get(n) for row in rows] for n in names})
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise TableError(f"{files.where}: a column of mixed types ({error})") from error
    if isinstance(rows[0].get("audio"), dict):
        table = table.cast_column("audio", datasets.Audio(decode=False))
    return table
