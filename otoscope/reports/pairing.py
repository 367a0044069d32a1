"""Two runs side by side: differences in their settings, and the questions they share.

Questions are the same when their `question_id` is, and their clips and their labels too. Two runs
with one prompt each, and not the same one, are joined by the `id` of the dataset's row instead: the
same clips, with another prompt.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import pandas as pd

from otoscope import claims
from otoscope.audits.runs import RunError
from otoscope.errors import first_names
from otoscope.reports.scoring import ScoredRun

FIRST_NAMED = ("model", "revision", "adapter", "prompt", "generation", "version")
BOOKKEEPING = frozenset({"schema", "columns"})
"""Keys of run.json that are no settings."""

NOT_COMPARED = frozenset({"created", "plan_sha256"})  # plans are compared row by row


class RunDifference(NamedTuple):
    """A setting in which two runs differ; None where a run does not have it."""

    name: str
    first: Any
    second: Any


class Pairing(NamedTuple):
    """Questions of two runs.

    Attributes:
        first, second: Answers to the questions that both have, in the order of the first run.
        by: The column that they were joined by.
        only_first, only_second: Keys that the other does not have.
        other_audio: Keys of questions about other clips, under the same name.
        other_labels: Keys of questions with another reference label or another label set.
    """

    first: pd.DataFrame
    second: pd.DataFrame
    by: Literal["question_id", "id"]
    only_first: list[str]
    only_second: list[str]
    other_audio: list[str]
    other_labels: list[str]


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[RunDifference]:
    """Settings in which two run.json files differ, models and prompts first.

    >>> differences({"model": {"name": "a", "seed": 1}}, {"model": {"name": "b", "seed": 1}})
    [RunDifference(name='model.name', first='a', second='b')]
    """
    settings = flat_settings(first), flat_settings(second)
    found = (RunDifference(*each) for each in claims.differences(*settings, ignored=NOT_COMPARED))
    return sorted(found, key=lambda d: (_rank(d.name), d.name))


def flat_settings(about: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """The settings in run.json, with dotted names.

    >>> flat_settings({"model": {"name": "m", "dtype": None}, "prompts": ["main"]})
    {'model.name': 'm', 'model.dtype': None, 'prompts': ['main']}
    """
    flat: dict[str, Any] = {}
    for name, value in about.items():
        if not before and name in BOOKKEEPING:
            continue
        if isinstance(value, Mapping) and value:
            flat |= flat_settings(value, f"{before}{name}.")
        else:
            flat[before + name] = value
    return flat


def _rank(name: str) -> int:
    hits = [rank for rank, word in enumerate(FIRST_NAMED) if word in name]
    return min(hits, default=len(FIRST_NAMED))


def pair(first: ScoredRun, second: ScoredRun) -> Pairing:
    """Joins the questions of two runs.

    Raises:
        RunError: A plan has the same question twice.
    """
    one, two = ({*run.answers["prompt_name"]} for run in (first, second))
    other_prompt = len(one) == len(two) == 1 and one != two
    by: Literal["question_id", "id"] = "id" if other_prompt else "question_id"
    left, right = _by_key(first, by), _by_key(second, by)
    shared = left.index[left.index.isin(right.index)]
    a, b = left.loc[shared], right.loc[shared]
    audio = _differ(_audio(a, other_prompt), _audio(b, other_prompt))
    sets = (own["labels"].map(lambda labels: sorted(labels or ())) for own in (a, b))
    labels = ~audio & (_differ(a["label"], b["label"]) | _differ(*sets))
    same = ~audio & ~labels
    return Pairing(
        a[same],
        b[same],
        by,
        left.index.difference(shared, sort=False).tolist(),
        right.index.difference(shared, sort=False).tolist(),
        shared[audio].tolist(),
        shared[labels].tolist(),
    )


def _by_key(run: ScoredRun, by: str) -> pd.DataFrame:
    answers = run.answers.set_index(by, drop=False)
    twice = answers.index[answers.index.duplicated()]
    if len(twice):
        raise RunError(f"the plan of {run.name} has {twice[0]!r} twice; such runs do not compare")
    return answers


def _differ(first: pd.Series, second: pd.Series) -> pd.Series:
    different = [a != b for a, b in zip(first, second, strict=True)]
    return pd.Series(different, index=first.index, dtype=bool)


def _audio(answers: pd.DataFrame, own_clip_only: bool) -> pd.Series:
    """Hashes of the clips; only of the row's own clip where few-shot examples may precede it."""

    def hashes(row: Any) -> list[str | None]:
        found, ids = list(row.audio_sha256 or ()), list(row.audio_ids or ())
        if own_clip_only and len(ids) == len(found):
            return [sha for name, sha in zip(ids, found, strict=True) if name == row.id]
        return found

    columns = answers[["id", "audio_ids", "audio_sha256"]]
    return pd.Series([hashes(row) for row in columns.itertuples()], index=answers.index)


def require_same_questions(pairing: Pairing, names: tuple[str, str]) -> None:
    """Nothing, if both runs have the same questions.

    Raises:
        RunError: They do not; how many differ and some of them are named.
    """
    found = [
        (f"only in {names[0]}", pairing.only_first),
        (f"only in {names[1]}", pairing.only_second),
        ("about other audio under the same name", pairing.other_audio),
        ("with another reference label or label set", pairing.other_labels),
    ]
    unlike = [
        f"{len(keys)} question{'' if len(keys) == 1 else 's'} {what} ({first_names(keys)})"
        for what, keys in found
        if keys
    ]
    if unlike:
        shared = len(pairing.first)
        rest = f"--common compares the {shared} they share" if shared else "they share no question"
        raise RunError(f"the runs have different questions: {'; '.join(unlike)}; {rest}")


def prompt_differences(pairing: Pairing) -> list[RunDifference]:
    """Prompt texts and parsers that differ between joined questions."""
    found = []
    for name, column in (("text", "prompt"), ("parser", "parser")):
        first, second = pairing.first[column], pairing.second[column]
        unlike = _differ(first, second)
        if n := int(unlike.sum()):
            values = first[unlike].iloc[0], second[unlike].iloc[0]
            found.append(RunDifference(f"{name} of {n} questions, as in", *values))
    return found
