"""How well one score separates two groups: the area under the ROC curve, within strata.

An area of 0.5 means no separation, 1 that the score is always higher in the positive group, 0 that
it is always lower.
"""

import numpy as np
from jaxtyping import Bool, Float, Shaped
from scipy.stats import norm

from otoscope.statistics.intervals import (
    UNKNOWN,
    Interval,
    check_draws,
    reach_of_t,
    wilson_of_share,
)


def stratified_auc(
    scores: Float[np.ndarray, " n_items"],
    positive: Bool[np.ndarray, " n_items"],
    strata: Shaped[np.ndarray, " n_strata"],
    clusters: Shaped[np.ndarray, " n_names"],
    *,
    confidence: float = 0.95,
) -> Interval:
    """Area under the ROC curve over pairs of items of one stratum, with a clustered interval.

    The share of pairs, one positive and one negative item of the same stratum, in which the
    positive item has the higher score; a tie counts one half (Mann and Whitney's U over the number
    of pairs). Strata are averaged with the number of their pairs as weights.

    The variance comes from each cluster's excess of won pairs over the expectation, pairs with
    items of other clusters included. The interval is Student's t with one degree of freedom less
    than there are clusters, on the logit scale. (A cluster bootstrap gives intervals that are too
    short with few clusters, and skewed: it compares a cluster with its own copy.)

    Without spread between clusters the interval is Wilson's for as many items as there are
    clusters. The exception is an area of exactly 0.5, which then
    follows from scores that are equal under both labels: the interval is 0.5 to 0.5. One cluster:
    0 to 1.

    Args:
        scores: Finite numbers.
        positive: Whether each item is in the positive group.
        strata: Only items of one stratum are compared.
        clusters: Cluster (source clip) of each item.

    Returns:
        All NaN where no stratum holds both groups.

    Raises:
        ValueError: Lengths differ, a score that is not finite, or a confidence outside (0, 1).

    Source: N. A. Obuchowski (1997), "Nonparametric analysis of clustered ROC curve data",
    https://doi.org/10.2307/2533958; strata weighted by pairs.
    """
    if not len(scores) == len(positive) == len(strata) == len(clusters):
        raise ValueError(
            f"{len(scores)} scores, {len(positive)} labels, {len(strata)} strata and "
            f"{len(clusters)} clusters"
        )
    if not np.isfinite(scores).all():
        raise ValueError(f"{np.sum(~np.isfinite(scores))} scores are NaN or infinite")
    check_draws(confidence)
    names, member = np.unique(clusters, return_inverse=True)
    won, pairs = _pairs_of_items(scores, positive, strata)
    n_pairs = float(pairs[positive].sum())
    if not n_pairs:
        return UNKNOWN
    area = float(won[positive].sum()) / n_pairs
    # each pair counts at both of its items, so at its positive and at its negative item's cluster
    pull = np.bincount(member, weights=(won - area * pairs) / n_pairs)
    if len(names) > 1 and np.isclose(area, 0.5) and np.allclose(pull, 0, atol=1e-9):
        return Interval(area, area, area)
    return _interval_of_area(area, pull, confidence)


def _interval_of_area(
    area: float, excess: Float[np.ndarray, " n_clusters"], confidence: float
) -> Interval:
    n_clusters = len(excess)
    if n_clusters == 1:
        return Interval(area, 0.0, 1.0)
    if np.allclose(excess, 0, atol=1e-9):
        return wilson_of_share(area, float(n_clusters), float(norm.ppf((1 + confidence) / 2)))
    reach = reach_of_t(excess, confidence) / (area * (1 - area))
    centre = np.log(area / (1 - area))
    low, high = 1 / (1 + np.exp(-(centre + np.array([-reach, reach]))))
    return Interval(area, float(low), float(high))


def _pairs_of_items(
    scores: np.ndarray, positive: np.ndarray, strata: np.ndarray
) -> tuple[Float[np.ndarray, " n_items"], Float[np.ndarray, " n_items"]]:
    """The pairs that each item is in: those that the positive item won, a tie for half, and all."""
    won, pairs = np.zeros(scores.size), np.zeros(scores.size)
    _, stratum = np.unique(strata, return_inverse=True)
    for here in (
        np.split(np.argsort(stratum, kind="stable"), np.cumsum(np.bincount(stratum))[:-1])
        if scores.size
        else ()
    ):
        high, low = here[positive[here]], here[~positive[here]]
        won[high] = _below(scores[low], scores[high])
        won[low] = high.size - _below(scores[high], scores[low])
        pairs[high], pairs[low] = low.size, high.size
    return won, pairs


def _below(scores: np.ndarray, than: np.ndarray) -> Float[np.ndarray, " n_than"]:
    """How many scores lie below each of `than`; equal ones count one half."""
    ordered = np.sort(scores)
    return (np.searchsorted(ordered, than, "left") + np.searchsorted(ordered, than, "right")) / 2
