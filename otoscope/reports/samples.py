"""A few answers with audio, failures first."""

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress

import datasets
import pandas as pd

from otoscope.audits.items import Items, open_items
from otoscope.audits.opening import DatasetError, DatasetLike
from otoscope.reports.embedded_audio import SampleAudio, embedded
from otoscope.reports.scoring import OUTCOMES, UNSCORED, ScoredRun
from otoscope.reports.tables import ReportTable, TableColumn

FAILURES_FIRST = ("failed", "refused", "filtered", "unparsed", "wrong", UNSCORED, "correct")
N_EACH = 6
N_CANDIDATES = 500
DEFAULT = "default"


def samples_of(
    run: ScoredRun, *, n_each: int = N_EACH, known: Collection[str] = ()
) -> pd.DataFrame:
    """Some answers of each outcome, the failures first; unanswered questions have nothing to show.

    Within an outcome a text or a category that was not shown yet comes first, each pair of them
    once, and else the order of the plan.

    Args:
        run: Whose answers.
        n_each: How many of each outcome.
        known: Ids of clips that are preferred, such as those of another run's samples.
    """
    chosen: list[int] = []
    for outcome in FAILURES_FIRST:
        own = run.answers[run.answers["outcome"] == outcome]
        is_known = own["id"].isin(list(known))
        chosen += _varied(pd.concat([own[is_known], own[~is_known]]), n_each)
    return run.answers.loc[chosen]


def samples_of_all(runs: Sequence[ScoredRun]) -> list[pd.DataFrame]:
    """The samples of every run; as far as possible all about the same clips."""
    chosen: list[pd.DataFrame] = []
    for run in runs:
        chosen.append(samples_of(run, known={name for own in chosen for name in own["id"]}))
    return chosen


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


def sample_table(runs: Sequence[ScoredRun], chosen: Sequence[pd.DataFrame]) -> ReportTable:
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
    """For each answer of each run the player of its last clip, or why there is none.

    Each clip has one player, at the first answer about it. Together they are within the size limit
    of a page, of which every run has its share: first the first answers of all of them. A folder or
    repository is opened with the configs that the runs name; without a dataset there are no
    players.
    """
    questions = pd.concat(answers)
    if dataset is None:
        return [SampleAudio("", "")] * len(questions)
    opened = [dataset] if isinstance(dataset, Items) else _opened(questions, dataset)
    clips = [
        _clip(opened, ids, hashes)
        for ids, hashes in zip(questions["audio_ids"], questions["audio_sha256"], strict=True)
    ]
    return embedded(clips, _by_turns([len(own) for own in answers]))


def _by_turns(sizes: Sequence[int]) -> list[int]:
    """Positions in lists that are joined: the first of each list, then the second of each.

    >>> _by_turns([3, 1])
    [0, 3, 1, 2]
    """
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    turns = [(k, start) for start, size in zip(starts, sizes, strict=True) for k in range(size)]
    return [start + k for k, start in sorted(turns)]


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
