"""How much less a set of clustered questions says than as many independent ones."""

import numpy as np
from jaxtyping import Bool, Shaped


def paired_design_effect(
    first: Bool[np.ndarray, " n_items"],
    second: Bool[np.ndarray, " n_items"],
    clusters: Shaped[np.ndarray, " n_names"],
) -> float:
    """Variance of the paired difference with its clusters over that of independent questions.

    Without any spread the two are the same: 1. One cluster, or no questions: NaN.

    >>> right, wrong = np.array([True, True, False, False]), np.zeros(4, dtype=bool)
    >>> paired_design_effect(right, wrong, np.array([1, 1, 2, 2]))  # 2/1 · (1² + 1²) / (4 · 0.5²)
    4.0

    Args:
        first, second: Whether each question was answered rightly; item i is the same question.
        clusters: Which cluster (source clip) each question belongs to.

    Raises:
        ValueError: Lengths differ.

    Source: L. Kish (1965), Survey Sampling, section 8.2.
    """
    if not first.size == second.size == clusters.size:
        raise ValueError(
            f"{first.size} and {second.size} answers but {clusters.size} cluster names"
        )
    _, member = np.unique(clusters, return_inverse=True)
    n_clusters = int(member.max()) + 1 if member.size else 0
    if n_clusters < 2:
        return float("nan")
    excess = first.astype(float) - second
    excess -= excess.mean()
    independent = float(excess @ excess)
    if np.isclose(independent, 0, atol=1e-12):
        return 1.0
    of_cluster = np.bincount(member, weights=excess)
    return n_clusters / (n_clusters - 1) * float(of_cluster @ of_cluster) / independent
