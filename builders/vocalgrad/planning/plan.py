"""What a build will hold, decided before anything is rendered.

A plan lists the sources with their spans and cuts the work into shards. A shard is a pure function
of the plan and its index: which rows, in which order, in which files. Nothing here depends on how
many workers there are, or on the sources' paths.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from builders.building.libraries import LIBSNDFILE, library_versions
from builders.building.plan import (
    MAX_FILE_BYTES,
    Shard,
    blocks,
    fingerprint_of,
    shard_file,
)
from builders.corpora.base import SourceClip
from builders.splits import SORTED_SPLITS
from otoscope.acoustics.design import CONDITIONS, PUBLISHED_CATEGORIES
from otoscope.acoustics.gradients import GRADIENTS, beep_categories
from otoscope.registry import UnknownName

GENERATOR_VERSION = "2"
"""Rises whenever any byte of a dataset may change."""

LIBRARIES = ("numpy", "scipy", "librosa", "soxr", "soundfile", "pyarrow", "datasets", LIBSNDFILE)
"""Whose other versions may give other bytes; `datasets` writes the features into every file."""

MAX_SOURCES_PER_SHARD = 5
SLOWEST_RATE = 0.6  # speaking speed lengthens a clip by at most this
MAX_CLIP_BYTES = 50_000_000
FLAC_SHARE = 0.6  # of PCM, on speech with a little noise; for estimates only

OF_SOURCE = (
    "item_id", "clip_id", "split", "position", "speaker_id", "sentence_id", "transcript",
)  # fmt: skip
OF_CLIP = (
    "sampling_rate", "n_channels", "n_samples", "bit_depth", "subtype", "span", "span_origin",
    "pcm_sha256",
)  # fmt: skip
"""What of a source is part of the fingerprint. The names are hashed too: they stay as they are."""

ClipKind = Literal["gradient", "source", "beep"]


class OmittedTier(NamedTuple):
    """Conditions of one source that the profile does not make, and why."""

    category: str
    tier: str
    reason: str


@dataclass(frozen=True)
class SurveyedClip:
    """A source clip whose file has been read once.

    Attributes:
        source: The clip as its corpus lists it.
        sampling_rate: In Hz.
        n_channels, n_samples, bit_depth: Of the decoded file; bit_depth 8 or 16.
        subtype: The encoding of the file, as libsndfile names it.
        span: Start and end of speech, in samples.
        span_origin: `detected`, `corrected`, `given`, or the policy taken.
        pcm_sha256: Of the decoded samples.
        omitted: Conditions that would do nothing to this clip.
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
    omitted: tuple[OmittedTier, ...] = ()

    def conditions(
        self, category: str, bounds: tuple[int, int] = (0, len(CONDITIONS))
    ) -> list[int]:
        """Which of `CONDITIONS[start:end]` are made of this clip, by index."""
        without = {tier for name, tier, _ in self.omitted if name == category}
        return [k for k in range(*bounds) if CONDITIONS[k].tier not in without]

    @property
    def pcm_bytes(self) -> int:
        """Of the clip as it is."""
        return self.n_samples * self.n_channels * 2

    @property
    def most_bytes(self) -> int:
        """Upper bound of one rendered clip, in bytes of PCM."""
        return int(self.pcm_bytes / SLOWEST_RATE)

    def fingerprinted(self) -> dict[str, Any]:
        """What decides the bytes of its rows."""
        return {
            "source": {name: getattr(self.source, name) for name in OF_SOURCE},
            **{name: getattr(self, name) for name in OF_CLIP},
            "left_out": self.omitted,
        }


@dataclass(frozen=True, kw_only=True)
class ClipShard(Shard):
    """Some conditions of some neighbouring sources.

    Attributes:
        kind: Which sort of rows.
        first, last: Its sources, `[first, last)` in the plan's list for this kind and split.
        conditions: `[start, end)` in `CONDITIONS`.
        categories: In row order.
    """

    kind: ClipKind
    first: int
    last: int
    conditions: tuple[int, int] = (0, 0)
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class VocalGradPlan:
    """Everything that decides the bytes of a build.

    Attributes:
        categories: In generation order.
        profile: Which rules.
        sources: Speech, all splits, in published order within each.
        beeps: The tones of the ablation; may be empty.
        libraries: Versions of `LIBRARIES`.
    """

    categories: tuple[str, ...]
    profile: str
    sources: tuple[SurveyedClip, ...]
    beeps: tuple[SurveyedClip, ...]
    generator_version: str = GENERATOR_VERSION
    libraries: tuple[str, ...] = field(default_factory=lambda: library_versions(LIBRARIES))

    def of_split(self, split: str) -> list[SurveyedClip]:
        """The speech sources of one split."""
        return [s for s in self.sources if s.source.split == split]

    def sources_of(self, shard: ClipShard) -> list[SurveyedClip]:
        """The sources of one shard."""
        pool = list(self.beeps) if shard.kind == "beep" else self.of_split(shard.split)
        return pool[shard.first : shard.last]

    def sampling_rate(self, kind: ClipKind) -> int | None:
        """In Hz; None where the sources of this kind differ."""
        rates = {s.sampling_rate for s in (self.beeps if kind == "beep" else self.sources)}
        return rates.pop() if len(rates) == 1 else None

    @cached_property
    def shards(self) -> list[ClipShard]:
        """All work, in the order of the files."""
        return [
            shard
            for split in SORTED_SPLITS
            for shard in (*self._gradient_shards(split), *self._source_shards(split))
        ] + self._beep_shards()

    def _gradient_shards(self, split: str) -> list[ClipShard]:
        pool = self.of_split(split)
        pieces = list(_pieces([s.most_bytes for s in pool]))
        return [
            ClipShard(
                split,
                {c: f"{c}/{shard_file(split, i, len(pieces))}" for c in self.categories},
                *_sizes(pool[first:last], self.categories, conditions),
                kind="gradient", first=first, last=last, conditions=conditions,
                categories=self.categories,
            )
            for i, (first, last, conditions) in enumerate(pieces)
        ]  # fmt: skip

    def _source_shards(self, split: str) -> list[ClipShard]:
        pool = self.of_split(split)
        pieces = list(blocks([s.most_bytes for s in pool], MAX_FILE_BYTES, len(pool)))
        return [
            ClipShard(
                split,
                {"source": f"source/{shard_file(split, i, len(pieces))}"},
                last - first,
                int(FLAC_SHARE * sum(s.pcm_bytes for s in pool[first:last])),
                kind="source", first=first, last=last,
            )
            for i, (first, last) in enumerate(pieces)
        ]  # fmt: skip

    def _beep_shards(self) -> list[ClipShard]:
        pieces = list(_pieces([s.most_bytes for s in self.beeps]))
        of_tones = beep_categories(self.profile)
        categories = [c for c in self.categories if c in of_tones]
        jobs = [(category, piece) for category in categories for piece in pieces]
        return [
            ClipShard(
                "test",
                {"beep": f"beep/{shard_file('test', i, len(jobs))}"},
                *_sizes(self.beeps[first:last], (category,), conditions),
                kind="beep", first=first, last=last, conditions=conditions, categories=(category,),
            )
            for i, (category, (first, last, conditions)) in enumerate(jobs)
        ]  # fmt: skip

    @property
    def outline(self) -> dict[str, object]:
        """What distinguishes builds; the keys are stored, and stay as they are."""
        return {
            "profile": self.profile,
            "categories": list(self.categories),
            "generator_version": self.generator_version,
            "n_sources": {split: len(self.of_split(split)) for split in SORTED_SPLITS},
            "n_beeps": len(self.beeps),
        }

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides the bytes; paths are not part of it.

        The keys are hashed too: they stay as they are, so that unfinished builds go on.
        """
        return fingerprint_of(
            {
                "categories": self.categories,
                "profile": self.profile,
                "sources": [s.fingerprinted() for s in self.sources],
                "beeps": [s.fingerprinted() for s in self.beeps],
                "generator_version": self.generator_version,
                "libraries": self.libraries,
            }
        )


def chosen_categories(names: Sequence[str] | None, profile: str) -> tuple[str, ...]:
    """The named categories (the published ones by default), in generation order.

    Raises:
        LookupError: An unknown category, or one without this profile.
    """
    names = names or PUBLISHED_CATEGORIES
    for name in names:
        if profile not in (profiles := GRADIENTS[name].profiles):
            raise UnknownName(f"{name} has no profile {profile!r}; there are {sorted(profiles)}")
    added = (name for name in GRADIENTS if name not in PUBLISHED_CATEGORIES)
    return tuple(name for name in (*PUBLISHED_CATEGORIES, *added) if name in names)


def _sizes(
    sources: Sequence[SurveyedClip], categories: Sequence[str], conditions: tuple[int, int]
) -> tuple[int, int]:
    """Number of rows, and bytes that they are likely to take."""
    n_each = [sum(len(s.conditions(c, conditions)) for c in categories) for s in sources]
    pcm_bytes = sum(n * s.pcm_bytes for n, s in zip(n_each, sources, strict=True))
    return sum(n_each), int(FLAC_SHARE * pcm_bytes)


def _pieces(clip_bytes: Sequence[int]) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Blocks of sources with all conditions.

    A source too long for one file is cut between conditions.
    """
    n_all = len(CONDITIONS)
    for first, last in blocks(
        [n_all * b for b in clip_bytes], MAX_FILE_BYTES, MAX_SOURCES_PER_SHARD
    ):
        n_parts = 1
        if last - first == 1:
            n_that_fit = max(1, MAX_FILE_BYTES // clip_bytes[first])
            n_parts = -(-n_all // min(n_all, n_that_fit))
        for k in range(n_parts):
            yield first, last, (k * n_all // n_parts, (k + 1) * n_all // n_parts)
