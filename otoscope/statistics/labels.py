"""Gold labels and answers, counted against one another."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

Column = Sequence[Any] | np.ndarray
"""One value for each item."""


def label_names(references: Column, labels: Sequence[str]) -> list[str]:
    """Names of gold labels that may be given as names or as positions in `labels`.

    >>> label_names(["increase", 0, "1"], ["decrease", "increase"])
    ['increase', 'decrease', 'increase']

    Raises:
        ValueError: A reference is neither.
    """
    known = {**{str(i): label for i, label in enumerate(labels)}, **{name: name for name in labels}}
    names = []
    for i, reference in enumerate(references):
        if reference is None or str(reference) not in known:
            raise ValueError(
                f"reference {i} is {reference!r}, which is none of the labels {list(labels)} "
                f"nor a number from 0 to {len(labels) - 1}"
            )
        names.append(known[str(reference)])
    return names


class Coded(NamedTuple):
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

    def at(self, chosen: np.ndarray) -> "Coded":
        """The chosen items only."""
        return Coded(self.labels, self.gold[chosen], self.answer[chosen])


def code(
    references: Column,
    answers: Sequence[str | None],
    labels: Sequence[str],
) -> Coded:
    """Items ready for counting.

    Args:
        references: Gold labels, as names or positions.
        answers: Parsed answers; None where unparsed.
        labels: All labels there are, in the order that numbers refer to.

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
    return Coded(tuple(labels), np.array(gold, dtype=np.int64), np.array(answer, dtype=np.int64))


def confusion(coded: Coded) -> Int[np.ndarray, "n_labels n_answers"]:
    """Counts by gold label (row) and answer (column).

    The last two columns are answers with a label that is none of them, and unparsed ones.
    """
    n_answers = len(coded.labels) + 2
    flat = np.bincount(
        coded.gold * n_answers + coded.answer, minlength=len(coded.labels) * n_answers
    )
    return flat.reshape(len(coded.labels), n_answers)


def ratio(part: float | int, whole: int) -> float:
    """A share of something, NaN of nothing."""
    return float(part / whole) if whole else float("nan")
