"""How well one number tells two groups apart: the area under the ROC curve, within strata.

An area of 0.5 means that the number says nothing, 1 that it is always greater in the positive
group, 0 that it is always smaller.
"""

import numpy as np
from jaxtyping import Bool, Float, Shaped

from otoscope.statistics.intervals import UNKNOWN, Interval, wilson

SEED = 42
BLOCK = 256  # resamples at a time


def stratified_auc(
    scores: Float[np.ndarray, " n_items"],
    positive: Bool[np.ndarray, " n_items"],
    strata: Shaped[np.ndarray, " n_strata"],
    clusters: Shaped[np.ndarray, " n_names"],
    *,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = SEED,
) -> Interval:
    """Area under the ROC curve over pairs of items of one stratum, with a clustered interval.

    The share of pairs, one positive and one negative item of the same stratum, in which the
    positive item has the higher score; a tie counts one half (Mann and Whitney's U over the number
    of pairs). Strata are averaged with the number of their pairs as weights.

    The interval is the percentile interval of the same area when whole clusters are drawn with
    replacement; a pair counts as often as both its items' clusters were drawn. Where every resample
    has an area of 0, or of 1, there is no spread to measure and the bound is Wilson's for as many
    items as there are clusters; a single cluster says nothing about others, 0 to 1. A score that
    cannot tell the groups apart by design, whatever the cluster, has the interval 0.5 to 0.5.

    Args:
        scores: Finite numbers.
        positive: Which group each item belongs to.
        strata: Only items of one stratum are compared.
        clusters: Which cluster (source clip) each item belongs to.
        n_resamples, confidence, seed: Of the interval; the same seed gives the same interval.

    Returns:
        All NaN where no stratum holds both groups.

    Raises:
        ValueError: Lengths differ, a score that is not finite, fewer than one resample, or a
            confidence outside (0, 1).

    Source: H. B. Mann and D. R. Whitney (1947), https://doi.org/10.1214/aoms/1177730491; strata
    as in E. van Elteren's test (1960), weighted by pairs.
    """
    if not len(scores) == len(positive) == len(strata) == len(clusters):
        raise ValueError(
            f"{len(scores)} scores, {len(positive)} labels, {len(strata)} strata and "
            f"{len(clusters)} clusters"
        )
    if not np.isfinite(scores).all():
        raise ValueError(f"{np.sum(~np.isfinite(scores))} scores are NaN or infinite")
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, got {n_resamples}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    names, member = np.unique(clusters, return_inverse=True)
    won, pairs = _pairs_of_clusters(scores, positive, strata, member, len(names))
    if not pairs.sum():
        return UNKNOWN
    area = float(won.sum() / pairs.sum())
    if len(names) == 1:
        return Interval(area, 0.0, 1.0)
    resampled = _resampled(won, pairs, n_resamples, np.random.default_rng(seed))
    if np.all(resampled == 0) or np.all(resampled == 1):
        return wilson(len(names) * round(area), len(names), confidence=confidence)
    low, high = np.quantile(resampled, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(area, min(float(low), area), max(float(high), area))


def _pairs_of_clusters(
    scores: np.ndarray, positive: np.ndarray, strata: np.ndarray, member: np.ndarray, n: int
) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n n"]]:
    """Won and all pairs, by the positive item's cluster and the negative item's."""
    won, pairs = np.zeros((n, n)), np.zeros((n, n))
    by_cluster = np.argsort(member, kind="stable")
    for stratum in np.unique(strata):
        here = by_cluster[strata[by_cluster] == stratum]
        high, low = here[positive[here]], here[~positive[here]]
        if not (high.size and low.size):
            continue
        of_high, first_high, n_high = _runs(member[high])
        of_low, first_low, n_low = _runs(member[low])
        result = (np.sign(scores[high][:, None] - scores[low]) + 1) / 2
        summed = np.add.reduceat(np.add.reduceat(result, first_high), first_low, axis=1)
        won[np.ix_(of_high, of_low)] += summed
        pairs[np.ix_(of_high, of_low)] += np.outer(n_high, n_low)
    return won, pairs


def _runs(ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each value of an ordered array, where it begins, and how often it comes."""
    return np.unique(ordered, return_index=True, return_counts=True)


def _resampled(
    won: np.ndarray, pairs: np.ndarray, n_resamples: int, rng: np.random.Generator
) -> Float[np.ndarray, " n_known"]:
    """The area in each resample of clusters that holds a pair at all."""
    n = len(won)
    areas = []
    for first in range(0, n_resamples, BLOCK):
        drawn = rng.multinomial(n, np.full(n, 1 / n), size=min(BLOCK, n_resamples - first))
        counts = drawn.astype(float)
        n_pairs = np.einsum("ri,ri->r", counts @ pairs, counts)
        n_won = np.einsum("ri,ri->r", counts @ won, counts)
        areas.append(n_won[n_pairs > 0] / n_pairs[n_pairs > 0])
    return np.concatenate(areas)
