"""Macro F1 of answers with several labels, and what guessing would get.

Class sizes differ between the question formats, so a fixed "chance" of one over the number of
classes says little: what a constant answer and uniform guessing get depends on the sizes.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from otoscope.statistics.breakdowns import Scores, break_down, plain
from otoscope.statistics.intervals import UNKNOWN, Interval
from otoscope.statistics.labels import Coded, Column, code, confusion, ratio
from otoscope.statistics.simulation import SEED

N_RESAMPLES = 2000


class Blind(NamedTuple):
    """Macro F1 of strategies that ignore the sound, in proportions that class sizes imply.

    Attributes:
        constant: Always the same answer, for each label that could be it.
        uniform: Every label equally often.
        proportional: Each label as often as it is true. No blind strategy does better: it gives
            one over the number of classes that occur.
    """

    constant: dict[str, float]
    uniform: float
    proportional: float


def f1_by_class(
    counts: Int[np.ndarray, "*draws n_labels n_answers"],
) -> Float[np.ndarray, "*draws n_labels"]:
    """F1 of each class: 2 · right / (times answered + times true); an unparsed answer is a miss.

    0 for a class that occurs and is never answered; NaN for one that does not occur.
    """
    n_labels = counts.shape[-2]
    right = np.diagonal(counts, axis1=-2, axis2=-1)[..., :n_labels]
    answered, true = counts[..., :n_labels].sum(axis=-2), counts.sum(axis=-1)
    return np.where(true > 0, 2 * right / np.maximum(answered + true, 1), np.nan)


def macro_f1(
    counts: Int[np.ndarray, "*draws n_labels n_answers"],
) -> Float[np.ndarray, "*draws"]:
    """Mean F1 of the classes that occur, each with the same weight; NaN where none does.

    Args:
        counts: By gold label and answer, as `otoscope.statistics.labels.confusion` gives them.
    """
    by_class = f1_by_class(counts)
    occurs = ~np.isnan(by_class)
    n_classes = occurs.sum(axis=-1)
    total = np.where(occurs, by_class, 0).sum(axis=-1)
    return np.where(n_classes > 0, total / np.maximum(n_classes, 1), np.nan)


def blind_macro_f1(class_sizes: Mapping[str, int]) -> Blind:
    """What guessing gets, with expected counts put in place of counts.

    Guessing each label with its own probability is worth 2·p·q / (p + q) for a class that makes up
    p of the items and q of the answers.

    >>> blind = blind_macro_f1({"increase": 1200, "decrease": 1200, "constant": 100})
    >>> round(max(blind.constant.values()), 3), round(blind.uniform, 3)
    (0.216, 0.286)

    Args:
        class_sizes: Number of items of each label that may be answered, 0 for one that does not
            occur. Without any item all is NaN.
    """
    sizes = np.array(list(class_sizes.values()), dtype=np.float64)
    if sizes.sum() == 0:
        nothing = float("nan")
        return Blind(dict.fromkeys(class_sizes, nothing), nothing, nothing)
    true = sizes / sizes.sum()

    def worth(answered: np.ndarray) -> float:
        by_class = 2 * true * answered / np.where(true > 0, true + answered, 1)
        return float(by_class[true > 0].mean())

    constant = {
        label: worth(row) for label, row in zip(class_sizes, np.eye(len(sizes)), strict=True)
    }
    return Blind(constant, worth(np.full(len(sizes), 1 / len(sizes))), worth(true))


def macro_f1_interval(
    coded: Coded,
    clusters: np.ndarray | None,
    *,
    rng: np.random.Generator,
    n_resamples: int = N_RESAMPLES,
    confidence: float = 0.95,
) -> Interval:
    """Percentile bootstrap interval of macro F1, resampling whole clusters where they are given.

    Wilson's interval is for shares of right answers, which macro F1 is not. Each resample averages
    over the classes that occur in it. No items: NaN.
    """
    if coded.gold.size == 0:
        return UNKNOWN
    n_labels, n_answers = len(coded.labels), len(coded.labels) + 2
    cell = coded.gold * n_answers + coded.answer
    if clusters is None:
        cells = np.bincount(cell, minlength=n_labels * n_answers)
        draws = rng.multinomial(cell.size, cells / cell.size, size=n_resamples)
    else:
        _, member = np.unique(clusters, return_inverse=True)
        n_clusters = int(member.max()) + 1
        per_cluster = np.zeros((n_clusters, n_labels * n_answers), dtype=np.int64)
        np.add.at(per_cluster, (member, cell), 1)
        times = rng.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), size=n_resamples)
        draws = times @ per_cluster
    estimate = float(macro_f1(confusion(coded)))
    scores = macro_f1(draws.reshape(n_resamples, n_labels, n_answers))
    low, high = np.quantile(scores, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(estimate, min(float(low), estimate), max(float(high), estimate))


def score_macro_f1(
    references: Column,
    answers: Sequence[str | None],
    labels: Sequence[str],
    *,
    clusters: Column | None = None,
    by: Mapping[str, Column] | None = None,
    seed: int = SEED,
) -> Scores:
    """Macro F1 over every item that was asked, and what guessing would get.

    What is not defined is None. Keys: `n`, `n_parsed`, `parsed_rate`, `accuracy`, `macro_f1` with
    `macro_f1_low/high` (bootstrap; of whole clusters where given), `best_constant`,
    `uniform_guess`, `proportional_guess`, `f1_LABEL` for each label.

    Args:
        references: Gold labels: names, or positions in `labels`.
        answers: Parsed answers, None where unparsed.
        labels: What may be answered.
        clusters: Source of each item.
        by: Breakdowns: name to one value per item; nested under the name in the result.
        seed: Start of the bootstrap's draws.

    Raises:
        ValueError: An unknown reference, or lengths differ.
    """
    coded = code(references, answers, labels)
    if clusters is not None and len(clusters) != len(answers):
        raise ValueError(f"{len(clusters)} clusters for {len(answers)} answers")
    names = None if clusters is None else np.asarray(clusters).astype(str)

    def score(items: np.ndarray, rng: np.random.Generator) -> Scores:
        chosen = coded.at(items)
        counts = confusion(chosen)
        n, n_parsed = int(counts.sum()), int(counts[:, :-1].sum())
        interval = macro_f1_interval(chosen, None if names is None else names[items], rng=rng)
        blind = blind_macro_f1(dict(zip(labels, counts.sum(axis=1).tolist(), strict=True)))
        return {
            "n": n,
            "n_parsed": n_parsed,
            "parsed_rate": ratio(n_parsed, n),
            "accuracy": ratio(int(np.trace(counts)), n),
            "macro_f1": interval.estimate,
            "macro_f1_low": interval.low,
            "macro_f1_high": interval.high,
            "best_constant": max(blind.constant.values()),
            "uniform_guess": blind.uniform,
            "proportional_guess": blind.proportional,
            **{f"f1_{name}": f for name, f in zip(labels, f1_by_class(counts), strict=True)},
        }

    return plain(break_down(len(answers), by, score, seed=seed))
