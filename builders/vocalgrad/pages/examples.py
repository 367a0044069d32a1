"""The example on a build's page: one source in every category, with pictures and players."""

from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from builders.building.finished import FinishedBuild, stored_rows
from builders.splits import SORTED_SPLITS
from builders.vocalgrad.pages import clip_figures
from builders.vocalgrad.planning.plan import SurveyedClip, VocalGradPlan
from builders.vocalgrad.planning.survey import renderer_of
from otoscope.acoustics import codec
from otoscope.acoustics.design import DIRECTIONS, LABELS, Condition
from otoscope.acoustics.gradients import GRADIENTS, attribute_of
from otoscope.acoustics.rendering import Rendering, SourceRenderer
from otoscope.prompts import prompt_text
from otoscope.reports.writing import data_uri

CURVE = "linear"
SHOWN_TIERS = ("high", "mid", "low")  # as many as fit; the first always
MAX_EXAMPLE_BYTES = 300_000  # of PCM; 3.1 s at 48 kHz, 6 s at 24 kHz: all tiers fit
MAX_AUDIO_BYTES = 12_000_000  # as text a third more; with beeps and pictures under 20 MB


class ExampleClip(NamedTuple):
    """A stored clip: its row, its samples and spectrogram, and how its parameter moves."""

    row: dict[str, Any]
    samples: np.ndarray
    spectrogram: clip_figures.Spectrogram
    rendering: Rendering


def example_source(plan: VocalGradPlan) -> SurveyedClip:
    """The source the page shows: the first of the first split with a detected span.

    Sources too long for all tiers to fit on a page are passed over while there are others; where
    all are, the shortest is shown.
    """
    ordered = [s for split in SORTED_SPLITS for s in plan.of_split(split)]
    first_split = [s for s in ordered if s.source.split == ordered[0].source.split]
    detected = [s for s in first_split if s.span_origin == "detected"] or first_split
    short = [s for s in detected if s.pcm_bytes <= MAX_EXAMPLE_BYTES]
    return short[0] if short else min(detected, key=lambda s: s.pcm_bytes)


def example_cards(
    build: FinishedBuild, plan: VocalGradPlan, example: SurveyedClip, recording: codec.Recording
) -> tuple[list[dict[str, Any]], list[str]]:
    """A card for each category, and the tiers whose audio fits on the page."""
    renderer = renderer_of(recording, example.span)
    by_tier: dict[str, list[dict[str, ExampleClip]]] = {}
    size = 0
    for tier in SHOWN_TIERS:
        pairs = [_pair(build, plan, example, renderer, c, tier) for c in plan.categories]
        size += sum(len(clip.row["audio"]["bytes"]) for pair in pairs for clip in pair.values())
        if by_tier and size > MAX_AUDIO_BYTES:
            break
        by_tier[tier] = pairs
    cards = [
        _card(plan.profile, category, example, recording, {t: by_tier[t][i] for t in by_tier})
        for i, category in enumerate(plan.categories)
    ]
    return cards, list(by_tier)


def _pair(
    build: FinishedBuild,
    plan: VocalGradPlan,
    example: SurveyedClip,
    renderer: SourceRenderer,
    category: str,
    tier: str,
) -> dict[str, ExampleClip]:
    """The up and the down clip of a category; neither where the profile omits them."""
    if any((name, without) == (category, tier) for name, without, _ in example.omitted):
        return {}
    s = example.source
    conditions = {d: Condition(tier, CURVE, d) for d in DIRECTIONS}
    clip_ids = {d: c.clip_id(s.item_id, s.clip_id) for d, c in conditions.items()}
    ids = {d: f"{s.split}-{category}-{clip_id}" for d, clip_id in clip_ids.items()}
    rows = stored_rows(build, category, ids.values())
    pair = {}
    for d, condition in conditions.items():
        samples = _mono(codec.read(rows[ids[d]]["audio"]["bytes"], name=ids[d]))
        pair[d] = ExampleClip(
            rows[ids[d]],
            samples,
            clip_figures.spectrogram_of(samples, renderer.sampling_rate),
            renderer.render(category, condition, clip_id=clip_ids[d], profile=plan.profile),
        )
    return pair


def _card(
    profile: str,
    category: str,
    example: SurveyedClip,
    recording: codec.Recording,
    pairs: dict[str, dict[str, ExampleClip]],
) -> dict[str, Any]:
    attribute, rate = attribute_of(category), recording.sampling_rate
    original = _mono(recording)
    spectrogram = clip_figures.spectrogram_of(original, rate)
    clips = [clip for pair in pairs.values() for clip in pair.values()]
    spectrograms = [spectrogram, *(clip.spectrogram for clip in clips)]
    waves = [original, *(clip.samples for clip in clips)]
    scales = clip_figures.Scales(
        duration_s=max(s.duration_s for s in spectrograms),
        loudest_db=max(float(s.level_db.max()) for s in spectrograms),
        peak=max(float(np.abs(wave).max()) for wave in waves) or 1.0,
    )
    return {
        "category": category,
        "attribute": attribute,
        "question": prompt_text("main", attribute),
        "description": GRADIENTS[category].description_in(profile),
        "omitted": [(t, reason) for name, t, reason in example.omitted if name == category],
        "parameter": GRADIENTS[category].parameter,
        "source_figure": clip_figures.clip_figure(
            original,
            rate,
            spectrogram=spectrogram,
            span_s=(example.span[0] / rate, example.span[1] / rate),
            scales=scales,
            alt="Spectrogram of the source",
        ),
        "duration_s": scales.duration_s,
        "variants": [
            {
                "tier": tier,
                "direction": direction,
                "label": LABELS[direction],
                "row": clip.row,
                "audio": audio_uri(clip.row),
                "figure": _clip_figure(category, clip, example.span, rate, scales),
            }
            for tier, pair in pairs.items()
            for direction, clip in pair.items()
        ],
    }


def _clip_figure(
    category: str,
    clip: ExampleClip,
    source_span: tuple[int, int],
    rate: int,
    scales: clip_figures.Scales,
) -> Markup:
    row, rendering = clip.row, clip.rendering
    times_s, values = parameter_curve(category, rendering, source_span, rate)
    low, high = sorted((rendering.trajectory.start, rendering.trajectory.end))
    alt = (
        f"Spectrogram, {row['attribute']} {row['direction']}, {row['tier']} tier: "
        f"{GRADIENTS[category].parameter} from {row['start_value']:.4g} to {row['end_value']:.4g}"
    )
    return clip_figures.clip_figure(
        clip.samples, rate, spectrogram=clip.spectrogram,
        span_s=(row["span_start_s"], row["span_end_s"]),
        curve=clip_figures.Curve(times_s, values, GRADIENTS[category].parameter),
        value_range=(low, high), alt=alt, scales=scales,
    )  # fmt: skip


def parameter_curve(
    category: str, rendering: Rendering, source_span: tuple[int, int], rate: int
) -> tuple[np.ndarray, np.ndarray]:
    """The parameter over the time of the changed clip, to the end of its span.

    A rendering has it over source time. The two differ where speaking speed moves: a stretch of
    source lasts the shorter, the faster it is spoken.
    """
    edges, values = np.append(rendering.parameter_s, source_span[1] / rate), rendering.parameter
    slowness = 1 / values if category == "speaking_speed" else np.ones(values.size)
    passed = np.concatenate([[0.0], np.cumsum(np.diff(edges) * slowness)])
    start, end = rendering.span.start / rate, rendering.span.end / rate
    times_s = start + passed * (end - start) / passed[-1]
    return times_s, np.append(values, values[-1])


def audio_uri(row: dict[str, Any]) -> str:
    """The row's FLAC bytes for a player."""
    return data_uri(row["audio"]["bytes"], "audio/flac")


def _mono(recording: codec.Recording) -> np.ndarray:
    return codec.to_float(recording.pcm).mean(axis=0)
