"""The sentences that a study's page begins with; each number is one of the tables below them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from otoscope.probes.files import UNBALANCED, unbalanced_note
from otoscope.probes.predictions import CONVERGED, PROBE
from otoscope.probes.table import ALL
from otoscope.reports.inside.columns import StudyRow, category_rank
from otoscope.reports.inside.decodable import decodable_rows
from otoscope.reports.inside.reading import BASE, StudyResults, model_name, tuned_category
from otoscope.reports.inside.tables import STAGES, stage_rows
from otoscope.reports.tables import per_cent

STAGE_NAMES = {
    "mel": "the mel spectrogram",
    "pre_llm": "what enters the decoder",
    "audio.last": "the last layer at the clip's tokens",
    "text.last": "the last layer where the answer is predicted",
}


def findings(study: StudyResults) -> list[str]:
    """Sentences about the base, about fine-tuning, and on how far probes can be trusted."""
    return [*_gap(study), *_stages(study), *_tuned(study), *_angles(study), *_cautions(study)]


def _gap(study: StudyResults) -> Iterator[str]:
    """What the base decodes and does not answer, at its last layer."""
    known = ("decodable", "answered", "decodable_minus_answered_low")
    own = [
        row
        for row in decodable_rows(study)
        if row["key"] == BASE and None not in [row.get(key) for key in known]
    ]
    last = max((row["layer"] for row in own), default=None)
    at_last = {row["category"]: row for row in own if row["layer"] == last}
    if (mean := at_last.get(ALL)) is not None:
        yield (
            f"Over all categories a linear probe on the last layer is correct on "
            f"{_share(mean, 'decodable')} of the clips, the model's own answers on "
            f"{_share(mean, 'answered')}: {_points(mean, 'decodable_minus_answered')}."
        )
    by_gap = sorted(
        (row for name, row in at_last.items() if name != ALL),
        key=lambda row: (-row["decodable_minus_answered"], category_rank(study, row["category"])),
    )
    clear = [row for row in by_gap if row["decodable_minus_answered_low"] > 0]
    if clear:
        listed = "; ".join(
            f"{_name(row)} {_share(row, 'decodable')} against {_share(row, 'answered')}"
            for row in clear
        )
        yield f"More is decodable than answered (the interval is above 0) for {listed}."
    elif by_gap:
        yield "In no category is more decodable than answered beyond the interval."


def _stages(study: StudyResults) -> Iterator[str]:
    """Probe accuracy of the base along its stages."""
    at = {
        row["stage"]: row
        for row in stage_rows(study)
        if row["key"] == BASE and row["category"] == ALL
    }
    path = [f"{STAGE_NAMES[s]} {_share(at[s], 'accuracy')}" for s in STAGES if s in at]
    if len(path) > 1:
        yield f"Linear-probe accuracy along the way, over all categories: {', '.join(path)}."


def _tuned(study: StudyResults) -> Iterator[str]:
    """What fine-tuning on a category did to answers about it, and to the others."""
    rows = {(row["key"], row["category"]): row for row in study.answered}
    for model in study.models:
        category = tuned_category(model)
        own = rows.get((model, category))
        if not category or own is None or "change" not in own:
            continue
        others = [
            row["change"] for (key, tested), row in rows.items()
            if key == model and tested not in (category, ALL) and row.get("change") is not None
        ]  # fmt: skip
        mean = sum(others) / max(1, len(others))
        rest = f"; the others change by {_signed(mean)} points on average"
        yield (
            f"{model_name(model).capitalize()}, answers about it are correct on "
            f"{_share(own, 'accuracy')} ({_points(own, 'change', 'from the base')})"
            f"{rest if others else ''}."
        )


def _angles(study: StudyResults) -> Iterator[str]:
    """Mean absolute cosine of the base at its last layer, beside the random null."""
    last = {model: found for (model, _), found in study.alignments.items()}
    if (base := last.get(BASE)) is not None:
        yield (
            "Directions of change of two categories have a mean |cosine| of "
            f"{base.absolute.estimate:.2f} at the last layer, "
            f"{base.random_null:.2f} if directions were random."
        )


def _cautions(study: StudyResults) -> Iterator[str]:
    every = [row for rows in study.probes.values() for row in rows]
    single = [row for row in every if row["category"] != ALL]
    n_behind = sum(row["method"] == CONVERGED for row in single)
    if n_behind:
        n = sum(row["method"] == PROBE for row in single)
        yield (
            f"Not converged: {n_behind} of {n} probes ended, after the steps of the published "
            "recipe, before their training loss was least; the tables give the accuracy with more "
            "steps beside, and it may be much higher."
        )
    majority = max((row.get("majority") or 0.0 for row in every), default=0.0)
    if majority > UNBALANCED:
        yield unbalanced_note(majority)


def _name(row: StudyRow) -> str:
    return str(row["category"]).replace("_", " ")


def _share(row: Mapping[str, Any], key: str) -> str:
    ends: Sequence[float | None] = [row.get(f"{key}_low"), row.get(f"{key}_high")]
    text = f"{per_cent(row[key])} %"
    if None in ends:
        return text
    return f"{text} [{per_cent(ends[0])}, {per_cent(ends[1])}]"


def _points(row: Mapping[str, Any], key: str, what: str = "") -> str:
    low, high = (_signed(row[f"{key}_{end}"]) for end in ("low", "high"))
    return f"{_signed(row[key])} points [{low}, {high}]{' ' if what else ''}{what}"


def _signed(share: float) -> str:
    """A difference in points with its sign.

    >>> _signed(0.125), _signed(-0.03)
    ('+12.5', '−3.0')
    """
    return f"{'−' if share < 0 else '+'}{per_cent(abs(share))}"
