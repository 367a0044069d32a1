"""What a dataset provides: a plan that is cut into shards, and a recipe for their rows."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import datasets

MAX_FILE_BYTES = 90_000_000  # of PCM, which FLAC never exceeds by much; files stay under 100 MB


@dataclass(frozen=True)
class Shard:
    """A bounded piece of work, the same on every machine.

    Attributes:
        split: Of its rows.
        files: Config name to path inside the dataset folder.
        n_rows: Over all its files.
        likely_bytes: Of all its files; for the check of free space.
    """

    split: str
    files: dict[str, str]
    n_rows: int
    likely_bytes: int = 0

    @property
    def name(self) -> str:
        """Unique in its plan; a file name."""
        return next(iter(self.files.values())).replace("/", "_").removesuffix(".parquet")


class BuildPlan(Protocol):
    """Everything that decides the bytes of a build; it can be pickled."""

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides the bytes, and of nothing else."""

    @property
    def libraries(self) -> Sequence[str]:
        """Names and versions of the libraries that write the bytes, as `library_versions` has them.

        Every worker process must have the same.
        """

    @property
    def shards(self) -> Sequence[Any]:
        """All work: `Shard`s, in the order of the files."""

    @property
    def outline(self) -> Mapping[str, object]:
        """What distinguishes builds, for a person to read; stored as JSON."""


class DatasetRow(NamedTuple):
    """A row on its way to a file.

    Attributes:
        config: Which of the shard's files.
        cells: Column name to value; null where a column is absent.
        counts: What the file's record counts, see `Recipe`.
    """

    config: str
    cells: Mapping[str, Any]
    counts: Mapping[str, int] = {}


class Recipe(NamedTuple):
    """How a plan becomes rows. The functions are those of a module, so that workers find them.

    Attributes:
        rows: `(plan, shard)` to its rows; those of one config come in their final order.
        features: The columns, or a function of `(plan, shard)` where files differ in them.
        counted: What the record of each file counts beside its rows.
    """

    rows: Callable[[Any, Any], Iterator[DatasetRow]]
    features: datasets.Features | Callable[[Any, Any], datasets.Features]
    counted: tuple[str, ...] = ()


def fingerprint_of(described: object) -> str:
    """SHA-256 of something that can be written as JSON."""
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def shard_file(split: str, index: int, total: int) -> str:
    """The name of one of a split's files, as the Hub has them."""
    return f"{split}-{index:05d}-of-{total:05d}.parquet"


def blocks(sizes: Sequence[int], limit: int, most: int) -> Iterator[tuple[int, int]]:
    """Runs of neighbours whose sizes sum to at most `limit`, at most `most` long, never empty.

    >>> list(blocks([3, 3, 3, 9, 1], limit=6, most=10))
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    first, total = 0, 0
    for i, size in enumerate(sizes):
        if i > first and (total + size > limit or i - first == most):
            yield first, i
            first, total = i, 0
        total += size
    if first < len(sizes):
        yield first, len(sizes)
