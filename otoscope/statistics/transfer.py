"""Answers among several labels, class by class, and what became of them in another model.

Macro F1 is not a share of right answers, so its intervals resample whole clusters.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from otoscope.statistics.labels import Column, code, confusion
from otoscope.statistics.macro_f1 import N_RESAMPLES, macro_f1
from otoscope.statistics.pairs import Difference
from otoscope.statistics.simulation import SEED


class ClassScore(NamedTuple):
    """How one class fared; 0 where nothing was answered or nothing was right."""

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
    counts = confusion(code(references, answers, labels))
    made = {}
    for place, label in enumerate(labels):
        right, n, answered = (
            int(x) for x in (counts[place, place], counts[place].sum(), counts[:, place].sum())
        )
        precision, recall = right / answered if answered else 0.0, right / n if n else 0.0
        made[label] = ClassScore(n, precision, recall, 2 * right / max(1, n + answered))
    return made


def crossed(
    first: Sequence[str | None], second: Sequence[str | None], labels: Sequence[str]
) -> Int[np.ndarray, "n_labels n_labels"]:
    """How many items had which answer first (row) and which one afterwards (column).

    >>> crossed(["A", "A", "B"], ["A", "B", "B"], "AB").tolist()
    [[1, 1], [0, 1]]
    """
    place: Mapping[str | None, int] = {label: n for n, label in enumerate(labels)}
    made = np.zeros((len(labels), len(labels)), int)
    for one, other in zip(first, second, strict=True):
        if one in place and other in place:
            made[place[one], place[other]] += 1
    return made


def macro_f1_difference(
    references: Column,
    first: Sequence[str | None],
    second: Sequence[str | None],
    labels: Sequence[str],
    clusters: Column,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Difference:
    """Macro F1 of the first less that of the second, with a 95 % interval.

    Both are about the same items, so each resample draws the same clusters for both.

    Raises:
        ValueError: An unknown reference, no items, or lengths differ.
    """
    if not len(references):
        raise ValueError("there are no items to compare")
    _, member = np.unique(np.asarray(clusters).astype(str), return_inverse=True)
    if len(member) != len(references):
        raise ValueError(f"{len(member)} clusters for {len(references)} items")
    n_clusters, n_labels = int(member.max()) + 1, len(labels)
    rng = np.random.default_rng(seed)
    times = rng.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), size=n_resamples)
    found = []
    for answers in (first, second):
        coded = code(references, answers, labels)
        per_cluster = np.zeros((n_clusters, n_labels * (n_labels + 2)), np.int64)
        np.add.at(per_cluster, (member, coded.gold * (n_labels + 2) + coded.answer), 1)
        drawn = (times @ per_cluster).reshape(n_resamples, n_labels, n_labels + 2)
        found.append((float(macro_f1(confusion(coded))), macro_f1(drawn)))
    (one, one_drawn), (other, other_drawn) = found
    low, high = np.quantile(one_drawn - other_drawn, [0.025, 0.975])
    estimate = one - other
    return Difference(estimate, min(float(low), estimate), max(float(high), estimate))
