"""A few answers to read and hear, failures first."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np

from otoscope.audits.items import DatasetError, Items, open_items
from otoscope.reports.html import data_uri
from otoscope.reports.readings import OUTCOMES, Answers, Run
from otoscope.reports.sheets import Column, Sheet

FAILURES_FIRST = ("failed", "refused", "filtered", "unparsed", "wrong", "answered", "correct")
N_EACH = 6
N_CANDIDATES = 500
DEFAULT = "default"
MAX_SOUND_BYTES = 6_000_000
KNOWN = ("category", "tier", "curve", "direction", "source_id", "profile", "no_effect")
TYPES = {b"fLaC": "audio/flac", b"RIFF": "audio/wav", b"OggS": "audio/ogg"}


class SampleAudio(NamedTuple):
    """A player's address, or why there is none."""

    address: str
    missing: str


def samples_of(run: Run, *, n_each: int = N_EACH) -> Answers:
    """Some answers of each outcome, the failures first; never-answered questions say nothing.

    Within an outcome a text or a category that was not shown yet comes first, each pair of them
    once, and else the order of the plan.
    """
    chosen: list[int] = []
    for outcome in FAILURES_FIRST:
        there = np.flatnonzero(run.answers["outcome"] == outcome).tolist()
        chosen += _varied(run.answers, there, n_each)
    return run.answers.at(np.array(chosen, dtype=int))


def _varied(answers: Answers, there: Sequence[int], n: int) -> list[int]:
    first: dict[tuple[str | None, str], int] = {}
    for i in there:
        first.setdefault((answers["text"][i] or answers["detail"][i], answers["category"][i]), i)
        if len(first) == N_CANDIDATES:
            break
    chosen: list[int] = []
    shown: Counter[tuple[str, str | None]] = Counter()
    while first and len(chosen) < n:
        text, category = min(
            first, key=lambda pair: (shown["text", pair[0]], shown["category", pair[1]])
        )
        chosen.append(first.pop((text, category)))
        shown.update([("text", text), ("category", category)])
    return chosen


def sample_rows(run: Run, answers: Answers) -> list[dict[str, Any]]:
    """The chosen answers as flat rows."""
    names = (
        "outcome", "question_id", *KNOWN, "asked", "prompt_name", "label", "read", "rule", "status",
        "text", "first_text", "detail", "audio_truncated", "text_truncated",
    )  # fmt: skip
    return [
        {"run": run.name} | {name: answers[name][i] for name in names} for i in range(len(answers))
    ]


def sample_sheet(rows: Sequence[dict[str, Any]]) -> Sheet:
    """The chosen answers as a table."""
    return Sheet(
        "samples",
        "Some answers, failures first",
        (
            Column("outcome", "outcome"), Column("run", "run", "run"),
            Column("question_id", "question"), Column("label", "right answer"),
            Column("read", "read as"), Column("rule", "rule"), Column("text", "raw answer", "raw"),
            Column("first_text", "first try", "raw"), Column("detail", "message", "raw"),
        ),
        tuple(rows),
        (f"Of each outcome at most {N_EACH} of a run ({', '.join(OUTCOMES)}).",),
    )  # fmt: skip


def players(
    answers: Sequence[Answers], dataset: str | Path | datasets.Dataset | Items | None
) -> list[list[SampleAudio]]:
    """A player for each of the chosen answers, while there is room on a page.

    Args:
        answers: The chosen answers of each run.
        dataset: Where the audio is; None for no players. A folder or repository is opened with the
            configs that the runs name.

    Returns:
        For each run and answer the last clip heard: its address, or why there is none.
    """
    if dataset is None:
        return [[SampleAudio("", "") for _ in range(len(a))] for a in answers]
    opened = [dataset] if isinstance(dataset, Items) else _opened(answers, dataset)
    room = MAX_SOUND_BYTES
    found: list[list[SampleAudio]] = []
    for mine in answers:
        found.append([])
        for ids, hashes in zip(mine["audio_ids"], mine["audio_sha256"], strict=True):
            sound, size = _player(opened, ids, hashes, room)
            room -= size
            found[-1].append(sound)
    return found


def _opened(answers: Sequence[Answers], dataset: str | Path | datasets.Dataset) -> list[Items]:
    """Each config that was asked about; apart, since configs of one data set may share rows."""
    if isinstance(dataset, datasets.Dataset):
        return [open_items(dataset)]
    asked = {config or DEFAULT for mine in answers for config in mine["config"]} or {DEFAULT}
    return [open_items(dataset, [] if c == DEFAULT else [c]) for c in sorted(asked)]


def _player(
    opened: Sequence[Items], ids: Sequence[str] | None, hashes: Sequence[str] | None, room: int
) -> tuple[SampleAudio, int]:
    if not ids:
        return SampleAudio("", "no clip"), 0
    data = None
    for items in opened:
        with suppress(KeyError, DatasetError):
            data = items.audio_bytes(ids[-1])
            break
    if data is None:
        return SampleAudio("", "not in the data set at hand"), 0
    if hashes and hashlib.sha256(data).hexdigest() != hashes[-1]:
        return SampleAudio("", "the data set at hand has another sound under this id"), 0
    if len(data) > room:
        return SampleAudio("", "no room left on the page"), 0
    kind = TYPES.get(data[:4], "audio/mpeg")
    return SampleAudio(data_uri(data, kind), ""), len(data)
