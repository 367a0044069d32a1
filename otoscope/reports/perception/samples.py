"""A few answers with audio, failures first."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import datasets
import pandas as pd

from otoscope.audits.items import Items, open_items
from otoscope.audits.opening import DatasetError, DatasetLike
from otoscope.reports.perception.reading import PerceptionRun
from otoscope.reports.scoring import OUTCOMES, UNSCORED
from otoscope.reports.tables import ReportTable, TableColumn
from otoscope.reports.writing import data_uri

FAILURES_FIRST = ("failed", "refused", "filtered", "unparsed", "wrong", UNSCORED, "correct")
N_EACH = 6
N_CANDIDATES = 500
DEFAULT = "default"
MAX_AUDIO_BYTES = 6_000_000
MEDIA_TYPES = {b"fLaC": "audio/flac", b"RIFF": "audio/wav", b"OggS": "audio/ogg"}


class SampleAudio(NamedTuple):
    """A player's address, or why there is none."""

    address: str
    missing: str


def samples_of(run: PerceptionRun, *, n_each: int = N_EACH) -> pd.DataFrame:
    """Some answers of each outcome, the failures first; unanswered questions have nothing to show.

    Within an outcome a text or a category that was not shown yet comes first, each pair of them
    once, and else the order of the plan.
    """
    chosen: list[int] = []
    for outcome in FAILURES_FIRST:
        chosen += _varied(run.answers[run.answers["outcome"] == outcome], n_each)
    return run.answers.loc[chosen]


def _varied(answers: pd.DataFrame, n: int) -> list[int]:
    """Labels of up to `n` rows with different texts and categories."""
    first: dict[tuple[str | None, str], int] = {}
    columns = (answers[name] for name in ("text", "detail", "category"))
    for at, text, detail, category in zip(answers.index, *columns, strict=True):
        first.setdefault((text or detail, category), at)
        if len(first) == N_CANDIDATES:
            break
    chosen: list[int] = []
    used: Counter[tuple[str, str | None]] = Counter()
    while first and len(chosen) < n:
        text, category = min(first, key=lambda t: (used["text", t[0]], used["category", t[1]]))
        chosen.append(first.pop((text, category)))
        used.update([("text", text), ("category", category)])
    return chosen


def sample_table(runs: Sequence[PerceptionRun], chosen: Sequence[pd.DataFrame]) -> ReportTable:
    """The chosen answers of every run as a table; its rows have more than it shows."""
    return ReportTable(
        "samples",
        "Sample answers, failures first",
        (
            TableColumn("outcome", "outcome"), TableColumn("run", "run", "run"),
            TableColumn("question_id", "question"), TableColumn("label", "reference"),
            TableColumn("prediction", "prediction"), TableColumn("rule", "parser rule"),
            TableColumn("text", "raw answer", "raw"),
            TableColumn("first_text", "answer before the retry", "raw"),
            TableColumn("detail", "message", "raw"),
        ),
        tuple(
            {"run": run.name} | row
            for run, own in zip(runs, chosen, strict=True)
            for row in own.to_dict("records")
        ),
        (f"At most {N_EACH} answers of each outcome and run ({', '.join(OUTCOMES)}).",),
    )  # fmt: skip


def players(
    answers: Sequence[pd.DataFrame], dataset: DatasetLike | Items | None
) -> list[SampleAudio]:
    """For each answer of each run the address of its last clip, or why there is none.

    Together they are within the size limit of a page. A folder or repository is opened with the
    configs that the runs name; without a dataset there are no players.
    """
    questions = pd.concat(answers)
    if dataset is None:
        return [SampleAudio("", "")] * len(questions)
    opened = [dataset] if isinstance(dataset, Items) else _opened(questions, dataset)
    n_left = MAX_AUDIO_BYTES
    found = []
    for ids, hashes in zip(questions["audio_ids"], questions["audio_sha256"], strict=True):
        data, missing = _clip(opened, ids, hashes)
        if len(data) > n_left:
            data, missing = b"", "size limit of the page reached"
        n_left -= len(data)
        media_type = MEDIA_TYPES.get(data[:4], "audio/mpeg")
        found.append(SampleAudio(data_uri(data, media_type) if data else "", missing))
    return found


def _opened(questions: pd.DataFrame, dataset: DatasetLike) -> list[Items]:
    """Each config that was used; apart, since configs of one dataset may share rows."""
    if isinstance(dataset, datasets.Dataset):
        return [open_items(dataset)]
    configs = {config or DEFAULT for config in questions["config"]} or {DEFAULT}
    return [open_items(dataset, [] if c == DEFAULT else [c]) for c in sorted(configs)]


def _clip(
    opened: Sequence[Items], ids: Sequence[str] | None, hashes: Sequence[str] | None
) -> tuple[bytes, str]:
    """The audio of the last clip, or why there is none."""
    if not ids:
        return b"", "the question has no clip"
    for items in opened:
        with suppress(KeyError, DatasetError):
            data = items.audio_bytes(ids[-1])
            if hashes and hashlib.sha256(data).hexdigest() != hashes[-1]:
                return b"", "the dataset given has other audio under this id"
            return data, ""
    return b"", "not in the dataset given"
