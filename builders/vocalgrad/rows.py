"""The columns of a perception dataset, and one row of it."""

import hashlib

import datasets

from otoscope.acoustics.gradients import attribute_of
from otoscope.acoustics.trajectories import LABELS
from otoscope.prompts import ask

LABEL_NAMES = ["decrease", "increase"]
STRINGS = (
    "category", "attribute", "prompt", "clip_id", "direction", "curve", "tier", "profile",
    "source_id", "speaker_id", "sentence_id", "transcript",
)  # fmt: skip
SPAN_SECONDS = ("span_start_s", "span_end_s", "source_span_start_s", "source_span_end_s")


def features(sampling_rate: int | None) -> datasets.Features:
    """Columns in order; `sampling_rate` in Hz, or None where clips differ."""
    text, number = datasets.Value("string"), datasets.Value("float64")
    return datasets.Features(
        {
            "id": text,
            "audio": datasets.Audio(sampling_rate=sampling_rate),
            "label": datasets.ClassLabel(names=LABEL_NAMES),
            **dict.fromkeys(STRINGS, text),
            **dict.fromkeys(SPAN_SECONDS, number),
            "span_origin": text,
            "start_value": number,
            "end_value": number,
            "clipped_fraction": number,
            "no_effect": datasets.Value("bool"),
            "generator_version": text,
            "row": datasets.Value("int64"),
        }
    )


def audio_of(row_id: str, flac: bytes) -> dict[str, object]:
    """An audio cell whose file name says nothing about the clip."""
    return {"bytes": flac, "path": hashlib.sha256(row_id.encode()).hexdigest()[:16] + ".flac"}


def question_of(category: str, direction: str) -> dict[str, object]:
    """The columns that follow from a category and a direction."""
    attribute = attribute_of(category)
    return {
        "category": category,
        "attribute": attribute,
        "prompt": ask("main", attribute),
        "label": LABEL_NAMES.index(LABELS[direction]),
        "direction": direction,
    }
