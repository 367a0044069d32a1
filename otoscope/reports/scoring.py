"""What became of each planned question: the one rule by which runs of every audit are scored.

An outcome is always computed from the raw answer. Only an answer whose call ended well (`ok`) is
parsed; one that was refused, filtered, failed or is missing has no prediction, whatever its text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from otoscope.audits.runs import RunError, load_run, read_about
from otoscope.errors import InputError
from otoscope.models.base import Status
from otoscope.responses.reading import read_answers

OUTCOMES = ("correct", "wrong", "unparsed", "refused", "filtered", "failed", "unanswered")
"""What becomes of a question with a reference label; each is exactly one of them."""

UNSCORED = "unscored"
OPTIONAL = ("label", "labels", "category", "source_id")
"""Columns that a plan may lack."""

DEFAULT_PARSER = "paper"
WITHOUT_ANSWER = {
    Status.REFUSED.value: "refused",
    Status.FILTERED.value: "filtered",
    Status.TIMEOUT.value: "failed",
    Status.ERROR.value: "failed",
    None: "unanswered",
}


@dataclass(frozen=True)
class ScoredRun:
    """A run: its name in the report, run.json, and its questions with their outcomes."""

    name: str
    about: Mapping[str, Any]
    answers: pd.DataFrame

    @property
    def partial(self) -> str:
        """Which part of its dataset the run is about; empty for all of it."""
        return str(self.about.get("partial") or "")

    @property
    def n_unanswered(self) -> int:
        """Planned questions without an answer."""
        return int((self.answers["outcome"] == "unanswered").sum())


def score_runs(paths: Sequence[Path | str], audit: str | None = None) -> list[ScoredRun]:
    """Every run, named after its folder, with a number where two folders have the same name.

    Args:
        audit: The audit that they must be of; any when None.

    Raises:
        InputError: No run is given.
        RunError: Not a run, of another schema, or of another audit.
        LookupError: A question names a parser that does not exist.
    """
    if not paths:
        raise InputError("a report needs at least one run")
    runs: dict[str, ScoredRun] = {}
    for path in map(Path, paths):
        about = read_about(path)
        if audit is not None and about.get("audit") != audit:
            raise RunError(f"{path} is a run of {about.get('audit')!r}, not of {audit!r}")
        folder = path.resolve().name
        names = chain([folder], (f"{folder} ({i})" for i in count(2)))
        name = next(name for name in names if name not in runs)
        runs[name] = ScoredRun(name, about, score(load_run(path)[:]))
    return list(runs.values())


def score(columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """The columns of `load_run`, None where there is no value, and four more.

    Those in `OPTIONAL` are None where the plan lacks them.

    - `prediction`: the label that the question's parser reads; None unless the call ended well.
    - `rule`: which rule of the parser fired; None unless the call ended well.
    - `exact`: whether the answer is nothing but a word of the parser.
    - `outcome`: one of `OUTCOMES`, or `unscored` for a parsed answer without a reference label and
      for any answer to a question whose parser is empty.

    A plan without parsers is scored by `DEFAULT_PARSER`.

    Raises:
        LookupError: A question names a parser that does not exist.
    """
    n = len(columns["status"])
    columns = {name: [None] * n for name in OPTIONAL} | dict(columns)
    status, texts = (np.array(columns[name], dtype=object) for name in ("status", "text"))
    parsers = np.array(
        [DEFAULT_PARSER if name is None else name for name in columns["parser"]], dtype=object
    )
    prediction, rule = np.full((2, n), None, dtype=object)
    exact = np.zeros(n, dtype=bool)
    for parser in filter(None, dict.fromkeys(parsers)):
        own = np.flatnonzero((parsers == parser) & (status == Status.OK.value))
        parsed = read_answers(texts[own].tolist(), parser)
        prediction[own], rule[own], exact[own] = parsed.labels, parsed.rules, parsed.exact
    outcomes = list(map(_outcome, status, parsers, columns["label"], prediction))
    scored = {"prediction": prediction, "rule": rule, "exact": exact, "outcome": outcomes}
    every = {**columns, "parser": parsers, **scored}
    return pd.DataFrame(every, dtype=object)  # strings would make None NaN


def is_correct(answers: pd.DataFrame) -> np.ndarray:
    """Whether each answer is correct; one that is missing or unparsed is not."""
    return (answers["outcome"] == "correct").to_numpy(bool)


def has_no_effect(answers: pd.DataFrame) -> np.ndarray:
    """Whether nothing changes in each question's clip; False where the plan does not say."""
    if "no_effect" not in answers:
        return np.zeros(len(answers), dtype=bool)
    return (answers["no_effect"] == True).to_numpy(bool)  # noqa: E712


def with_effect(answers: pd.DataFrame) -> pd.DataFrame:
    """Without clips in which nothing changes."""
    return answers[~has_no_effect(answers)]


def sources_of(answers: pd.DataFrame) -> np.ndarray:
    """What each clip is clustered by: its cluster, or its source; without one it is its own."""
    sources = answers["cluster_id" if "cluster_id" in answers else "source_id"]
    return sources.where(sources.notna(), answers["id"]).to_numpy(str)


def _outcome(status: str | None, parser: str, label: str | None, prediction: str | None) -> str:
    if status != Status.OK.value:
        return WITHOUT_ANSWER[status]
    if not parser:
        return UNSCORED
    if prediction is None:
        return "unparsed"
    if label is None:
        return UNSCORED
    return "correct" if prediction == label else "wrong"
