"""Sums over resampled clusters, in blocks of draws that stay small whatever the number of clusters.

Statistics that are functions of sums over items (shares, macro F1, cost, points of a curve) are
computed from the sums of each resample, so that one set of resamples serves all of them.
"""

import numpy as np
from jaxtyping import Float, Int, Shaped

MOST_AT_ONCE = 2**23
"""Numbers in a block of draws: 64 MiB of counts, and as much again as floating-point numbers."""


def cluster_draws(
    n_clusters: int, n_resamples: int, rng: np.random.Generator
) -> Int[np.ndarray, "n_resamples n_clusters"]:
    """How often each cluster occurs in each resample."""
    return rng.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), size=n_resamples)


def cluster_sums(
    values: Shaped[np.ndarray, "n_items n_columns"], clusters: Shaped[np.ndarray, " n_items"]
) -> Float[np.ndarray, "n_clusters n_columns"]:
    """Sums of each column over the items of each cluster, clusters in the order of their names."""
    _, member = np.unique(clusters, return_inverse=True)
    order = np.argsort(member, kind="stable")
    starts = np.searchsorted(member[order], np.arange(int(member.max(initial=-1)) + 1))
    if starts.size == len(values):
        return values[order].astype(np.float64)
    return np.add.reduceat(values[order].astype(np.float64), starts, axis=0)


def resampled_sums(
    sums: Shaped[np.ndarray, "n_clusters n_columns"],
    *,
    rng: np.random.Generator,
    n_draws: int,
    most_at_once: int = MOST_AT_ONCE,
) -> Float[np.ndarray, "n_draws n_columns"]:
    """Sums of each column over as many clusters, drawn with replacement.

    The same numbers whatever the size of a block. Counts are summed exactly.

    >>> resampled_sums(np.array([[1, 10], [1, 10]]), rng=np.random.default_rng(0), n_draws=1)
    array([[ 2., 20.]])

    Args:
        sums: Of each cluster, see `cluster_sums`; at least one cluster.
        most_at_once: How many numbers a block of draws may have.
    """
    n_clusters = len(sums)
    floats = sums.astype(np.float64, copy=False)
    made = np.empty((n_draws, floats.shape[1]))
    n_block = max(1, most_at_once // n_clusters)
    for start in range(0, n_draws, n_block):
        times = cluster_draws(n_clusters, min(n_block, n_draws - start), rng)
        made[start : start + len(times)] = times.astype(np.float64) @ floats
    return made
