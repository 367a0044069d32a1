"""The columns of a perception dataset, and one row of it."""

import hashlib

import datasets

from otoscope.acoustics.design import LABELS
from otoscope.acoustics.gradients import attribute_of
from otoscope.prompts import ask

LABEL_NAMES = ["decrease", "increase"]


def features(sampling_rate: int | None) -> datasets.Features:
    """Columns in order; `sampling_rate` in Hz, or None where clips differ."""
    text, number = datasets.Value("string"), datasets.Value("float64")
    columns = {
        "id": text,
        "audio": datasets.Audio(sampling_rate=sampling_rate),
        "category": text,
        "attribute": text,
        "label": datasets.ClassLabel(names=LABEL_NAMES),
        "prompt": text,
        "clip_id": text,
        "direction": text,
        "curve": text,
        "tier": text,
        "profile": text,
        "source_id": text,
        "speaker_id": text,
        "sentence_id": text,
        "transcript": text,
        "span_start_s": number,
        "span_end_s": number,
        "source_span_start_s": number,
        "source_span_end_s": number,
        "span_origin": text,
        "start_value": number,
        "end_value": number,
        "clipped_fraction": number,
        "no_effect": datasets.Value("bool"),
        "generator_version": text,
        "row": datasets.Value("int64"),
    }
    return datasets.Features(columns)


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
