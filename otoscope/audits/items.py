"""Rows of any dataset with audio: local folder, Hub repository or a dataset in memory.

A perception dataset needs the columns `id`, `audio`, `category` and `label`, and `attribute` or
`prompt` for its questions; other audits say what they need. Audio is read with soundfile;
torchcodec is not needed.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import datasets
import pyarrow as pa
import yaml

from otoscope.acoustics import codec
from otoscope.errors import InputError
from otoscope.models.base import AudioInput
from otoscope.prompts.questions import SOURCE

NEEDED = ("id", "audio", "category", "label")
"""Columns of a perception dataset."""

DatasetLike: TypeAlias = str | Path | datasets.Dataset
"""A folder, a Hub repository, or one split in memory."""


class DatasetError(InputError, ValueError):
    """A dataset that an audit cannot use; the message names what is missing."""


class Items:
    """Rows by id, with their audio at hand.

    Attributes:
        rows: Every column but audio, in dataset order, each with its `config`; ClassLabels are
            names, ids text.
    """

    def __init__(
        self,
        tables: Iterable[tuple[str, datasets.Dataset]],
        folder: Path | None = None,
        *,
        needed: Sequence[str] = NEEDED,
    ) -> None:
        """Takes datasets with the name of the config each comes from.

        Args:
            tables: Config and dataset.
            folder: What relative paths of audio files are relative to.
            needed: Columns that each must have; `id` and `audio` at least.

        Raises:
            DatasetError: A needed column is missing, or two rows share an id.
        """
        self.rows: list[dict[str, Any]] = []
        self._at: dict[str, tuple[datasets.Dataset, int]] = {}
        self._folder, self._needed = folder or Path(), needed
        self._audio = lru_cache(maxsize=64)(self._read)
        self._facts: dict[str, tuple[str, float]] = {}
        self._spans: dict[str, tuple[float, float]] = {}
        for config, table in tables:
            self._add(config, table)

    def _add(self, config: str, table: datasets.Dataset) -> None:
        missing = [name for name in self._needed if name not in table.column_names]
        if missing:
            raise DatasetError(
                f"config {config!r} lacks the column(s) {missing}; it has {table.column_names}"
            )
        classes = {n: f for n, f in table.features.items() if isinstance(f, datasets.ClassLabel)}
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
                raise DatasetError(f"two rows have the id {row['id']!r}")
            self._at[row["id"]] = (audio, index)
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
            raise DatasetError(f"two rows have the id {min(shared)!r}")
        self.rows = self.rows + other.rows
        self._at |= other._at
        self._spans |= other._spans

    def __len__(self) -> int:
        return len(self.rows)

    def audio_bytes(self, row_id: str) -> bytes:
        """The encoded audio of a row.

        Raises:
            DatasetError: The row has none.
        """
        table, index = self._at[row_id]
        cell = table[index]["audio"] or {}
        if cell.get("bytes"):
            data: bytes = cell["bytes"]
            return data
        if not cell.get("path"):
            raise DatasetError(f"row {row_id!r} has no audio")
        try:
            return (self._folder / cell["path"]).read_bytes()
        except OSError as error:
            raise DatasetError(f"row {row_id!r}: {cell['path']}: {error.strerror}") from error

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
        return AudioInput(row_id, samples, recording.sampling_rate, sha256, span)

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


def dataset_name(dataset: DatasetLike) -> str:
    """As it was given; `in memory` for one that has no name."""
    return "in memory" if isinstance(dataset, datasets.Dataset) else str(dataset)


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
    tables = [
        (config or "default", load_table(dataset, config, split=split, revision=revision))
        for config in configs or (None,)  # type: ignore[list-item]
    ]
    return Items(tables, Path(dataset), needed=needed)


def load_table(
    dataset: str | Path, config: str | None = None, *, split: str, revision: str | None
) -> datasets.Dataset:
    """One split of a folder or a Hub repository, as `load_dataset` reads it.

    Raises:
        DatasetError: It cannot be found, or is not pinned.
    """
    with _opening(dataset, revision):
        return datasets.load_dataset(str(dataset), config, split=split, revision=revision)


@contextmanager
def _opening(dataset: str | Path, revision: str | None) -> Iterator[None]:
    """Raises DatasetError for a Hub repository without revision and for errors of `datasets`."""
    if not Path(dataset).is_dir() and revision is None:
        raise DatasetError(
            f"{str(dataset)!r} is no folder here; a Hub repository needs --revision, because its "
            "content may change"
        )
    try:
        yield
    except yaml.YAMLError as error:
        raise DatasetError(f"{dataset}: the YAML in its README.md is not readable") from error
    except (ValueError, OSError, datasets.exceptions.DatasetsError) as error:
        generating = isinstance(error, datasets.exceptions.DatasetGenerationError)
        reason = f" ({error.__cause__})" if generating and error.__cause__ else ""
        raise DatasetError(f"{dataset}: {error}{reason}") from error


def configs_in(dataset: DatasetLike, revision: str | None = None) -> list[str]:
    """Names of a dataset's configs; none for one in memory."""
    if isinstance(dataset, datasets.Dataset):
        return []
    with _opening(dataset, revision):
        return list(datasets.get_dataset_config_names(str(dataset), revision=revision))


def splits_in(
    dataset: str | Path, configs: Sequence[str] = (), revision: str | None = None
) -> list[str]:
    """Names of the splits that every one of these configs has; of the default one when empty.

    Raises:
        DatasetError: It cannot be found.
    """
    with _opening(dataset, revision):
        splits = [
            list(datasets.get_dataset_split_names(str(dataset), config, revision=revision))
            for config in configs or (None,)  # type: ignore[list-item]
        ]
    return [name for name in splits[0] if all(name in names for names in splits)]
