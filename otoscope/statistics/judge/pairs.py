"""Pointwise judgments of the two contexts of an item, together.

A judge that does not hear the voice takes the same reply in both contexts: it is right in exactly
one, its accuracy is 50 % without any spread, and its pair score is 0.

Source: `docs/papers.md`, counterfactual judge audits; pair score and invariance are ours.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from otoscope.statistics.intervals import Interval, named_interval
from otoscope.statistics.judge.states import N_DRAWS, SEED
from otoscope.statistics.resampling import cluster_sums, resampled_sums
from otoscope.statistics.simultaneous import interval_of_draws


class PairScores(NamedTuple):
    """Means over items.

    Attributes:
        accuracy: Share of contexts and orders judged right.
        pair_score: Both contexts right at the same order: 0 for a judge that does not hear the
            voice, 0.25 for a coin.
        strict: Right in both contexts under every order.
        invariance: The same reply taken in both contexts, at the same order.
        sensitivity: Another reply taken. With `invariance` it adds up to 1 where all are answered.
        n_items, n_clusters: How many.
    """

    accuracy: Interval
    pair_score: Interval
    strict: Interval
    invariance: Interval
    sensitivity: Interval
    n_items: int
    n_clusters: int


def pair_scores(
    chosen: Int[np.ndarray, "n_items 2 n_orders"],
    clusters: Shaped[np.ndarray, " n_names"],
    *,
    n_draws: int = N_DRAWS,
    confidence: float = 0.95,
    seed: int = SEED,
) -> PairScores:
    """Scores of pointwise judgments, all from the same resamples of clusters.

    Args:
        chosen: The reply taken by item, context and order: 0 or 1, or -1 where there is no valid
            answer, which is wrong and neither the same nor another. Reply 0 is right in context 0.
        clusters: Of each item.

    Raises:
        ValueError: Another value, no items, or lengths differ.
    """
    if not np.isin(chosen, (-1, 0, 1)).all():
        raise ValueError("a reply is 0 or 1, or -1 where there is no valid answer")
    if len(chosen) != clusters.size or not len(chosen):
        raise ValueError(f"{len(chosen)} items and {clusters.size} cluster names")
    values = np.stack(_columns(chosen), axis=1)
    intervals = _means(values, clusters, n_draws, confidence, seed)
    return PairScores(*intervals, len(chosen), len(np.unique(clusters)))  # type: ignore[call-arg,arg-type]


def _columns(chosen: np.ndarray) -> list[np.ndarray]:
    correct = np.asarray(chosen == np.array([0, 1])[None, :, None])
    both = correct.all(axis=1)
    answered = (chosen >= 0).all(axis=1)
    same = answered & (chosen[:, 0] == chosen[:, 1])
    return [
        correct.mean(axis=(1, 2)),
        both.mean(axis=1),
        np.all(both, axis=1).astype(float),
        same.mean(axis=1),
        (answered & ~same).mean(axis=1),
    ]


def _means(
    values: Float[np.ndarray, "n_items n_columns"],
    clusters: np.ndarray,
    n_draws: int,
    confidence: float,
    seed: int,
) -> list[Interval]:
    """The mean of each column over items, and its interval over resamples of clusters."""
    with_size = np.column_stack([values, np.ones(len(values))])
    sums = cluster_sums(with_size, clusters)
    drawn = resampled_sums(sums, rng=np.random.default_rng(seed), n_draws=n_draws)
    draws = drawn[:, :-1] / drawn[:, -1:]
    return [
        interval_of_draws(float(mean), draws[:, k], confidence=confidence)
        for k, mean in enumerate(values.mean(axis=0))
    ]


def named_scores(found: PairScores) -> dict[str, float]:
    """As a flat dict with `_low` and `_high`, ready for JSON."""
    scores: dict[str, float] = {}
    for name in ("accuracy", "pair_score", "strict", "invariance", "sensitivity"):
        scores |= named_interval(name, getattr(found, name))
    return scores | {"n_items": found.n_items, "n_clusters": found.n_clusters}


class ProtocolGap(NamedTuple):
    """Pairwise against pointwise accuracy of one judge at one cue.

    Attributes:
        gap: Pairwise minus pointwise.
        expected: The pairwise accuracy that the pointwise one implies where each of two clips is
            heard independently and everything else is guessed.
        excess: Pairwise minus expected: what is left to explain.
    """

    pairwise: Interval
    pointwise: Interval
    gap: Interval
    expected: Interval
    excess: Interval


def protocol_gap(
    pairwise: Float[np.ndarray, " n_pairwise"],
    pointwise: Float[np.ndarray, " n_pointwise"],
    clusters: Shaped[np.ndarray, " n_names"],
    *,
    n_draws: int = N_DRAWS,
    confidence: float = 0.95,
    seed: int = SEED,
) -> ProtocolGap:
    """The gap with intervals in which an item's outcomes stay together.

    Args:
        pairwise, pointwise: Mean outcome of each item over orders (and contexts).
        clusters: Of each item.

    Raises:
        ValueError: No items, lengths differ, or an outcome outside 0 to 1.
    """
    if not pairwise.size == pointwise.size == clusters.size or not pairwise.size:
        raise ValueError(
            f"{pairwise.size} pairwise and {pointwise.size} pointwise outcomes, {clusters.size} "
            "cluster names"
        )
    for values in (pairwise, pointwise):
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError("an outcome lies outside 0 to 1")
    columns = np.column_stack([pairwise, pointwise, np.ones(pairwise.size)])
    sums = cluster_sums(columns, clusters)
    drawn = resampled_sums(sums, rng=np.random.default_rng(seed), n_draws=n_draws)
    first, second = drawn[:, 0] / drawn[:, 2], drawn[:, 1] / drawn[:, 2]
    u, v = pairwise.mean(), pointwise.mean()
    pairs = (
        (u, first),
        (v, second),
        (u - v, first - second),
        (two_look(v), two_look(second)),
        (u - two_look(v), first - two_look(second)),
    )
    return ProtocolGap(
        *(interval_of_draws(float(at), draws, confidence=confidence) for at, draws in pairs)
    )


def two_look(pointwise: Any) -> Any:
    """Pairwise accuracy expected from pointwise accuracy, by two independent looks.

    A clip is heard with rate d = 2 · pointwise − 1 (0 below chance); one of two is enough, else the
    judge guesses: 0.5 + 0.5 · (1 − (1 − d)²). Numbers or arrays.

    >>> round(float(two_look(0.653)), 3)
    0.759
    """
    rate = np.maximum(2 * np.asarray(pointwise) - 1, 0)
    return 0.5 + 0.5 * (1 - (1 - rate) ** 2)
