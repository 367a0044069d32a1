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
from builders.vocalgrad.planning.plan import ClipShard, SurveyedClip, VocalGradPlan
from builders.vocalgrad.planning.survey import decode, renderer_of
from otoscope.acoustics import codec
from otoscope.acoustics.design import CONDITIONS, LABELS, PUBLISHED_CATEGORIES, Condition
from otoscope.acoustics.gradients import attribute_of
from otoscope.acoustics.rendering import Rendering, SourceRenderer
from otoscope.prompts import prompt_text
from otoscope.prompts.labels import LABEL_NAMES


@dataclass(frozen=True)
class FinishedClip:
    """All that the columns of one row are computed from.

    Attributes:
        plan, surveyed: Of the build, and of its source.
        category: `source` for an unmodified clip.
        clip_id: The published id.
        flac: The encoded audio.
        span: Of speech, in samples.
        n_samples: Of the clip as it is stored.
        row: Position in the published manifest order; None for a category that was not published.
        condition, rendering: None for an unmodified clip.
        clipped_fraction: Share of samples beyond full scale.
        turned_down: Whether this clip alone was scaled down to fit full scale.
    """

    plan: VocalGradPlan
    surveyed: SurveyedClip
    category: str
    clip_id: str
    flac: bytes
    span: tuple[int, int]
    n_samples: int
    row: int | None
    condition: Condition | None = None
    rendering: Rendering | None = None
    clipped_fraction: float = 0.0
    turned_down: bool = False

    @property
    def row_id(self) -> str:
        """Unique in the repository."""
        return f"{self.surveyed.source.split}-{self.category}-{self.clip_id}"


class ClipColumn(NamedTuple):
    """A column.

    Attributes:
        type: None for audio, whose type has the sampling rate.
        value: From a `FinishedClip`.
        of_changed: Whether only changed clips have it; it is null for unmodified ones.
    """

    type: Any
    value: Callable[[Any], object]
    of_changed: bool = False


_TEXT, _NUMBER = datasets.Value("string"), datasets.Value("float64")


def _seconds(clip: FinishedClip, samples: int) -> float:
    return samples / clip.surveyed.sampling_rate


COLUMNS: dict[str, ClipColumn] = {
    "id": ClipColumn(_TEXT, lambda c: c.row_id),
    "audio": ClipColumn(None, lambda c: audio_of(c.row_id, c.flac)),
    "category": ClipColumn(_TEXT, lambda c: c.category),
    "attribute": ClipColumn(_TEXT, lambda c: attribute_of(c.category), of_changed=True),
    "label": ClipColumn(
        datasets.ClassLabel(names=list(LABEL_NAMES)),
        lambda c: LABEL_NAMES.index(LABELS[c.condition.direction]),
        of_changed=True,
    ),
    "prompt": ClipColumn(
        _TEXT, lambda c: prompt_text("main", attribute_of(c.category)), of_changed=True
    ),
    "clip_id": ClipColumn(_TEXT, lambda c: c.clip_id),
    "direction": ClipColumn(_TEXT, lambda c: c.condition.direction, of_changed=True),
    "curve": ClipColumn(_TEXT, lambda c: c.condition.curve, of_changed=True),
    "tier": ClipColumn(_TEXT, lambda c: c.condition.tier, of_changed=True),
    "profile": ClipColumn(_TEXT, lambda c: c.plan.profile if c.condition else c.category),
    "source_id": ClipColumn(_TEXT, lambda c: c.surveyed.source.clip_id),
    "speaker_id": ClipColumn(_TEXT, lambda c: c.surveyed.source.speaker_id),
    "sentence_id": ClipColumn(_TEXT, lambda c: c.surveyed.source.sentence_id),
    "transcript": ClipColumn(_TEXT, lambda c: c.surveyed.source.transcript),
    "span_start_s": ClipColumn(_NUMBER, lambda c: _seconds(c, c.span[0])),
    "span_end_s": ClipColumn(_NUMBER, lambda c: _seconds(c, c.span[1])),
    "source_span_start_s": ClipColumn(_NUMBER, lambda c: _seconds(c, c.surveyed.span[0])),
    "source_span_end_s": ClipColumn(_NUMBER, lambda c: _seconds(c, c.surveyed.span[1])),
    "span_origin": ClipColumn(_TEXT, lambda c: c.surveyed.span_origin),
    "start_value": ClipColumn(_NUMBER, lambda c: c.rendering.trajectory.start, of_changed=True),
    "end_value": ClipColumn(_NUMBER, lambda c: c.rendering.trajectory.end, of_changed=True),
    "parameters": ClipColumn(
        datasets.List({"parameter": _TEXT, "start": _NUMBER, "end": _NUMBER}),
        lambda c: [applied._asdict() for applied in c.rendering.applied],
        of_changed=True,
    ),
    "noise_seed": ClipColumn(
        datasets.Value("uint64"), lambda c: c.rendering.noise_seed, of_changed=True
    ),
    "duration_s": ClipColumn(_NUMBER, lambda c: _seconds(c, c.n_samples)),
    "clipped_fraction": ClipColumn(_NUMBER, lambda c: c.clipped_fraction),
    "no_effect": ClipColumn(
        datasets.Value("bool"), lambda c: c.rendering.no_effect, of_changed=True
    ),
    "generator_version": ClipColumn(_TEXT, lambda c: c.plan.generator_version),
    "row": ClipColumn(datasets.Value("int64"), lambda c: c.row),
}
"""In the order of the files."""


def features(sampling_rate: int | None) -> datasets.Features:
    """Columns in order; `sampling_rate` in Hz, or None where clips differ."""
    audio = datasets.Audio(sampling_rate=sampling_rate)
    return datasets.Features({name: column.type or audio for name, column in COLUMNS.items()})


def audio_of(row_id: str, flac: bytes) -> dict[str, object]:
    """The value of `audio`; its file name says nothing about the clip."""
    return {"bytes": flac, "path": hashlib.sha256(row_id.encode()).hexdigest()[:16] + ".flac"}


def cells_of(clip: FinishedClip) -> dict[str, Any]:
    """The clip's row, without the columns that it does not have."""
    changed = clip.condition is not None
    return {n: c.value(clip) for n, c in COLUMNS.items() if changed or not c.of_changed}


def rows(plan: VocalGradPlan, shard: ClipShard) -> Iterator[DatasetRow]:
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
                cells = cells_of(clip)
                counts = {
                    "no_effect": cells["no_effect"],
                    "clipped": clip.clipped_fraction > 0,
                    "turned_down": clip.turned_down,
                    "microseconds": round(1e6 * cells["duration_s"]),
                    "samples": clip.n_samples * surveyed.n_channels,
                    "clipped_samples": round(
                        clip.clipped_fraction * clip.n_samples * surveyed.n_channels
                    ),
                }
                yield DatasetRow(config, cells, counts)


def _changed(
    plan: VocalGradPlan, surveyed: SurveyedClip, renderer: SourceRenderer, category: str, k: int
) -> FinishedClip:
    condition, s = CONDITIONS[k], surveyed.source
    clip_id = condition.clip_id(s.item_id, s.clip_id)
    made = renderer.render(category, condition, clip_id=clip_id, profile=plan.profile)
    encoded = made.to_pcm()
    flac = codec.encode_flac(encoded.pcm, surveyed.sampling_rate)
    published = category in PUBLISHED_CATEGORIES
    row = s.position * len(CONDITIONS) + k if published else None
    return FinishedClip(
        plan, surveyed, category, clip_id, flac, made.span, encoded.pcm.shape[1], row, condition,
        made, encoded.clipped_fraction, encoded.gain < 1,
    )  # fmt: skip


def _unmodified(
    plan: VocalGradPlan, surveyed: SurveyedClip, recording: codec.Recording
) -> FinishedClip:
    s = surveyed.source
    flac = codec.encode_flac(recording.pcm, recording.sampling_rate)
    clip_id = f"{s.item_id}__{s.clip_id}"
    n = surveyed.n_samples
    return FinishedClip(plan, surveyed, "source", clip_id, flac, surveyed.span, n, s.position)


def _features_of(plan: VocalGradPlan, shard: ClipShard) -> datasets.Features:
    return features(plan.sampling_rate(shard.kind))


COUNTED = (
    "no_effect", "clipped", "turned_down", "microseconds", "samples", "clipped_samples",
)  # fmt: skip
"""Of changed clips: how many, their length, and samples of all their channels."""

RECIPE = Recipe(rows, _features_of, counted=COUNTED)


def build(plan: VocalGradPlan, out: Path, **options: Any) -> FinishedBuild:
    """Writes the rows of a plan, see `builders.building.build_folder.build`."""
    return build_shards(RECIPE, plan, out, **options)
