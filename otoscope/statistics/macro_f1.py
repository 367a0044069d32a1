"""Macro F1 of answers with several labels, and the baselines of guessing.

Class sizes differ between question formats, so one over the number of classes is not the chance
level: constant answers and guessing score according to the class sizes.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Real

from otoscope.statistics.breakdowns import Scores, break_down, plain
from otoscope.statistics.intervals import UNKNOWN, Interval, percentile_interval
from otoscope.statistics.labels import (
    Column,
    IndexedAnswers,
    confusion,
    index_answers,
    of_length,
    ratio,
)
from otoscope.statistics.resampling import resampled_sums
from otoscope.statistics.simulation import SEED

N_RESAMPLES = 2000


class GuessingBaselines(NamedTuple):
    """Expected macro F1 of strategies that ignore the audio.

    Attributes:
        constant: Of a constant answer, for each label.
        uniform: Of guessing every label equally often.
        proportional: Of guessing each label as often as it is true: one over the number of classes
            that occur, the most that a strategy without audio can reach.
    """

    constant: dict[str, float]
    uniform: float
    proportional: float


def f1_by_class(
    counts: Real[np.ndarray, "*draws n_labels n_answers"],
) -> Float[np.ndarray, "*draws n_labels"]:
    """F1 of each class: 2 · right / (times answered + times true); an unparsed answer is a miss.

    0 for a class that occurs and is never answered; NaN for one that does not occur.
    """
    n_labels = counts.shape[-2]
    right = np.diagonal(counts, axis1=-2, axis2=-1)[..., :n_labels]
    return f1_of_sums(right, counts[..., :n_labels].sum(axis=-2), counts.sum(axis=-1))


def f1_of_sums(right: np.ndarray, answered: np.ndarray, true: np.ndarray) -> np.ndarray:
    """F1 of each class, by how often it was rightly answered, answered at all, and true."""
    return np.where(true > 0, 2 * right / np.maximum(answered + true, 1), np.nan)


def macro_f1(
    counts: Real[np.ndarray, "*draws n_labels n_answers"],
) -> Float[np.ndarray, "*draws"]:
    """Mean F1 of the classes that occur, each with the same weight; NaN where none does.

    Args:
        counts: By gold label and answer, as `otoscope.statistics.labels.confusion` gives them.
    """
    return mean_of_classes(f1_by_class(counts))


def mean_of_classes(
    by_class: Float[np.ndarray, "*draws n_labels"],
) -> Float[np.ndarray, "*draws"]:
    """Mean over the classes that are not NaN; NaN where all are."""
    occurs = ~np.isnan(by_class)
    n_classes = occurs.sum(axis=-1)
    total = np.where(occurs, by_class, 0).sum(axis=-1)
    return np.where(n_classes > 0, total / np.maximum(n_classes, 1), np.nan)


def guessing_macro_f1(class_sizes: Mapping[str, int]) -> GuessingBaselines:
    """Guessing baselines, with expected counts in place of counts.

    The F1 of a class that makes up p of the items and q of the answers is 2·p·q / (p + q).

    >>> guessing = guessing_macro_f1({"increase": 1200, "decrease": 1200, "constant": 100})
    >>> round(max(guessing.constant.values()), 3), round(guessing.uniform, 3)
    (0.216, 0.286)

    Args:
        class_sizes: Number of items of each label, 0 for one that does not occur. Without any item
            all is NaN.
    """
    sizes = np.array(list(class_sizes.values()), dtype=np.float64)
    if sizes.sum() == 0:
        nothing = float("nan")
        return GuessingBaselines(dict.fromkeys(class_sizes, nothing), nothing, nothing)
    true = sizes / sizes.sum()

    def expected_f1(answered: np.ndarray) -> float:
        by_class = 2 * true * answered / np.where(true > 0, true + answered, 1)
        return float(by_class[true > 0].mean())

    constant = {
        label: expected_f1(row) for label, row in zip(class_sizes, np.eye(len(sizes)), strict=True)
    }
    uniform = expected_f1(np.full(len(sizes), 1 / len(sizes)))
    return GuessingBaselines(constant, uniform, expected_f1(true))


def macro_f1_interval(
    indexed: IndexedAnswers,
    clusters: np.ndarray | None,
    *,
    rng: np.random.Generator,
    n_resamples: int = N_RESAMPLES,
    confidence: float = 0.95,
) -> Interval:
    """Percentile bootstrap interval of macro F1, resampling whole clusters where they are given.

    Each resample averages over the classes that occur in it. No items: NaN.
    """
    if indexed.gold.size == 0:
        return UNKNOWN
    n_labels, n_answers = len(indexed.labels), len(indexed.labels) + 2
    cell = indexed.gold * n_answers + indexed.answer
    if clusters is None:
        cells = np.bincount(cell, minlength=n_labels * n_answers)
        draws = rng.multinomial(cell.size, cells / cell.size, size=n_resamples)
    else:
        _, member = np.unique(clusters, return_inverse=True)
        counts = per_cluster(indexed, member)
        draws = resampled_sums(counts, rng=rng, n_draws=n_resamples)
    scores = macro_f1(draws.reshape(n_resamples, n_labels, n_answers))
    return percentile_interval(float(macro_f1(confusion(indexed))), scores, confidence)


def per_cluster(
    indexed: IndexedAnswers, member: Int[np.ndarray, " n_items"]
) -> Int[np.ndarray, "n_clusters n_cells"]:
    """The confusion matrix of each cluster in one row."""
    n_answers = len(indexed.labels) + 2
    counts = np.zeros((int(member.max()) + 1, len(indexed.labels) * n_answers), dtype=np.int64)
    np.add.at(counts, (member, indexed.gold * n_answers + indexed.answer), 1)
    return counts


def score_macro_f1(
    references: Column,
    answers: Sequence[str | None],
    labels: Sequence[str],
    *,
    clusters: Column | None = None,
    by: Mapping[str, Column] | None = None,
    seed: int = SEED,
) -> Scores:
    """Macro F1 over all items, and the guessing baselines.

    Undefined values are None. Keys: `n`, `n_parsed`, `parsed_rate`, `accuracy`, `macro_f1` with
    `macro_f1_low/high` (bootstrap; of whole clusters where given), `best_constant`,
    `uniform_guess`, `proportional_guess`, `f1_LABEL` for each label.

    Args:
        references: Gold labels: names, or positions in `labels`.
        answers: Parsed answers, None where unparsed.
        clusters: Source of each item.
        by: Breakdowns: name to one value per item; nested under the name in the result.

    Raises:
        ValueError: An unknown reference, or lengths differ.
    """
    indexed = index_answers(references, answers, labels)
    names = None if clusters is None else of_length("clusters", clusters, len(answers)).astype(str)

    def score(items: np.ndarray, rng: np.random.Generator) -> Scores:
        chosen = indexed.at(items)
        counts = confusion(chosen)
        n, n_parsed = int(counts.sum()), int(counts[:, :-1].sum())
        interval = macro_f1_interval(chosen, None if names is None else names[items], rng=rng)
        guessing = guessing_macro_f1(dict(zip(labels, counts.sum(axis=1).tolist(), strict=True)))
        return {
            "n": n,
            "n_parsed": n_parsed,
            "parsed_rate": ratio(n_parsed, n),
            "accuracy": ratio(int(np.trace(counts)), n),
            "macro_f1": interval.estimate,
            "macro_f1_low": interval.low,
            "macro_f1_high": interval.high,
            "best_constant": max(guessing.constant.values()),
            "uniform_guess": guessing.uniform,
            "proportional_guess": guessing.proportional,
            **{f"f1_{name}": f for name, f in zip(labels, f1_by_class(counts), strict=True)},
        }

    return plain(break_down(len(answers), by, score, seed=seed))
