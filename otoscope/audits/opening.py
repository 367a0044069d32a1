"""Opens a dataset: a folder or a Hub repository, in whatever layout `load_dataset` finds it.

A folder's files may change without a trace that `datasets` looks at, so its cache is kept apart
for each state of the files.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from otoscope.audits.audio_files import AudioFiles, folders_of
from otoscope.audits.table_layouts import csv_splits, folder_splits, is_audio_folder, is_plain_csv
from otoscope.errors import InputError, first_line
from otoscope.tables.files import TableError
from otoscope.tables.names import column

DatasetLike: TypeAlias = str | Path | datasets.Dataset
"""A folder, a Hub repository, or one split in memory."""

ENDS = 64 * 1024
NO_ROWS = "BatchSize must be greater than 0"
"""What `datasets` says of a Parquet file without rows."""
EXPECTED = re.compile(r"'expected': SplitInfo\(name='([^']*)'.*?num_examples=(\d+)")
"""A split and its rows, in what `datasets` says where a README counts others."""


class DatasetError(InputError, ValueError):
    """A dataset that an audit cannot use; the message names what is missing."""


class Opened(NamedTuple):
    """A config of a dataset that was found but not read.

    Attributes:
        builder: Of `datasets`.
        files: Where paths in its cells lead.
        found: The files of each split, relative to the dataset.
        revision: Of a Hub repository.
    """

    builder: datasets.DatasetBuilder
    files: AudioFiles
    found: dict[str, list[str]]
    revision: str | None

    def splits(self) -> dict[str, datasets.Dataset] | None:
        """The rows of each split of a folder of audio files or of CSV files; None of any other."""
        if is_plain_csv(self.builder):
            return csv_splits(self.found, self.files)
        if not is_audio_folder(self.builder):
            return None
        labels = not getattr(self.builder.config, "drop_labels", None)
        return folder_splits(self.found, self.files, with_labels=labels)

    def streamed(self, split: str) -> datasets.IterableDataset:
        """One split, row by row, without a cache.

        Raises:
            DatasetError: There is no such split, or a table cannot be read.
        """
        with opening(self.files.where):
            whole = self.splits()
            if split not in self.found:
                raise DatasetError(
                    f"{self.files.where} has no split {split!r}; it has {', '.join(self.found)}"
                )
            if whole is None:
                return self.builder.as_streaming_dataset(split=split)
            return whole[split].to_iterable_dataset()


def dataset_name(dataset: DatasetLike) -> str:
    """As it was given; `in memory` for one that has no name."""
    return "in memory" if isinstance(dataset, datasets.Dataset) else str(dataset)


def pinned(dataset: str | Path, revision: str | None) -> tuple[str, str | None]:
    """A folder as it is, or a Hub repository and its revision, given apart or as `ORG/NAME@REV`.

    Raises:
        DatasetError: A repository without revision, or with two.
    """
    if Path(dataset).is_dir():
        return str(dataset), None
    name, _, behind = str(dataset).partition("@")
    if behind and revision not in (None, behind):
        raise DatasetError(f"{dataset} has another revision than --revision {revision}")
    if not behind and revision is None:
        raise DatasetError(
            f"{str(dataset)!r} is no folder here; a Hub repository needs --revision, because its "
            "content may change"
        )
    return name, behind or revision


def find_dataset(dataset: str | Path, config: str | None, revision: str | None) -> Opened:
    """Finds a config of a dataset and its files; nothing of a table is read.

    Raises:
        DatasetError: It cannot be found, or is not pinned.
    """
    where, revision = pinned(dataset, revision)
    with opening(dataset):
        builder = datasets.load_dataset_builder(where, config, revision=revision)
    root = str(builder.base_path) if revision else Path(where).resolve().as_posix()
    data_files = builder.config.data_files or {}
    found = {
        str(split): [file.removeprefix(f"{root}/") for file in files]
        for split, files in data_files.items()
    }
    folders = folders_of((file for files in data_files.values() for file in files), root)
    return Opened(builder, AudioFiles(where, revision, folders), found, revision)


def load_table(
    dataset: str | Path, config: str | None = None, *, split: str, revision: str | None
) -> tuple[datasets.Dataset, AudioFiles]:
    """One split of a folder or a Hub repository, and the files that its cells name.

    Where a dataset has one split only and a column `split`, the column decides. A config that is
    the name of a category, where the dataset has no such config, is the rows of that category.

    Raises:
        DatasetError: It cannot be found, or is not pinned.
    """
    opened = find_dataset(dataset, config, revision)
    with opening(dataset):
        whole = opened.splits()
        if whole is not None:
            return _taken(whole, split), opened.files
        names = list(opened.found)
        if len(names) == 1 and (parts := _by_column(_load(opened, names[0]))):
            return _taken(parts, split), opened.files
        return _load(opened, split), opened.files


def _load(opened: Opened, split: str) -> datasets.Dataset:
    cache, files = None, list[Path]()
    if opened.revision is None:
        files = [
            Path(opened.files.where, name) for names in opened.found.values() for name in names
        ]
        cache = str(Path(datasets.config.HF_DATASETS_CACHE, f"otoscope-{state_of(files)[:16]}"))
    try:
        return datasets.load_dataset(
            opened.files.where,
            opened.builder.config.name,
            split=split,
            revision=opened.revision,
            cache_dir=cache,
        )
    except (datasets.exceptions.DatasetGenerationError, pa.ArrowException):
        _reject_damaged(files)
        raise


def _reject_damaged(files: Sequence[Path]) -> None:
    """Names the first Parquet file that cannot be read, which `datasets` does not.

    Raises:
        DatasetError: There is one.
    """
    for path in files:
        try:
            if path.suffix == ".parquet":
                for _ in pq.ParquetFile(path).iter_batches():
                    pass
        except (pa.ArrowException, OSError) as error:
            raise DatasetError(
                f"{path}: damaged ({first_line(error)}); get it again, or build it anew"
            ) from error


def state_of(files: Sequence[Path]) -> str:
    """A hash of what tells a changed file: its place, size, times and inode, and both its ends.

    The time of a file's last change cannot be set by hand, unlike that of its content.
    """
    digest = hashlib.sha256()
    for path in sorted(files):
        stat = path.stat()
        facts = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_dev, stat.st_ino)
        digest.update(repr((path.resolve().as_posix(), *facts)).encode())
        with path.open("rb") as file:
            digest.update(file.read(ENDS))
            file.seek(max(0, stat.st_size - ENDS))
            digest.update(file.read(ENDS))
    return digest.hexdigest()


def _by_column(table: datasets.Dataset) -> dict[str, datasets.Dataset]:
    """The rows of each value of a column `split`; none where there is no such column."""
    name = column(table.column_names, ["split"])
    if name is None:
        return {}
    values = table.select_columns([name])[:][name]
    at: dict[str, list[int]] = {}
    for index, value in enumerate(values):
        at.setdefault(str(value), []).append(index)
    return {value: table.select(indices) for value, indices in at.items()}


def _taken(splits: dict[str, datasets.Dataset], split: str) -> datasets.Dataset:
    """What a split such as `train+validation` or `test[:10]` names, of tables in memory."""
    if len(splits) == 1:
        splits = _by_column(*splits.values()) or splits
    lengths = {name: len(table) for name, table in splits.items()}
    taken = [
        splits[part.splitname].select(range(part.from_, part.to))
        for part in datasets.ReadInstruction.from_spec(split).to_absolute(lengths)
    ]
    return datasets.concatenate_datasets(taken)


@contextmanager
def opening(dataset: str | Path) -> Iterator[None]:
    """Raises DatasetError for the errors of `datasets` and of tables, as one line."""
    try:
        yield
    except yaml.YAMLError as error:
        raise DatasetError(f"{dataset}: the YAML in its README.md is not readable") from error
    except TableError as error:
        raise DatasetError(str(error)) from error
    except datasets.exceptions.SplitsVerificationError as error:
        raise DatasetError(f"{dataset}: {_other_numbers(error)}") from error
    except (ValueError, OSError, datasets.exceptions.DatasetsError) as error:
        generating = isinstance(error, datasets.exceptions.DatasetGenerationError)
        reason = f" ({error.__cause__})" if generating and error.__cause__ else ""
        if NO_ROWS in reason or NO_ROWS in str(error):
            raise DatasetError(f"{dataset}: a Parquet file without rows; leave it out") from error
        raise DatasetError(" ".join(f"{dataset}: {error}{reason}".split())) from error


def _other_numbers(error: Exception) -> str:
    """That a dataset's README counts other rows than there are."""
    counted = EXPECTED.search(str(error))
    rows = f"{counted[2]} rows in split {counted[1]!r}" if counted else "other splits"
    return f"its README counts {rows}, its files do not; get them again, or build it anew"


def configs_in(dataset: DatasetLike, revision: str | None = None) -> list[str]:
    """Names of a dataset's configs; none for one in memory."""
    if isinstance(dataset, datasets.Dataset):
        return []
    where, revision = pinned(dataset, revision)
    with opening(dataset):
        return list(datasets.get_dataset_config_names(where, revision=revision))


def splits_in(
    dataset: str | Path, configs: Sequence[str] = (), revision: str | None = None
) -> list[str]:
    """Names of the splits that every one of these configs has; of the default one when empty.

    Raises:
        DatasetError: It cannot be found.
    """
    if configs and len(there := configs_in(dataset, revision)) == 1:
        configs = [config for config in configs if config in there]  # others are categories
    every = [
        _splits_of(dataset, find_dataset(dataset, config, revision))
        for config in configs or (None,)  # type: ignore[list-item]
    ]
    return [name for name in every[0] if all(name in names for names in every)]


def _splits_of(dataset: str | Path, opened: Opened) -> list[str]:
    names = list(opened.found)
    if len(names) != 1:
        return names
    with opening(dataset):
        (table,) = (opened.splits() or {"": _load(opened, names[0])}).values()
        return list(_by_column(table)) or names
