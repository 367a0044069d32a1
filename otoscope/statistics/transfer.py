"""Answers with several labels: scores by class, and comparison of two models."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from otoscope.statistics.intervals import Interval, percentile_interval
from otoscope.statistics.labels import Column, confusion, index_answers
from otoscope.statistics.macro_f1 import N_RESAMPLES, macro_f1, per_cluster
from otoscope.statistics.resampling import resampled_sums
from otoscope.statistics.simulation import SEED


class ClassScore(NamedTuple):
    """Scores of one class; 0 where it was never answered or never correctly."""

    n: int
    precision: float
    recall: float
    f1: float


def class_scores(
    references: Column, answers: Sequence[str | None], labels: Sequence[str]
) -> dict[str, ClassScore]:
    """Precision, recall and F1 of each class.

    >>> class_scores(["A", "A", "B"], ["A", "B", None], ["A", "B"])["A"]
    ClassScore(n=2, precision=1.0, recall=0.5, f1=0.6666666666666666)

    Raises:
        ValueError: An unknown reference, or lengths differ.
    """
    counts = confusion(index_answers(references, answers, labels))
    scores = {}
    for place, label in enumerate(labels):
        right, n, answered = (
            int(x) for x in (counts[place, place], counts[place].sum(), counts[:, place].sum())
        )
        precision, recall = right / answered if answered else 0.0, right / n if n else 0.0
        scores[label] = ClassScore(n, precision, recall, 2 * right / max(1, n + answered))
    return scores


def crossed(
    first: Sequence[str | None], second: Sequence[str | None], labels: Sequence[str]
) -> Int[np.ndarray, "n_labels n_labels"]:
    """Contingency table of the first answers (rows) and the second answers (columns).

    >>> crossed(["A", "A", "B"], ["A", "B", "B"], "AB").tolist()
    [[1, 1], [0, 1]]
    """
    place: Mapping[str | None, int] = {label: n for n, label in enumerate(labels)}
    table = np.zeros((len(labels), len(labels)), int)
    for one, other in zip(first, second, strict=True):
        if one in place and other in place:
            table[place[one], place[other]] += 1
    return table


def macro_f1_difference(
    references: Column,
    first: Sequence[str | None],
    second: Sequence[str | None],
    labels: Sequence[str],
    clusters: Column,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """Macro F1 of the first minus that of the second, with a 95 % cluster bootstrap interval.

    Both answer the same items, so each resample draws the same clusters for both.

    Raises:
        ValueError: An unknown reference, no items, or lengths differ.
    """
    if not len(references):
        raise ValueError("there are no items to compare")
    _, member = np.unique(np.asarray(clusters).astype(str), return_inverse=True)
    if len(member) != len(references):
        raise ValueError(f"{len(member)} clusters for {len(references)} items")
    both = [index_answers(references, answers, labels) for answers in (first, second)]
    drawn = resampled_sums(
        np.hstack([per_cluster(indexed, member) for indexed in both]),
        rng=np.random.default_rng(seed),
        n_draws=n_resamples,
    ).reshape(n_resamples, 2, len(labels), -1)
    scores = macro_f1(drawn)
    estimates = [float(macro_f1(confusion(indexed))) for indexed in both]
    return percentile_interval(estimates[0] - estimates[1], scores[:, 0] - scores[:, 1], 0.95)
