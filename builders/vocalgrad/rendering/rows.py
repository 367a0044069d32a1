"""The columns of VocalGrad: each with its name, its type, and how it is computed.

To add a column: name it in `COLUMNS`, and raise `GENERATOR_VERSION`.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import datasets

from builders.building.build_folder import build as build_shards
from builders.building.finished import FinishedBuild
from builders.building.plan import DatasetRow, Recipe
from builders.vocalgrad.planning.plan import ClipShard, Plan, SurveyedClip
from builders.vocalgrad.planning.survey import decode, renderer_of
from otoscope.acoustics import codec
from otoscope.acoustics.design import CONDITIONS, LABELS, Condition
from otoscope.acoustics.gradients import attribute_of
from otoscope.acoustics.rendering import Rendering, SourceRenderer
from otoscope.prompts import prompt_text

LABEL_NAMES = ["decrease", "increase"]


@dataclass(frozen=True)
class FinishedClip:
    """All that the columns of one row are computed from.

    Attributes:
        surveyed: Its source.
        category, profile: `source` for an unmodified clip.
        clip_id: The published id.
        flac: The encoded sound.
        span: Of speech, in samples.
        row: Position in the published manifest order.
        generator_version: Of the plan.
        clipped_fraction: Share of samples beyond full scale.
        turned_down: Whether this clip alone was scaled down to fit full scale.
    """

    surveyed: SurveyedClip
    category: str
    profile: str
    clip_id: str
    flac: bytes
    span: tuple[int, int]
    row: int
    generator_version: str
    clipped_fraction: float = 0.0
    turned_down: bool = False

    @property
    def row_id(self) -> str:
        """Unique in the repository."""
        return f"{self.surveyed.source.split}-{self.category}-{self.clip_id}"


@dataclass(frozen=True, kw_only=True)
class ChangedClip(FinishedClip):
    """A clip made under a condition."""

    condition: Condition
    rendering: Rendering


class ClipColumn(NamedTuple):
    """A column: its type, and its value for a clip.

    Attributes:
        type: None for audio, whose type has the sampling rate.
        value: Of any clip.
        of_changed: Of a changed clip; the column is null for unmodified ones.
    """

    type: Any
    value: Callable[[FinishedClip], object] | None = None
    of_changed: Callable[[ChangedClip], object] | None = None


_TEXT, _NUMBER = datasets.Value("string"), datasets.Value("float64")


def _seconds(clip: FinishedClip, samples: int) -> float:
    return samples / clip.surveyed.sampling_rate


COLUMNS: dict[str, ClipColumn] = {
    "id": ClipColumn(_TEXT, lambda c: c.row_id),
    "audio": ClipColumn(None, lambda c: audio_of(c.row_id, c.flac)),
    "category": ClipColumn(_TEXT, lambda c: c.category),
    "attribute": ClipColumn(_TEXT, of_changed=lambda c: attribute_of(c.category)),
    "label": ClipColumn(
        datasets.ClassLabel(names=LABEL_NAMES),
        of_changed=lambda c: LABEL_NAMES.index(LABELS[c.condition.direction]),
    ),
    "prompt": ClipColumn(_TEXT, of_changed=lambda c: prompt_text("main", attribute_of(c.category))),
    "clip_id": ClipColumn(_TEXT, lambda c: c.clip_id),
    "direction": ClipColumn(_TEXT, of_changed=lambda c: c.condition.direction),
    "curve": ClipColumn(_TEXT, of_changed=lambda c: c.condition.curve),
    "tier": ClipColumn(_TEXT, of_changed=lambda c: c.condition.tier),
    "profile": ClipColumn(_TEXT, lambda c: c.profile),
    "source_id": ClipColumn(_TEXT, lambda c: c.surveyed.source.clip_id),
    "speaker_id": ClipColumn(_TEXT, lambda c: c.surveyed.source.speaker_id),
    "sentence_id": ClipColumn(_TEXT, lambda c: c.surveyed.source.sentence_id),
    "transcript": ClipColumn(_TEXT, lambda c: c.surveyed.source.transcript),
    "span_start_s": ClipColumn(_NUMBER, lambda c: _seconds(c, c.span[0])),
    "span_end_s": ClipColumn(_NUMBER, lambda c: _seconds(c, c.span[1])),
    "source_span_start_s": ClipColumn(_NUMBER, lambda c: _seconds(c, c.surveyed.span[0])),
    "source_span_end_s": ClipColumn(_NUMBER, lambda c: _seconds(c, c.surveyed.span[1])),
    "span_origin": ClipColumn(_TEXT, lambda c: c.surveyed.span_origin),
    "start_value": ClipColumn(_NUMBER, of_changed=lambda c: c.rendering.trajectory.start),
    "end_value": ClipColumn(_NUMBER, of_changed=lambda c: c.rendering.trajectory.end),
    "clipped_fraction": ClipColumn(_NUMBER, lambda c: c.clipped_fraction),
    "no_effect": ClipColumn(datasets.Value("bool"), of_changed=lambda c: c.rendering.no_effect),
    "generator_version": ClipColumn(_TEXT, lambda c: c.generator_version),
    "row": ClipColumn(datasets.Value("int64"), lambda c: c.row),
}
"""In the order of the files."""


def features(sampling_rate: int | None) -> datasets.Features:
    """Columns in order; `sampling_rate` in Hz, or None where clips differ."""
    audio = datasets.Audio(sampling_rate=sampling_rate)
    return datasets.Features({name: column.type or audio for name, column in COLUMNS.items()})


def audio_of(row_id: str, flac: bytes) -> dict[str, object]:
    """An audio cell whose file name gives nothing away about the clip."""
    return {"bytes": flac, "path": hashlib.sha256(row_id.encode()).hexdigest()[:16] + ".flac"}


def cells_of(clip: FinishedClip) -> dict[str, Any]:
    """The clip's row; columns that only changed clips have are absent for others."""
    cells = {name: c.value(clip) for name, c in COLUMNS.items() if c.value}
    if isinstance(clip, ChangedClip):
        cells |= {name: c.of_changed(clip) for name, c in COLUMNS.items() if c.of_changed}
    return cells


def rows(plan: Plan, shard: ClipShard) -> Iterator[DatasetRow]:
    """The shard's rows; those of one config come in their final order."""
    for surveyed in plan.sources_of(shard):
        recording = decode(surveyed)
        if shard.kind == "source":
            yield DatasetRow("source", cells_of(_unmodified(plan, surveyed, recording)))
            continue
        renderer = renderer_of(recording, surveyed.span)
        for category in shard.categories:
            config = "beep" if shard.kind == "beep" else category
            for k in surveyed.conditions(category, shard.conditions):
                clip = _changed(plan, surveyed, renderer, category, k)
                counts = {
                    "no_effect": clip.rendering.no_effect,
                    "clipped": clip.clipped_fraction > 0,
                    "turned_down": clip.turned_down,
                }
                yield DatasetRow(config, cells_of(clip), counts)


def _changed(
    plan: Plan, surveyed: SurveyedClip, renderer: SourceRenderer, category: str, k: int
) -> ChangedClip:
    condition, s = CONDITIONS[k], surveyed.source
    clip_id = condition.clip_id(s.item_id, s.clip_id)
    rendering = renderer.render(category, condition, clip_id=clip_id, profile=plan.profile)
    encoded = rendering.to_pcm()
    return ChangedClip(
        surveyed,
        category,
        plan.profile,
        clip_id,
        codec.encode_flac(encoded.pcm, surveyed.sampling_rate),
        rendering.span,
        s.position * len(CONDITIONS) + k,
        plan.generator_version,
        encoded.clipped_fraction,
        encoded.gain < 1,
        condition=condition,
        rendering=rendering,
    )


def _unmodified(plan: Plan, surveyed: SurveyedClip, recording: codec.Recording) -> FinishedClip:
    s = surveyed.source
    return FinishedClip(
        surveyed,
        "source",
        "source",
        f"{s.item_id}__{s.clip_id}",
        codec.encode_flac(recording.pcm, recording.sampling_rate),
        surveyed.span,
        s.position,
        plan.generator_version,
    )


def _features_of(plan: Plan, shard: ClipShard) -> datasets.Features:
    return features(plan.sampling_rate(shard.kind))


RECIPE = Recipe(rows, _features_of, counted=("no_effect", "clipped", "turned_down"))


def build(plan: Plan, out: Path, **options: Any) -> FinishedBuild:
    """Writes the rows of a plan, see `builders.building.build_folder.build`."""
    return build_shards(RECIPE, plan, out, **options)
