"""One page of a build: counts, observer, confounds, an example of each category with its audio."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from builders.building.finished import FinishedBuild, stored_rows
from builders.building.folder import staging_folder
from builders.splits import SORTED_SPLITS
from builders.vocalgrad.measuring.build_confounds import CONFOUND_COLUMNS, ConfoundReport
from builders.vocalgrad.measuring.observer_accuracy import ObserverReport, Rate, TierAccuracy
from builders.vocalgrad.pages import clip_figures
from builders.vocalgrad.pages.card import omitted_sources
from builders.vocalgrad.pages.examples import (
    CURVE,
    SHOWN_TIERS,
    audio_uri,
    example_cards,
    example_source,
)
from builders.vocalgrad.pages.heat import heat_table
from builders.vocalgrad.planning.build_plan import PlannedBuild
from builders.vocalgrad.planning.plan import VocalGradPlan
from otoscope.acoustics import codec
from otoscope.acoustics.contrasts import contrast_title
from otoscope.acoustics.design import CONDITIONS, DIRECTIONS, TIERS, Condition
from otoscope.acoustics.gradients import attribute_of, beep_categories
from otoscope.reports import strips
from otoscope.reports.strips import Mark
from otoscope.reports.writing import render, write

TEMPLATES = Path(__file__).parent / "templates"
FEW_CLIPS = 20  # below, a share is imprecise and is drawn in grey


def write_page(
    build: FinishedBuild, planned: PlannedBuild, observer: ObserverReport, confounds: ConfoundReport
) -> Path:
    """Writes `index.html` into the dataset folder; returns its path.

    The audio is the very bytes of the dataset's Parquet files. The example is the one that
    `example_source` names.
    """
    plan, _, corpus = planned
    example = example_source(plan)
    row_id = f"{example.source.split}-source-{example.source.item_id}__{example.source.clip_id}"
    row = stored_rows(build, "source", [row_id])[row_id]
    recording = codec.read(row["audio"]["bytes"], name=row_id)
    cards, tiers = example_cards(build, plan, example, recording)
    values = {
        "title": f"VocalGrad from {corpus.name}",
        "plan": plan,
        "corpus": corpus,
        "rates": sorted({s.sampling_rate for s in plan.sources}),
        "splits": [split for split in SORTED_SPLITS if plan.of_split(split)],
        "counts": counts(build, plan),
        "skipped": omitted_sources(planned),
        "report": observer,
        "observer": observer_groups(observer.rows, plan),
        "omitted": _omitted(plan),
        "swatch": [strips.swatch(0), strips.swatch(1)],
        "few": FEW_CLIPS,
        "confounds": confounds,
        "heat": [
            (name, heat_table({"": part}))
            for name, part in (("all tiers", confounds.all_tiers), ("high tier", confounds.widest))
            if part.rows
        ],
        "contrasts": list(map(contrast_title, CONFOUND_COLUMNS)),
        "example": example,
        "source_audio": audio_uri(row),
        "tiers": tiers,
        "left_out": [tier for tier in SHOWN_TIERS if tier not in tiers],
        "curve": CURVE,
        "range_db": clip_figures.RANGE_DB,
        "cards": cards,
        "beeps": _beeps(build, plan),
        "attribute_of": attribute_of,
        "margins": clip_figures.MARGINS,
    }
    text = render("build.html.jinja", values, folder=TEMPLATES)
    return write(build.folder / "index.html", text, via=staging_folder(build.folder))


def counts(build: FinishedBuild, plan: VocalGradPlan) -> list[dict[str, Any]]:
    """Clips by category and split, without effect, and clipped, as the files' records have them."""
    found = []
    for config in (*plan.categories, "source", "beep"):
        if files := [f for f in build.files.values() if f["config"] == config]:
            rows = {s: sum(f["rows"] for f in files if f["split"] == s) for s in SORTED_SPLITS}
            found.append(
                {
                    "config": config,
                    "kind": "gradient" if config in plan.categories else config,
                    "rows": rows,
                    **{key: sum(f[key] for f in files) for key in ("no_effect", "clipped")},
                }
            )
    return found


def _omitted(plan: VocalGradPlan) -> list[dict[str, Any]]:
    """Conditions that the profile does not make, by category and reason."""
    n_each = len(CONDITIONS) // len(TIERS)
    counted = Counter((o.category, o.reason) for s in plan.sources for o in s.omitted)
    return [
        {"attribute": attribute_of(category), "reason": reason, "n": n * n_each}
        for (category, reason), n in counted.items()
    ]


def why_empty(row: TierAccuracy, plan: VocalGradPlan) -> str:
    """Why the observer has no accuracy in a category and tier; empty where it has one."""
    if row.n:
        return ""
    if row.n_no_effect:
        return "changes nothing at these sampling rates"
    reasons = Counter(
        o.reason for s in plan.sources for o in s.omitted if o[:2] == (row.category, row.tier)
    )
    return f"not made: {reasons.most_common(1)[0][0]}" if reasons else "none among those measured"


def observer_groups(
    rows: Sequence[TierAccuracy], plan: VocalGradPlan
) -> dict[str, list[dict[str, Any]]]:
    """The observer's rows by category, each with its picture, or why it has none."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        strip = accuracy_strip([row.alone, row.with_source])
        few, empty = row.n < FEW_CLIPS, why_empty(row, plan)
        line = {"row": row, "strip": strip, "few": few, "empty": empty}
        groups.setdefault(row.category, []).append(line)
    return groups


def accuracy_strip(rates: Sequence[Rate]) -> Markup:
    """A line for each rate, with its interval."""
    marks = [Mark(rate.share, rate.low, rate.high, i) for i, rate in enumerate(rates)]
    return strips.strip([[mark] for mark in marks], width="180")


def _beeps(build: FinishedBuild, plan: VocalGradPlan) -> Iterator[dict[str, Any]]:
    """Up and down players for each beep category of the build, of its first beep."""
    if not plan.beeps:
        return
    s = plan.beeps[0].source
    for category in (c for c in plan.categories if c in beep_categories(plan.profile)):
        ids = [
            f"{s.split}-{category}-{Condition('high', CURVE, d).clip_id(s.item_id, s.clip_id)}"
            for d in DIRECTIONS
        ]
        rows = stored_rows(build, "beep", ids)
        yield {
            "attribute": attribute_of(category),
            "clips": [{"row": rows[i], "audio": audio_uri(rows[i])} for i in ids],
        }
