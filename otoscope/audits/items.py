"""Rows of any perception dataset: local folder, Hub repository or a dataset in memory.

Needed columns are `id`, `audio`, `category` and `label`, and `attribute` or `prompt` to ask about;
everything else is optional. Audio is read with soundfile; torchcodec is not needed.
"""

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import datasets

from otoscope.acoustics import codec
from otoscope.models.base import Sound

NEEDED = ("id", "audio", "category", "label")
SOURCE = "source"


class DatasetError(ValueError):
    """A dataset that cannot be asked about; the message names what is missing."""


class Items:
    """Rows by id, with their audio at hand.

    Attributes:
        rows: Every column but audio, in dataset order, each with its `config`.
        label_names: What integer labels stand for.
    """

    def __init__(self, tables: Iterable[tuple[str, datasets.Dataset]]) -> None:
        """Takes datasets with the name of the config each comes from.

        Raises:
            DatasetError: A needed column is missing, or two rows share an id.
        """
        self.rows: list[dict[str, Any]] = []
        self.label_names: tuple[str, ...] = ("decrease", "increase")
        self._at: dict[str, tuple[datasets.Dataset, int]] = {}
        self._sound = lru_cache(maxsize=64)(self._read)
        self._facts: dict[str, tuple[str, float]] = {}
        self._spans: dict[str, tuple[float, float]] = {}
        for config, table in tables:
            self._add(config, table)

    def _add(self, config: str, table: datasets.Dataset) -> None:
        missing = [name for name in NEEDED if name not in table.column_names]
        if missing:
            raise DatasetError(
                f"config {config!r} lacks the column(s) {missing}; it has {table.column_names}"
            )
        label = table.features["label"]
        if isinstance(label, datasets.ClassLabel):
            self.label_names = tuple(label.names)
        audio = table.cast_column("audio", datasets.Audio(decode=False))
        for index, row in enumerate(table.remove_columns("audio")):
            if row["id"] in self._at:
                raise DatasetError(f"two rows have the id {row['id']!r}")
            self._at[row["id"]] = (audio, index)
            start, end = row.get("span_start_s"), row.get("span_end_s")
            if start is not None and end is not None:
                self._spans[row["id"]] = (start, end)
            row["config"] = config
            row["attribute"] = row.get("attribute") or _words(row)
            self.rows.append(row)

    def extend(self, other: "Items") -> None:
        """Takes another dataset's rows in, behind its own.

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
            return cell["bytes"]
        if cell.get("path") and Path(cell["path"]).is_file():
            return Path(cell["path"]).read_bytes()
        raise DatasetError(f"row {row_id!r} has no audio")

    def sound(self, row_id: str) -> Sound:
        """A row's audio, channels averaged.

        Raises:
            codec.AudioError: It cannot be read; the row is named.
        """
        return self._sound(row_id)

    def _read(self, row_id: str) -> Sound:
        data = self.audio_bytes(row_id)
        recording = codec.read(data, name=f"row {row_id!r}")
        samples = codec.to_float(recording.pcm).mean(axis=0)
        span = self._spans.get(row_id)
        return Sound(
            row_id, samples, recording.sampling_rate, hashlib.sha256(data).hexdigest(), span
        )

    def facts(self, row_id: str) -> tuple[str, float]:
        """SHA-256 of a row's audio bytes, and its length in seconds."""
        if row_id not in self._facts:
            data = self.audio_bytes(row_id)
            length = codec.duration_s(data, name=f"row {row_id!r}")
            self._facts[row_id] = hashlib.sha256(data).hexdigest(), length
        return self._facts[row_id]


def _words(row: dict[str, Any]) -> str | None:
    return None if row["category"] == SOURCE else str(row["category"]).replace("_", " ")


def open_items(
    dataset: str | Path | datasets.Dataset,
    configs: Sequence[str] = (),
    *,
    split: str = "test",
    revision: str | None = None,
) -> Items:
    """Opens a dataset.

    Args:
        dataset: A folder, a Hub repository, or a dataset in memory.
        configs: Which configs; the default one when empty.
        split: Which split; several are joined with `+`, as `train+validation`.
        revision: Needed for a Hub repository: what it holds may change.

    Raises:
        DatasetError: It cannot be found, or is not pinned, or lacks a column.
    """
    if isinstance(dataset, datasets.Dataset):
        return Items([("", dataset)])
    if not Path(dataset).is_dir() and revision is None:
        raise DatasetError(
            f"{str(dataset)!r} is no folder here; a Hub repository needs --revision, because what "
            "it holds may change"
        )
    tables = []
    for config in configs or (None,):  # type: ignore[list-item]
        try:
            table = datasets.load_dataset(str(dataset), config, split=split, revision=revision)
        except (ValueError, FileNotFoundError, datasets.exceptions.DatasetNotFoundError) as error:
            raise DatasetError(f"{dataset}: {error}") from error
        tables.append((config or "default", table))
    return Items(tables)


def configs_in(dataset: str | Path | datasets.Dataset, revision: str | None = None) -> list[str]:
    """Names of a dataset's configs; none for one in memory."""
    if isinstance(dataset, datasets.Dataset):
        return []
    return list(datasets.get_dataset_config_names(str(dataset), revision=revision))
