"""What a build will hold, decided before any sound is made.

A plan lists the sources with their spans and cuts the work into shards. A shard is a pure function
of the plan and its index: which rows, in which order, in which files. Nothing here depends on how
many workers there are, or on where the sources lie on disk.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import Literal, NamedTuple

import soundfile

from builders.corpora.base import SourceClip
from otoscope.acoustics.design import CONDITIONS
from otoscope.acoustics.gradients import GRADIENTS, beep_categories
from otoscope.registry import UnknownName

GENERATOR_VERSION = "1"
"""Rises whenever any byte of a dataset may change."""

LIBRARIES = ("numpy", "scipy", "librosa", "soxr", "soundfile", "pyarrow", "datasets")
"""Whose other versions may give other bytes; one build is made with one set of them.

`datasets` writes the features into every Parquet file. libsndfile, which makes the FLAC, is named
beside them: `soundfile` brings its own on most machines, and takes the system's on others.
"""

SPLITS = ("test", "train", "validation")
MAX_SOURCES_PER_SHARD = 5
MAX_FILE_BYTES = 90_000_000  # of PCM, which FLAC never exceeds by much; files stay under 100 MB
SLOWEST_RATE = 0.6  # speaking speed lengthens a clip by at most this
MAX_CLIP_BYTES = 50_000_000

Kind = Literal["gradient", "source", "beep"]


class LeftOut(NamedTuple):
    """Cells of one source that the profile does not make, and why."""

    category: str
    tier: str
    reason: str


@dataclass(frozen=True)
class Surveyed:
    """A source whose file has been read once.

    Attributes:
        source: What the corpus says of it.
        sampling_rate: In Hz.
        n_channels, n_samples, bit_depth: Of the decoded file; bit_depth 8 or 16.
        subtype: The encoding of the file, as libsndfile names it.
        span: Start and end of speech, in samples.
        span_origin: `detected`, `corrected`, `given`, or the policy taken.
        pcm_sha256: Of the decoded samples.
        left_out: Cells that would do nothing to this source.
    """

    source: SourceClip
    sampling_rate: int
    n_channels: int
    n_samples: int
    bit_depth: int
    subtype: str
    span: tuple[int, int]
    span_origin: str
    pcm_sha256: str
    left_out: tuple[LeftOut, ...] = ()

    def cells(self, category: str, bounds: tuple[int, int]) -> list[int]:
        """Which of the cells `[start, end)` of `CONDITIONS` are made of this source."""
        without = {tier for name, tier, _ in self.left_out if name == category}
        return [k for k in range(*bounds) if CONDITIONS[k].tier not in without]

    @property
    def most_bytes(self) -> int:
        """Upper bound of one rendered clip, in bytes of PCM."""
        return int(self.n_samples * self.n_channels * 2 / SLOWEST_RATE)


class Shard(NamedTuple):
    """A bounded piece of work.

    Attributes:
        kind: Which sort of rows.
        split: Of its rows.
        first, last: Its sources, `[first, last)` in the plan's list for this kind and split.
        cells: Its variants, `[start, end)` in `CONDITIONS`.
        categories: In row order.
        files: Config name to path inside the dataset folder.
        n_rows: Over all its files.
    """

    kind: Kind
    split: str
    first: int
    last: int
    cells: tuple[int, int]
    categories: tuple[str, ...]
    files: dict[str, str]
    n_rows: int

    @property
    def name(self) -> str:
        """Unique in its plan; a file name."""
        return next(iter(self.files.values())).replace("/", "_").removesuffix(".parquet")


@dataclass(frozen=True)
class Plan:
    """Everything that decides the bytes of a build.

    Attributes:
        categories: In generation order.
        profile: Which rules.
        sources: Speech, all splits, in published order within each.
        beeps: The tones of the ablation; may be empty.
        libraries: Versions of `LIBRARIES` and of libsndfile.
    """

    categories: tuple[str, ...]
    profile: str
    sources: tuple[Surveyed, ...]
    beeps: tuple[Surveyed, ...]
    generator_version: str = GENERATOR_VERSION
    libraries: tuple[str, ...] = field(
        default_factory=lambda: (
            *(f"{name} {version(name)}" for name in LIBRARIES),
            f"libsndfile {soundfile.__libsndfile_version__}",
        )
    )

    def of_split(self, split: str) -> list[Surveyed]:
        """The speech sources of one split."""
        return [s for s in self.sources if s.source.split == split]

    def sources_of(self, shard: Shard) -> list[Surveyed]:
        """The sources of one shard."""
        pool = list(self.beeps) if shard.kind == "beep" else self.of_split(shard.split)
        return pool[shard.first : shard.last]

    def sampling_rate(self, kind: Kind) -> int | None:
        """In Hz; None where the sources of this kind differ."""
        rates = {s.sampling_rate for s in (self.beeps if kind == "beep" else self.sources)}
        return rates.pop() if len(rates) == 1 else None

    @cached_property
    def shards(self) -> list[Shard]:
        """All work, in the order of the files."""
        return [
            shard
            for split in SPLITS
            for shard in (*self._gradient_shards(split), *self._source_shards(split))
        ] + self._beep_shards()

    def _gradient_shards(self, split: str) -> list[Shard]:
        pool = self.of_split(split)
        pieces = list(_pieces([s.most_bytes for s in pool]))
        return [
            Shard(
                "gradient", split, first, last, cells, self.categories,
                {c: f"{c}/{_file(split, i, len(pieces))}" for c in self.categories},
                _n_rows(pool[first:last], self.categories, cells),
            )
            for i, (first, last, cells) in enumerate(pieces)
        ]  # fmt: skip

    def _source_shards(self, split: str) -> list[Shard]:
        pool = self.of_split(split)
        blocks = list(_blocks([s.most_bytes for s in pool], MAX_FILE_BYTES, len(pool)))
        return [
            Shard(
                "source", split, first, last, (0, 0), (),
                {"source": f"source/{_file(split, i, len(blocks))}"}, last - first,
            )
            for i, (first, last) in enumerate(blocks)
        ]  # fmt: skip

    def _beep_shards(self) -> list[Shard]:
        pieces = list(_pieces([s.most_bytes for s in self.beeps]))
        categories = [c for c in beep_categories(self.profile) if c in self.categories]
        jobs = [(category, piece) for category in categories for piece in pieces]
        return [
            Shard(
                "beep", "test", first, last, cells, (category,),
                {"beep": f"beep/{_file('test', i, len(jobs))}"},
                _n_rows(self.beeps[first:last], (category,), cells),
            )
            for i, (category, (first, last, cells)) in enumerate(jobs)
        ]  # fmt: skip

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides the bytes; where files lie on disk is not part of it."""
        described = asdict(self)
        for surveyed in (*described["sources"], *described["beeps"]):
            for key in ("path", "span_s", "doubt"):
                del surveyed["source"][key]
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def chosen_categories(asked: Sequence[str] | None, profile: str) -> tuple[str, ...]:
    """The categories asked for (all by default), in generation order.

    Raises:
        LookupError: An unknown category, or one without this profile.
    """
    names = asked or tuple(GRADIENTS)
    for name in names:
        if profile not in (there := GRADIENTS[name].profiles):
            raise UnknownName(f"{name} has no profile {profile!r}; there are {sorted(there)}")
    return tuple(name for name in GRADIENTS if name in names)


def _n_rows(sources: Sequence[Surveyed], categories: Sequence[str], cells: tuple[int, int]) -> int:
    return sum(len(s.cells(category, cells)) for s in sources for category in categories)


def _file(split: str, index: int, total: int) -> str:
    return f"{split}-{index:05d}-of-{total:05d}.parquet"


def _blocks(sizes: Sequence[int], limit: int, most: int) -> Iterator[tuple[int, int]]:
    """Runs of neighbours whose sizes sum to at most `limit`, at most `most` long, never empty."""
    first, total = 0, 0
    for i, size in enumerate(sizes):
        if i > first and (total + size > limit or i - first == most):
            yield first, i
            first, total = i, 0
        total += size
    if first < len(sizes):
        yield first, len(sizes)


def _pieces(clip_bytes: Sequence[int]) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Blocks of sources with all cells; a source too long for one file is cut between cells."""
    whole = len(CONDITIONS)
    for first, last in _blocks(
        [whole * b for b in clip_bytes], MAX_FILE_BYTES, MAX_SOURCES_PER_SHARD
    ):
        n_parts = 1
        if last - first == 1:
            cells_that_fit = max(1, MAX_FILE_BYTES // clip_bytes[first])
            n_parts = -(-whole // min(whole, cells_that_fit))
        for k in range(n_parts):
            yield first, last, (k * whole // n_parts, (k + 1) * whole // n_parts)
