"""The plan of a labelled dataset: surveyed, divided, checked, cut into files."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from builders.building.libraries import LIBSNDFILE, library_versions
from builders.building.plan import MAX_FILE_BYTES, Shard, blocks, fingerprint_of, shard_file
from builders.corpora.base import SILENT, CorpusError, Skipped
from builders.labelled.clips import Division, LabelledSource, validate_source
from builders.labelled.dividing import divide, joined
from builders.labelled.guard import (
    Overlap,
    contradictions,
    reject_contradictions,
    reject_shared_audio,
    split_guard,
)
from builders.labelled.survey import DecodedClip, survey
from builders.splits import DEVELOPMENT, HOLDOUT, LABELLED_SPLITS
from otoscope.audits.call_value.contract import sha256_of
from otoscope.progress import Progress

GENERATOR_VERSION = "1"
"""Raise whenever a byte of a build may come out different."""

CONFIG = "data"
MOST_ROWS = 1_000  # of a file, so that several processes have something to do
LIBRARIES = ("datasets", "numpy", "pyarrow", "soundfile", LIBSNDFILE)


@dataclass(frozen=True, kw_only=True)
class LabelledShard(Shard):
    """Rows `first` to `last` (exclusive) of the plan, of one split."""

    first: int
    last: int


@dataclass(frozen=True)
class LabelledPlan:
    """Everything that decides the bytes.

    Attributes:
        task, labels: Of the dataset.
        clips: Development, then hold-out, each in the source's order; every one has a split.
        places: Of each clip in the source.
        libraries: See `BuildPlan`.
    """

    task: str
    labels: tuple[str, ...]
    clips: tuple[DecodedClip, ...]
    places: tuple[int, ...]
    libraries: tuple[str, ...] = field(default_factory=lambda: library_versions(LIBRARIES))

    def of_split(self, split: str) -> list[DecodedClip]:
        """The clips of a split, in order."""
        return [s for s in self.clips if s.clip.split == split]

    @cached_property
    def shards(self) -> list[LabelledShard]:
        """Files of bounded size."""
        found, start = list[LabelledShard](), 0
        for split in LABELLED_SPLITS:
            sizes = [s.pcm_bytes for s in self.of_split(split)]
            parts = list(blocks(sizes, MAX_FILE_BYTES, MOST_ROWS))
            for i, (first, last) in enumerate(parts):
                path = f"{CONFIG}/{shard_file(split, i, len(parts))}"
                found.append(
                    LabelledShard(
                        split,
                        {CONFIG: path},
                        last - first,
                        sum(sizes[first:last]),
                        first=start + first,
                        last=start + last,
                    )
                )
            start += len(sizes)
        return found

    @property
    def outline(self) -> Mapping[str, object]:
        """Task, labels, size and hash of each split."""
        return {
            "generator_version": GENERATOR_VERSION,
            "task": self.task,
            "labels": list(self.labels),
            "splits": {split: split_record(self.of_split(split)) for split in LABELLED_SPLITS},
        }

    @cached_property
    def fingerprint(self) -> str:
        """Of every row, every file and the libraries."""
        rows = [
            (place, s.file_sha256, *(str(v) for v in _row_fields(s)))
            for place, s in zip(self.places, self.clips, strict=True)
        ]
        return fingerprint_of([GENERATOR_VERSION, self.task, self.labels, rows, self.libraries])


class PlannedLabelled(NamedTuple):
    """A plan, its source, what it leaves out, and what its splits share."""

    plan: LabelledPlan
    source: LabelledSource
    skipped: tuple[Skipped, ...]
    guard: tuple[Overlap, ...]


def _row_fields(s: DecodedClip) -> tuple[object, ...]:
    c = s.clip
    return c.id, c.label, c.split, c.cluster, c.speaker_id, c.source_id, c.text, c.transcript


def split_record(clips: Sequence[DecodedClip]) -> dict[str, object]:
    """How many clips a split has, and the hash of their sorted ids, as in a contract."""
    return {"n": len(clips), "sha256": sha256_of(sorted(s.clip.id for s in clips))}


def clip_id(file_name: str) -> str:
    """A name for a clip that says nothing about it.

    >>> clip_id("dog/1.wav")
    'clip-cad022ee56a7'
    """
    return f"clip-{hashlib.sha256(file_name.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def plan_build(
    source: LabelledSource,
    *,
    skip: bool = False,
    drop_shared_audio: bool = False,
    num_proc: int = 1,
    progress: Progress = SILENT,
) -> PlannedLabelled:
    """Reads every clip, divides them, and checks what the splits share.

    Args:
        source: The dataset.
        skip: Leave out clips that cannot be read, and the same audio under two labels.
        drop_shared_audio: Leave out development clips whose audio is in hold-out too.
        num_proc: Processes.
        progress: Shows how many clips were read.

    Raises:
        CorpusError, AudioError: A clip that cannot be read, the same audio in both splits or under
            two labels, a class with too few clips, or anything that `validate_source` rejects.
    """
    validate_source(source)
    clips, left_out = survey(source.clips, skip=skip, num_proc=num_proc, progress=progress)
    skipped = [*source.skipped, *left_out]
    if skip:
        double = {s.clip.id for same in contradictions(clips) for s in same}
        skipped += _dropped(clips, double, "the same audio under two labels")
        clips = [s for s in clips if s.clip.id not in double]
    reject_contradictions(clips)
    if source.division is not None:
        clips = divided(clips, source.division)
    elif drop_shared_audio:
        held = {s.audio_sha256 for s in clips if s.clip.split == HOLDOUT}
        shared = {
            s.clip.id for s in clips if s.clip.split == DEVELOPMENT and s.audio_sha256 in held
        }
        skipped += _dropped(clips, shared, "the same audio as a hold-out clip")
        clips = [s for s in clips if s.clip.id not in shared]
    reject_shared_audio(clips)
    _validate_classes(source, clips)
    place = {clip.id: i for i, clip in enumerate(source.clips)}
    clips = [s for split in LABELLED_SPLITS for s in clips if s.clip.split == split]
    places = tuple(place[s.clip.id] for s in clips)
    plan = LabelledPlan(source.task, source.labels, tuple(clips), places)
    return PlannedLabelled(plan, source, tuple(skipped), split_guard(clips))


def divided(clips: Sequence[DecodedClip], division: Division) -> list[DecodedClip]:
    """The clips with a split each; equal audio, clusters and what must be apart stay together."""
    keys = [
        [f"cluster\x1f{s.clip.cluster}", f"audio\x1f{s.audio_sha256}"]
        + [f"{name}\x1f{own}" for name in division.apart if (own := getattr(s.clip, name))]
        for s in clips
    ]
    labels = [s.clip.label for s in clips]
    splits = divide(labels, joined(keys), division.holdout, seed=division.seed)
    return [
        s._replace(clip=replace(s.clip, split=split))
        for s, split in zip(clips, splits, strict=True)
    ]


def _dropped(clips: Sequence[DecodedClip], ids: set[str], reason: str) -> list[Skipped]:
    return [Skipped(s.clip.file_name, reason) for s in clips if s.clip.id in ids]


def _validate_classes(source: LabelledSource, clips: Sequence[DecodedClip]) -> None:
    counted = Counter((s.clip.split, s.clip.label) for s in clips)
    for split in LABELLED_SPLITS:
        if empty := [label for label in source.labels if not counted[split, label]]:
            raise CorpusError(
                f"{source.name}: the split {split} has no clip with the label {empty[0]!r}"
            )
