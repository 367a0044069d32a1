"""Design effect: variance inflation by clusters."""

import math

import numpy as np
from jaxtyping import Bool, Shaped

from otoscope.statistics.clustered_pairs import gains_of_clusters


def paired_design_effect(
    first: Bool[np.ndarray, " n_items"],
    second: Bool[np.ndarray, " n_items"],
    clusters: Shaped[np.ndarray, " n_names"],
) -> float:
    """Variance of the paired difference with clusters over that of independent questions.

    1 where there is no variance. NaN for one cluster or no questions.

    >>> right, wrong = np.array([True, True, False, False]), np.zeros(4, dtype=bool)
    >>> paired_design_effect(right, wrong, np.array([1, 1, 2, 2]))  # 2/1 · (1² + 1²) / (4 · 0.5²)
    4.0

    Args:
        first, second: Whether each answer is correct; item i is the same question.
        clusters: Cluster (source clip) of each question.

    Raises:
        ValueError: Lengths differ.

    Source: L. Kish (1965), Survey Sampling, section 8.2.
    """
    gains, member = gains_of_clusters(first, second, clusters)
    n_clusters = int(member.max(initial=-1)) + 1
    if n_clusters < 2:
        return float("nan")
    excess = gains - gains.mean()
    independent = float(excess @ excess)
    if np.isclose(independent, 0, atol=1e-12):
        return 1.0
    of_cluster = np.bincount(member, weights=excess)
    return n_clusters / (n_clusters - 1) * float(of_cluster @ of_cluster) / independent


def effective_size(n: int, design_effect: float) -> int | None:
    """How many independent examples `n` clustered ones count as; never more, None where unknown.

    >>> effective_size(240, 1.5), effective_size(240, 0.9), effective_size(240, math.nan)
    (160, 240, None)

    Source: L. Kish (1965), Survey Sampling, section 8.2.
    """
    return None if math.isnan(design_effect) else round(n / max(1.0, design_effect))
