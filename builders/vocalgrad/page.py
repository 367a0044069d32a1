"""One page to look at and listen to a build: counts, observer, confounds, an example of each."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from builders.corpora.base import Corpus
from builders.vocalgrad.confounds_of_build import COLUMNS, ConfoundReport
from builders.vocalgrad.describe import left_out
from builders.vocalgrad.heat import heat_table
from builders.vocalgrad.making import Built
from builders.vocalgrad.observe import ObserverRow, Rate, Report
from builders.vocalgrad.plan import SPLITS, Plan, Surveyed
from builders.vocalgrad.shards import making_folder
from builders.vocalgrad.stored import stored_rows
from otoscope.acoustics import codec
from otoscope.acoustics.design import DIRECTIONS, LABELS, Condition
from otoscope.acoustics.gradients import GRADIENTS, attribute_of, beep_categories
from otoscope.acoustics.rendering import Rendering, SourceRenderer
from otoscope.acoustics.spans import Span
from otoscope.prompts import ask
from otoscope.reports import figures
from otoscope.reports.html import data_uri, render, write

TEMPLATES = Path(__file__).parent / "templates"
CURVE = "linear"
TIERS_TO_SHOW = ("high", "low")  # as many as fit; the first always
MAX_EXAMPLE_BYTES = 600_000  # of PCM; 6 s at 48 kHz
MAX_SOUND_BYTES = 6_000_000  # as text a third more; with beeps and pictures under 12 MB
FEW_CLIPS = 20  # below, a share says little and is drawn in grey


class Shown(NamedTuple):
    """A stored clip with what made it: its row, its sound, and how its parameter moves."""

    row: dict[str, Any]
    samples: np.ndarray
    sound: figures.Spectrogram
    rendering: Rendering


def write_page(built: Built, corpus: Corpus, report: Report, confounds: ConfoundReport) -> Path:
    """Writes `index.html` into the dataset folder.

    Sounds are the very bytes of the dataset's Parquet files. The example is the one that
    `example_source` names.

    Args:
        built: A finished build.
        corpus: Where its sources come from.
        report: What the observer found.
        confounds: What else tells the label.

    Returns:
        The page's path.
    """
    example = example_source(built.plan)
    row_id = f"{example.source.split}-source-{example.source.item_id}__{example.source.clip_id}"
    row = stored_rows(built, "source", [row_id])[row_id]
    recording = codec.read(row["audio"]["bytes"], name=row_id)
    cards, tiers = _cards(built, example, recording)
    values = {
        "title": f"VocalGrad from {corpus.name}",
        "built": built,
        "plan": built.plan,
        "corpus": corpus,
        "rates": sorted({s.sampling_rate for s in built.plan.sources}),
        "splits": [split for split in SPLITS if built.plan.of_split(split)],
        "counts": counts(built),
        "skipped": left_out(built, corpus),
        "report": report,
        "observer": observer_groups(report.rows),
        "axis": figures.whisker_axis(),
        "few": FEW_CLIPS,
        "confounds": confounds,
        "heat": [
            (name, heat_table({"": part}))
            for name, part in (("all tiers", confounds.all_tiers), ("high tier", confounds.widest))
            if part.rows
        ],
        "contrasts": COLUMNS,
        "example": example,
        "source_audio": _audio(row),
        "tiers": tiers,
        "curve": CURVE,
        "range_db": figures.RANGE_DB,
        "cards": cards,
        "beeps": _beeps(built),
        "attribute_of": attribute_of,
        "margins": figures.MARGINS,
    }
    text = render("build.html.jinja", values, folder=TEMPLATES)
    return write(built.folder / "index.html", text, via=making_folder(built.folder))


def example_source(plan: Plan) -> Surveyed:
    """The source the page shows: the first of the first split with a detected span.

    Sources too long for a page are passed over while there are others.
    """
    ordered = [s for split in SPLITS for s in plan.of_split(split)]
    first_split = [s for s in ordered if s.source.split == ordered[0].source.split]
    detected = [s for s in first_split if s.span_origin == "detected"] or first_split
    short = [s for s in detected if _pcm_bytes(s) <= MAX_EXAMPLE_BYTES]
    return short[0] if short else min(detected, key=_pcm_bytes)


def _pcm_bytes(s: Surveyed) -> int:
    return s.n_samples * s.n_channels * 2


def counts(built: Built) -> list[dict[str, Any]]:
    """Clips by category and split, without effect, and clipped, as the files' records say."""
    present = {file["config"] for file in built.files.values()}
    return [
        {
            "config": config,
            "kind": "gradient" if config in built.plan.categories else config,
            "rows": {
                split: sum(f["rows"] for f in files if f["split"] == split) for split in SPLITS
            },
            **{key: sum(f[key] for f in files) for key in ("no_effect", "clipped")},
        }
        for config in (*built.plan.categories, "source", "beep")
        if config in present
        for files in [[f for f in built.files.values() if f["config"] == config]]
    ]


def observer_groups(rows: Sequence[ObserverRow]) -> dict[str, list[dict[str, Any]]]:
    """The observer's rows by category, each with its picture."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        strip = figures.whiskers([_estimate(row.alone), _estimate(row.with_source)])
        shown = {"row": row, "strip": strip, "few": row.n < FEW_CLIPS}
        groups.setdefault(row.category, []).append(shown)
    return groups


def _estimate(rate: Rate) -> figures.Estimate:
    return figures.Estimate(rate.share, rate.low, rate.high)


def _cards(
    built: Built, example: Surveyed, recording: codec.Recording
) -> tuple[list[dict[str, Any]], list[str]]:
    """A card for each category, and the tiers whose sounds fit on the page."""
    source = SourceRenderer(
        recording.pcm, recording.sampling_rate, Span(*example.span), bit_depth=example.bit_depth
    )
    by_tier: dict[str, list[dict[str, Shown]]] = {}
    size = 0
    for tier in TIERS_TO_SHOW:
        shown = [_shown(built, example, source, c, tier) for c in built.plan.categories]
        size += sum(len(clip.row["audio"]["bytes"]) for pair in shown for clip in pair.values())
        if by_tier and size > MAX_SOUND_BYTES:
            break
        by_tier[tier] = shown
    tiers = list(by_tier)
    cards = [
        _card(
            built.plan.profile,
            category,
            example,
            recording,
            {tier: by_tier[tier][i] for tier in tiers},
        )
        for i, category in enumerate(built.plan.categories)
    ]
    return cards, tiers


def _shown(
    built: Built, surveyed: Surveyed, source: SourceRenderer, category: str, tier: str
) -> dict[str, Shown]:
    """The up and the down clip of a category; neither where the profile leaves them out."""
    if any((name, without) == (category, tier) for name, without, _ in surveyed.left_out):
        return {}
    s = surveyed.source
    clip_ids = {d: Condition(tier, CURVE, d).clip_id(s.item_id, s.clip_id) for d in DIRECTIONS}
    ids = {d: f"{s.split}-{category}-{clip_id}" for d, clip_id in clip_ids.items()}
    rows = stored_rows(built, category, ids.values())
    shown = {}
    for d in DIRECTIONS:
        row, cell = rows[ids[d]], Condition(tier, CURVE, d)
        samples = _mono(codec.read(row["audio"]["bytes"], name=ids[d]))
        sound = figures.spectrogram(samples, source.sampling_rate)
        made = source.render(category, cell, clip_id=clip_ids[d], profile=built.plan.profile)
        shown[d] = Shown(row, samples, sound, made)
    return shown


def _card(
    profile: str,
    category: str,
    example: Surveyed,
    recording: codec.Recording,
    shown: dict[str, dict[str, Shown]],
) -> dict[str, Any]:
    attribute, rate = attribute_of(category), recording.sampling_rate
    original = _mono(recording)
    sound = figures.spectrogram(original, rate)
    clips = [clip for pair in shown.values() for clip in pair.values()]
    sounds = [sound, *(clip.sound for clip in clips)]
    waves = [original, *(clip.samples for clip in clips)]
    scales = figures.Scales(
        duration_s=max(s.duration_s for s in sounds),
        loudest_db=max(float(s.level_db.max()) for s in sounds),
        peak=max(float(np.abs(wave).max()) for wave in waves) or 1.0,
    )
    span_s = example.span[0] / rate, example.span[1] / rate
    return {
        "category": category,
        "attribute": attribute,
        "question": ask("main", attribute),
        "moves": GRADIENTS[category].description_in(profile),
        "left_out": [reason for name, _, reason in example.left_out if name == category],
        "parameter": GRADIENTS[category].parameter,
        "source_figure": figures.clip_figure(
            original,
            rate,
            sound=sound,
            span_s=span_s,
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
                "audio": _audio(clip.row),
                "figure": _clip_figure(category, clip, example.span, rate, scales),
            }
            for tier, pair in shown.items()
            for direction, clip in pair.items()
        ],
    }


def _clip_figure(
    category: str, clip: Shown, source_span: tuple[int, int], rate: int, scales: figures.Scales
) -> Markup:
    row, made = clip.row, clip.rendering
    times_s, values = heard_curve(category, made, source_span, rate)
    low, high = sorted((made.trajectory.start, made.trajectory.end))
    alt = (
        f"Spectrogram, {row['attribute']} {row['direction']}, {row['tier']} tier: "
        f"{GRADIENTS[category].parameter} from {row['start_value']:.4g} to {row['end_value']:.4g}"
    )
    return figures.clip_figure(
        clip.samples, rate, sound=clip.sound, span_s=(row["span_start_s"], row["span_end_s"]),
        curve=figures.Curve(times_s, values, GRADIENTS[category].parameter),
        value_range=(low, high), alt=alt, scales=scales,
    )  # fmt: skip


def heard_curve(
    category: str, made: Rendering, source_span: tuple[int, int], rate: int
) -> tuple[np.ndarray, np.ndarray]:
    """The parameter over the time of the changed clip, to the end of its span.

    A rendering gives it over source time. The two differ where speaking speed moves: a stretch of
    source lasts the shorter, the faster it is spoken.
    """
    edges = np.append(made.parameter_s, source_span[1] / rate)
    slowness = 1 / made.parameter if category == "speaking_speed" else np.ones(made.parameter.size)
    passed = np.concatenate([[0.0], np.cumsum(np.diff(edges) * slowness)])
    start, end = made.span.start / rate, made.span.end / rate
    times_s = start + passed * (end - start) / passed[-1]
    return times_s, np.append(made.parameter, made.parameter[-1])


def _beeps(built: Built) -> Iterator[dict[str, Any]]:
    """Up and down players for each beep category of the build, of its first beep."""
    if not built.plan.beeps:
        return
    beep = built.plan.beeps[0]
    s = beep.source
    for category in (c for c in beep_categories(built.plan.profile) if c in built.plan.categories):
        ids = [
            f"{s.split}-{category}-{Condition('high', CURVE, d).clip_id(s.item_id, s.clip_id)}"
            for d in DIRECTIONS
        ]
        rows = stored_rows(built, "beep", ids)
        yield {
            "attribute": attribute_of(category),
            "clips": [{"row": rows[i], "audio": _audio(rows[i])} for i in ids],
        }


def _audio(row: dict[str, Any]) -> str:
    return data_uri(row["audio"]["bytes"], "audio/flac")


def _mono(recording: codec.Recording) -> np.ndarray:
    return codec.to_float(recording.pcm).mean(axis=0)
