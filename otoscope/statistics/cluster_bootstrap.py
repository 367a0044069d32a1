"""Bootstrap of a paired difference over whole clusters, beside that over single questions."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Shaped

from otoscope.statistics.clustered_pairs import gains_of_clusters
from otoscope.statistics.intervals import UNKNOWN, Interval, check_draws, percentile_interval
from otoscope.statistics.pairs import N_DRAWS


class BootstrapOfClusters(NamedTuple):
    """Percentile intervals of one difference, of clusters and of single questions.

    Attributes:
        clusters, rows: The intervals, whose estimate is the same.
        n_clusters: Number of clusters.
        variance_ratio: Variance of the resamples of clusters over that of resamples of questions:
            the design effect. NaN where questions have no variance.
    """

    clusters: Interval
    rows: Interval
    n_clusters: int
    variance_ratio: float


def bootstrap_clusters(
    first: Bool[np.ndarray, " n_items"],
    second: Bool[np.ndarray, " n_items"],
    clusters: Shaped[np.ndarray, " n_names"],
    *,
    rng: np.random.Generator,
    n_draws: int = N_DRAWS,
    confidence: float = 0.95,
) -> BootstrapOfClusters:
    """Percentile bootstrap of the difference in shares, resampling clusters with all their rows.

    Both answers of a question stay together. A resample's difference is the sum of its clusters'
    differences over the sum of their sizes. Clusters of the same size and difference are counted
    instead of drawn one by one, which is the same law. No questions: NaN.

    Raises:
        ValueError: Lengths differ, no draws, or a confidence outside (0, 1).

    Source: A. C. Davison and D. V. Hinkley (1997), Bootstrap Methods and their Application, 3.8.
    """
    check_draws(confidence, n_draws=n_draws)
    gains, member = gains_of_clusters(first, second, clusters)
    if gains.size == 0:
        return BootstrapOfClusters(UNKNOWN, UNKNOWN, 0, float("nan"))
    sums = np.bincount(member, weights=gains)
    sizes = np.bincount(member)
    estimate = float(gains.mean())
    of_clusters = _resamples(sums, sizes, rng, n_draws)
    of_rows = _resamples(gains, np.ones_like(gains), rng, n_draws)
    variance = float(of_rows.var())
    return BootstrapOfClusters(
        percentile_interval(estimate, of_clusters, confidence),
        percentile_interval(estimate, of_rows, confidence),
        sums.size,
        float(of_clusters.var()) / variance if variance > 0 else float("nan"),
    )


def _resamples(
    sums: np.ndarray, sizes: np.ndarray, rng: np.random.Generator, n_draws: int
) -> np.ndarray:
    kinds, n_of_kind = np.unique(np.stack([sums, sizes]), axis=1, return_counts=True)
    drawn = rng.multinomial(sums.size, n_of_kind / sums.size, size=n_draws)
    return (drawn @ kinds[0]) / (drawn @ kinds[1])
