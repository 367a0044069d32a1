"""Runs read for a report: every planned question, what was answered, and what became of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from otoscope.audits.runs import load_run, read_about
from otoscope.models.base import Status
from otoscope.prompts.questions import SOURCE, split_name
from otoscope.reports.tables import Tally
from otoscope.reports.verdicts import DEFAULT_PARSER
from otoscope.responses.reading import read_answers
from otoscope.statistics.direction import DIRECTIONS

OUTCOMES = ("correct", "wrong", "unparsed", "refused", "filtered", "failed", "unanswered")
"""What becomes of a question with a right answer; each is exactly one of them."""

BEEP = "beep"
CLIP = "clip"
CROSS = "cross"
ENDED = {
    Status.REFUSED.value: "refused",
    Status.FILTERED.value: "filtered",
    Status.TIMEOUT.value: "failed",
    Status.ERROR.value: "failed",
    None: "unanswered",
}


@dataclass(frozen=True)
class Answers:
    """Questions with their answers, column by column.

    Beside the columns of `load_run` there are:

    - `base`: the prompt without what stands behind `@`.
    - `asked`: what is asked about, written like a category.
    - `kind`: `clip`, `beep`, `source`, or `cross` for a clip asked about another attribute.
    - `read`: the label that the prompt's rule reads; None unless the call ended well.
    - `rule`: which one fired; None unless the call ended well.
    - `exact`: whether the answer is nothing but a word that was asked for.
    - `outcome`: one of `OUTCOMES`, or `answered` for a parsed answer that has no right one.
    """

    columns: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.columns["id"])

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def where(self, **values: Any) -> "Answers":
        """Those that have the value in each named column."""
        chosen = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            chosen &= self.columns[name] == value
        return self.at(chosen)

    def at(self, chosen: np.ndarray) -> "Answers":
        """Those chosen by a mask or by positions."""
        return Answers({name: column[chosen] for name, column in self.columns.items()})

    def has(self, name: str) -> bool:
        """Whether any question has a value in that column."""
        return any(value is not None for value in self.columns[name])

    def values(self, name: str) -> list[Any]:
        """Distinct values of a column in order of first appearance, None left out."""
        return [value for value in dict.fromkeys(self.columns[name]) if value is not None]

    def tallies(self, name: str) -> dict[Any, Tally]:
        """Counts of right, unread and "increase" answers for each value of a column, in order."""
        return {value: _tally(self.where(**{name: value})) for value in sorted(self.values(name))}

    @property
    def about_direction(self) -> "Answers":
        """Questions whose right answer is a direction and that offer nothing else."""
        two = [labels is not None and set(labels) == set(DIRECTIONS) for labels in self["labels"]]
        return self.at(np.array(two, dtype=bool) & (self["label"] != None))  # noqa: E711

    @property
    def clusters(self) -> list[str] | None:
        """The source of each question, or None where some have none."""
        sources = self["source_id"].tolist()
        return None if not sources or None in sources else sources


@dataclass(frozen=True)
class Run:
    """A run as it is called in the report, what run.json says, and its questions."""

    name: str
    about: Mapping[str, Any]
    answers: Answers

    @cached_property
    def clips(self) -> Answers:
        """Questions about the direction in a changed clip, its own attribute named."""
        return self.answers.where(kind=CLIP).about_direction

    @property
    def partial(self) -> str:
        """What part of its data set the run is about; empty where it is about all of it."""
        return str(self.about.get("partial") or "")

    @property
    def n_unanswered(self) -> int:
        """Planned questions without an answer."""
        return int(np.sum(self.answers["outcome"] == "unanswered"))


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Every run, called by its folder's name, with a number behind it where two have the same.

    Raises:
        RunError: Not a run, or of another schema.
        LookupError: A question names a parser that does not exist.
    """
    runs: list[Run] = []
    for path in paths:
        name, taken = Path(path).resolve().name, {run.name for run in runs}
        unique = next(n for n in _numbered(name) if n not in taken)
        runs.append(Run(unique, read_about(Path(path)), read(load_run(path)[:])))
    return runs


def _numbered(name: str) -> Iterable[str]:
    yield name
    yield from (f"{name} ({i})" for i in range(2, 10_000))


def read(columns: Mapping[str, Sequence[Any]]) -> Answers:
    """Reads the answers of a run: columns of `load_run` in, what became of each out."""
    told = {name: _objects(values) for name, values in columns.items()}
    n = len(told["id"])
    ok = told["status"] == Status.OK.value
    label, rule, exact = (_objects([blank] * n) for blank in (None, None, False))
    for parser in dict.fromkeys(told["parser"]):
        mine = np.flatnonzero((told["parser"] == parser) & ok)
        found = read_answers(told["text"][mine].tolist(), parser or DEFAULT_PARSER)
        label[mine], rule[mine], exact[mine] = found.labels, found.rules, found.exact
    names = [split_name(name) for name in told["prompt_name"]]
    asked = [
        attribute.replace(" ", "_") if attribute else category
        for category, attribute in zip(told["category"], told["attribute"], strict=True)
    ]
    kinds = [
        _kind(category, config, elsewhere is not None)
        for category, config, (_, elsewhere) in zip(
            told["category"], told["config"], names, strict=True
        )
    ]
    outcomes = [_outcome(*each) for each in zip(told["status"], told["label"], label, strict=True)]
    return Answers(
        told
        | {
            "base": _objects([base for base, _ in names]),
            "asked": _objects(asked),
            "kind": _objects(kinds),
            "read": label,
            "rule": rule,
            "exact": exact,
            "outcome": _objects(outcomes),
        }
    )


def _tally(answers: Answers) -> Tally:
    return Tally(
        len(answers),
        int(np.sum(answers["outcome"] == "correct")),
        int(np.sum(answers["read"] == None)),  # noqa: E711
        int(np.sum(answers["read"] == "increase")),
    )


def _kind(category: str, config: str | None, elsewhere: bool) -> str:
    if category == SOURCE:
        return SOURCE
    if elsewhere:
        return CROSS
    return BEEP if config == BEEP else CLIP


def _outcome(status: str | None, gold: str | None, answer: str | None) -> str:
    if status != Status.OK.value:
        return ENDED[status]
    if answer is None:
        return "unparsed"
    if gold is None:
        return "answered"
    return "correct" if answer == gold else "wrong"


def _objects(values: Sequence[Any]) -> np.ndarray:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
