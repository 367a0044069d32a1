"""Gold labels and answers as indices, and their confusion matrix."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from otoscope.errors import InvalidValue

Column = Sequence[Any] | np.ndarray
"""One value for each item."""


def of_length(what: str, values: Column, n: int) -> np.ndarray:
    """A column as an array.

    Raises:
        ValueError: It has not one value for each of `n` answers.
    """
    if len(values) != n:
        raise ValueError(f"{len(values)} {what} for {n} answers")
    return np.asarray(values)


def label_names(references: Column, labels: Sequence[str]) -> list[str]:
    """Names of gold labels that may be given as names or as positions in `labels`.

    >>> label_names(["increase", 0, "1"], ["decrease", "increase"])
    ['increase', 'decrease', 'increase']

    Raises:
        InvalidValue: A reference is neither.
    """
    known = {**{str(i): label for i, label in enumerate(labels)}, **{name: name for name in labels}}
    names = []
    for i, reference in enumerate(references):
        if reference is None or str(reference) not in known:
            raise InvalidValue(
                f"reference {i} is {reference!r}, which is none of the labels {list(labels)} "
                f"nor a number from 0 to {len(labels) - 1}"
            )
        names.append(known[str(reference)])
    return names


class IndexedAnswers(NamedTuple):
    """Gold labels and answers as positions in `labels`, one entry per item.

    Attributes:
        labels: The names.
        gold: Position of the gold label.
        answer: Position of the answered label; `len(labels)` for a label that is not among them,
            one more for an unparsed answer.
    """

    labels: tuple[str, ...]
    gold: Int[np.ndarray, " n_items"]
    answer: Int[np.ndarray, " n_items"]

    def at(self, chosen: np.ndarray) -> "IndexedAnswers":
        """The chosen items only."""
        return IndexedAnswers(self.labels, self.gold[chosen], self.answer[chosen])


def index_answers(
    references: Column,
    answers: Sequence[str | None],
    labels: Sequence[str],
) -> IndexedAnswers:
    """Gold labels and answers as positions in `labels`.

    References are names or positions in `labels`; an unparsed answer is None.

    Raises:
        ValueError: An unknown reference, lengths differ, or no or repeated labels.
    """
    if len(references) != len(answers):
        raise ValueError(f"{len(references)} references but {len(answers)} answers")
    if not labels or len(set(labels)) < len(labels):
        raise ValueError(f"labels must be distinct and at least one, got {list(labels)}")
    position = {label: i for i, label in enumerate(labels)}
    gold = [position[name] for name in label_names(references, labels)]
    other = len(labels)
    answer = [other + 1 if a is None else position.get(a, other) for a in answers]
    return IndexedAnswers(
        tuple(labels), np.array(gold, dtype=np.int64), np.array(answer, dtype=np.int64)
    )


def confusion(indexed: IndexedAnswers) -> Int[np.ndarray, "n_labels n_answers"]:
    """Counts by gold label (row) and answer (column).

    The last two columns are answers with any other label, and unparsed ones.
    """
    n_answers = len(indexed.labels) + 2
    flat = np.bincount(
        indexed.gold * n_answers + indexed.answer, minlength=len(indexed.labels) * n_answers
    )
    return flat.reshape(len(indexed.labels), n_answers)


def ratio(part: float | int, whole: int) -> float:
    """A quotient; NaN where the whole is 0."""
    return float(part / whole) if whole else float("nan")
