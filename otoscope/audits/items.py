"""Rows of any dataset with audio: local folder, Hub repository or a dataset in memory.

A perception dataset needs the columns `id`, `audio`, `category` and `label`, and `attribute` or
`prompt` for its questions; other audits say what they need. Audio is read with soundfile;
torchcodec is not needed.
"""

import hashlib
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

from otoscope.acoustics import codec
from otoscope.audits.audio_files import AudioFiles, NoFile, cell_of
from otoscope.audits.layouts import id_of, names_of, source_of_clip
from otoscope.audits.opening import DatasetError, DatasetLike, configs_in, load_table
from otoscope.errors import first_names
from otoscope.models.base import AudioInput
from otoscope.prompts.questions import SOURCE
from otoscope.tables.names import ColumnError

NEEDED = ("id", "audio", "category", "label")
"""Columns of a perception dataset."""


class Items:
    """Rows by id, with their audio at hand.

    Attributes:
        rows: Every column but audio, in dataset order, each with its `config`; ClassLabels are
            names, ids text.
        class_names: Of each ClassLabel column, in its order.
    """

    def __init__(
        self,
        tables: Iterable[tuple[str, datasets.Dataset]],
        *,
        files: AudioFiles = AudioFiles(),  # noqa: B008
        needed: Sequence[str] = NEEDED,
    ) -> None:
        """Takes datasets with the name of the config each comes from.

        Args:
            tables: Config and dataset.
            files: Where paths of audio files lead.
            needed: Columns that each must have; `id` and `audio` at least.

        Raises:
            DatasetError: A needed column is missing, or two rows share an id.
        """
        self.rows: list[dict[str, Any]] = []
        self.class_names: dict[str, tuple[str, ...]] = {}
        self._at: dict[str, tuple[datasets.Dataset, int, AudioFiles]] = {}
        self._needed = needed
        self._audio = lru_cache(maxsize=64)(self._read)
        self._facts: dict[str, tuple[str, float]] = {}
        self._spans: dict[str, tuple[float, float]] = {}
        for config, table in tables:
            self._add(config, table, files)

    def _add(self, config: str, table: datasets.Dataset, files: AudioFiles) -> None:
        table = _in_audit_names(config, table)
        missing = [name for name in self._needed if name not in table.column_names]
        if missing:
            raise DatasetError(
                f"config {config!r} lacks the column(s) {missing}; it has {table.column_names}"
            )
        classes = {n: f for n, f in table.features.items() if isinstance(f, datasets.ClassLabel)}
        self.class_names |= {name: tuple(feature.names) for name, feature in classes.items()}
        try:
            audio = table.select_columns("audio").cast_column("audio", datasets.Audio(decode=False))
        except (TypeError, ValueError, pa.ArrowException) as error:
            raise DatasetError(
                f"config {config!r}: column 'audio' is no audio ({error})"
            ) from error
        for index, row in enumerate(table.remove_columns("audio")):
            for name, names in classes.items():
                row[name] = class_name(names, row[name], f"row {row['id']!r}: {name}")
            for name in (name for name in ("id", "category") if name in row):
                if row[name] is None:
                    raise DatasetError(f"row {index} of config {config!r} lacks its {name}")
                row[name] = str(row[name])
            if row["id"] in self._at:
                raise _twice(row["id"])
            self._at[row["id"]] = (audio, index, files)
            if (span := _span(row)) is not None:
                self._spans[row["id"]] = span
            row["config"] = config
            row["attribute"] = (
                _words(row) if row.get("attribute") in (None, "") else str(row["attribute"])
            )
            self.rows.append(row)

    def extend(self, other: "Items") -> None:
        """Appends the rows of another dataset.

        Raises:
            DatasetError: Two rows share an id.
        """
        shared = self._at.keys() & other._at.keys()
        if shared:
            raise _twice(min(shared))
        self.rows = self.rows + other.rows
        self.class_names |= other.class_names
        self._at |= other._at
        self._spans |= other._spans

    def __len__(self) -> int:
        return len(self.rows)

    def audio_bytes(self, row_id: str) -> bytes:
        """The encoded audio of a row.

        Raises:
            DatasetError: The row has none.
        """
        table, index, files = self._at[row_id]
        data, path = cell_of(table[index]["audio"])
        if data:
            return data
        if not path:
            raise DatasetError(f"row {row_id!r} has no audio")
        try:
            return files.read(path)
        except NoFile as error:
            raise DatasetError(f"row {row_id!r}: {error}") from error

    def audio(self, row_id: str) -> AudioInput:
        """A row's audio, channels averaged.

        Raises:
            codec.AudioError: It cannot be read; the row is named.
        """
        return self._audio(row_id)

    def _read(self, row_id: str) -> AudioInput:
        data = self.audio_bytes(row_id)
        recording = codec.read(data, name=f"row {row_id!r}")
        channels = codec.to_float(recording.pcm)
        span = self._spans.get(row_id)
        if span and not 0 <= span[0] < min(span[1], recording.duration_s):
            raise codec.AudioError(f"row {row_id!r}: the span {span} is not within the clip")
        samples = channels[0] if len(channels) == 1 else channels.mean(axis=0)
        sha256, _ = self._facts_of(row_id, data)
        return AudioInput(
            row_id, samples, recording.sampling_rate, sha256, span, recording.attenuation_db
        )

    def facts(self, row_id: str) -> tuple[str, float]:
        """SHA-256 of a row's audio bytes, and its length in seconds; NaN if it is not audio."""
        return self._facts.get(row_id) or self._facts_of(row_id, self.audio_bytes(row_id))

    def _facts_of(self, row_id: str, data: bytes) -> tuple[str, float]:
        if row_id not in self._facts:
            try:
                length = codec.duration_s(data, name=f"row {row_id!r}")
            except codec.AudioError:
                length = math.nan  # its request will fail alone, with the reason
            self._facts[row_id] = hashlib.sha256(data).hexdigest(), length
        return self._facts[row_id]


def _in_audit_names(config: str, table: datasets.Dataset) -> datasets.Dataset:
    """A table under the names of columns that audits use, with an id and a source if it can be."""
    try:
        names = names_of(table.column_names)
    except ColumnError as error:
        raise DatasetError(f"config {config!r}: {error}") from error
    table = table.rename_columns({known: name for name, known in names.items()})
    columns = table.column_names
    if "id" not in columns and (row_id := id_of(columns)):
        table = table.add_column("id", list(map(row_id, table.remove_columns("audio"))))
    if "clip_id" in columns and "source_id" not in columns:
        clip_ids = table.select_columns("clip_id")[:]["clip_id"]
        table = table.add_column("source_id", [source_of_clip(str(c)) for c in clip_ids])
    return table


def _twice(row_id: str) -> DatasetError:
    return DatasetError(
        f"two rows have the id {row_id!r}; give each row of the dataset an id of its own"
    )


def class_name(classes: datasets.ClassLabel, value: int | None, what: str) -> str | None:
    """The name of a ClassLabel's integer.

    Raises:
        DatasetError: It has none.
    """
    if value is None:
        return None
    if not 0 <= value < len(classes.names):
        raise DatasetError(f"{what} is {value}; it must be one of {classes.names}")
    return str(classes.names[value])


def _span(row: dict[str, Any]) -> tuple[float, float] | None:
    span = row.get("span_start_s"), row.get("span_end_s")
    if None in span:
        return None
    if not all(isinstance(at, int | float) and math.isfinite(at) for at in span):
        raise DatasetError(f"row {row['id']!r}: the span {span} is not a range of seconds")
    return span  # type: ignore[return-value]


def _words(row: dict[str, Any]) -> str | None:
    category = row.get("category")
    return None if category in (None, SOURCE) else str(category).replace("_", " ")


def open_items(
    dataset: DatasetLike,
    configs: Sequence[str] = (),
    *,
    split: str = "test",
    revision: str | None = None,
    needed: Sequence[str] = NEEDED,
) -> Items:
    """Opens a dataset.

    Args:
        configs: Which configs; the default one when empty.
        split: Which split; several are joined with `+`, as `train+validation`.
        revision: Needed for a Hub repository, whose content may change.
        needed: Columns that it must have; `id` and `audio` at least.

    Raises:
        DatasetError: It cannot be found, or is not pinned, or lacks a column.
    """
    if isinstance(dataset, datasets.Dataset):
        return Items([("", dataset)], needed=needed)
    if not isinstance(dataset, str | Path):
        raise DatasetError(
            f"a dataset in memory is one split, a datasets.Dataset, not a {type(dataset).__name__}"
        )
    items = Items((), needed=needed)
    there = configs_in(dataset, revision) if configs else []
    for config in configs or (None,):  # type: ignore[list-item]
        by_category = config is not None and config not in there and len(there) == 1
        table, files = load_table(
            dataset, None if by_category else config, split=split, revision=revision
        )
        if by_category:
            table = _of_category(table, str(config), there)
        items.extend(Items([(config or "default", table)], files=files, needed=needed))
    return items


def _of_category(
    table: datasets.Dataset, category: str, configs: Sequence[str]
) -> datasets.Dataset:
    """The rows of a category of a dataset that has one config for all of them."""
    if "category" not in table.column_names:
        raise DatasetError(f"there is no config {category!r}; there are {configs}")
    categories = table.select_columns("category")[:]["category"]
    named = table.features["category"]
    if isinstance(named, datasets.ClassLabel):
        categories = [class_name(named, c, f"row {i}: category") for i, c in enumerate(categories)]
    indices = [index for index, value in enumerate(categories) if value == category]
    if not indices:
        there = first_names(sorted({str(value) for value in categories}), most=12)
        raise DatasetError(f"there is no config or category {category!r}; there are {there}")
    return table.select(indices)
