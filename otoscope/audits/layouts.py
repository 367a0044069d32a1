"""Rows of other layouts under the names that audits use.

The published VocalGrad layout is read as it is: a `benchmark_clip_id` that lacks the category, so
that nine rows share it, becomes `clip_id`, and the `id` is `{split}-{category}-{clip_id}`; the
source clip is what intervals are clustered by; its span is in source time.

Source: `docs/papers.md`, VocalGrad, public packaging.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from otoscope.tables.names import AUDIO_NAMES, column, speaker_column

SAME = (
    "id", "category", "attribute", "label", "prompt", "clip_id", "direction", "curve", "tier",
    "profile", "source_id", "speaker_id", "sentence_id", "transcript", "split",
)  # fmt: skip
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "clip_id": ("benchmark_clip_id",),
    "source_id": ("source_clip_id", "source_item_id"),
    "transcript": ("source_text", "sentence", "transcription"),
    "source_span_start_s": ("onset_sec",),
    "source_span_end_s": ("offset_sec",),
}
FILE_NAMES = ("file_name", "path")
SEPARATOR = "__"

ColumnNames = Mapping[str, str]
"""Columns of a dataset by the name that audits use, for those that have another."""


def names_of(columns: Iterable[str]) -> ColumnNames:
    """Columns whose name audits do not use, by the name that they use.

    >>> names_of(["file_name", "Speaker_ID", "benchmark_clip_id", "label"])
    {'audio': 'file_name', 'clip_id': 'benchmark_clip_id', 'speaker_id': 'Speaker_ID'}

    Raises:
        ColumnError: Two columns may be one of them.
    """
    columns = list(columns)
    found = {"audio": column(columns, AUDIO_NAMES)}
    found |= {name: column(columns, (name, *OTHER_NAMES.get(name, ()))) for name in SAME}
    found |= {
        name: column(columns, names) for name, names in OTHER_NAMES.items() if name not in found
    }
    found["speaker_id"] = speaker_column(columns)
    return {name: known for name, known in found.items() if known and known != name}


def id_of(columns: Iterable[str]) -> Callable[[Mapping[str, Any]], object] | None:
    """How a row without a column `id` is named: by its clip and category, or by its file."""
    columns = list(columns)
    if {"clip_id", "category"} <= set(columns):
        return lambda row: f"{row.get('split') or 'test'}-{row['category']}-{row['clip_id']}"
    return next((lambda row, n=n: row[n] for n in FILE_NAMES if n in columns), None)


def source_of_clip(clip_id: str) -> str | None:
    """The source clip in a published clip id, `{item}__{clip}__{curve}__{tier}__{direction}`.

    >>> source_of_clip("p226_01__p226_106__linear__low__up")
    'p226_106'
    """
    clip, *condition = clip_id.rsplit(SEPARATOR, 3)
    _, behind_item, source = clip.partition(SEPARATOR)
    return source if len(condition) == 3 and behind_item else None
