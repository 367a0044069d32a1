"""The columns of a labelled dataset, and its files."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets

from builders.building.build_folder import build as build_shards
from builders.building.finished import FinishedBuild
from builders.building.folder import BuildError
from builders.building.plan import DatasetRow, Recipe
from builders.labelled.planning import CONFIG, LabelledPlan, LabelledShard
from builders.labelled.survey import DecodedClip
from otoscope.acoustics import codec

_TEXT = datasets.Value("string")


def features(plan: LabelledPlan) -> datasets.Features:
    """Columns in order; the sampling rate of `audio` is None where clips differ."""
    rates = {s.sampling_rate for s in plan.clips}
    return datasets.Features(
        {
            "id": _TEXT,
            "task": _TEXT,
            "audio": datasets.Audio(sampling_rate=rates.pop() if len(rates) == 1 else None),
            "label": datasets.ClassLabel(names=list(plan.labels)),
            "text": _TEXT,
            "cluster_id": _TEXT,
            "speaker_id": _TEXT,
            "source_id": _TEXT,
            "transcript": _TEXT,
            "duration_s": datasets.Value("float64"),
            "audio_sha256": _TEXT,
            "row": datasets.Value("int64"),
        }
    )


def rows(plan: LabelledPlan, shard: LabelledShard) -> Iterator[DatasetRow]:
    """The shard's rows, in the plan's order."""
    own = slice(shard.first, shard.last)
    for place, surveyed in zip(plan.places[own], plan.clips[own], strict=True):
        yield DatasetRow(CONFIG, _cells(plan, surveyed, place))


def _cells(plan: LabelledPlan, surveyed: DecodedClip, place: int) -> dict[str, Any]:
    clip = surveyed.clip
    try:
        data = clip.path.read_bytes()
    except OSError as error:
        raise BuildError(f"{clip.file_name}: {error.strerror}; it was there a while ago") from error
    if hashlib.sha256(data).hexdigest() != surveyed.file_sha256:
        raise BuildError(f"{clip.file_name} has changed since it was read; run again")
    recording = codec.read(data, name=clip.file_name)
    name = hashlib.sha256(clip.id.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    flac = codec.encode_flac(recording.pcm, recording.sampling_rate)
    return {
        "id": clip.id,
        "task": plan.task,
        "audio": {"bytes": flac, "path": f"{name}.flac"},  # a name that says nothing
        "label": plan.labels.index(clip.label),
        "text": clip.text,
        "cluster_id": clip.cluster,
        "speaker_id": clip.speaker_id or None,
        "source_id": clip.source_id or None,
        "transcript": clip.transcript,
        "duration_s": surveyed.duration_s,
        "audio_sha256": surveyed.audio_sha256,
        "row": place,
    }


def _features_of(plan: LabelledPlan, shard: LabelledShard) -> datasets.Features:
    return features(plan)


RECIPE = Recipe(rows, _features_of)


def build(plan: LabelledPlan, out: Path, **options: Any) -> FinishedBuild:
    """Writes the rows of a plan, see `builders.building.build_folder.build`."""
    return build_shards(RECIPE, plan, out, **options)
