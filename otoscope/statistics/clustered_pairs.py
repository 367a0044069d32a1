"""Paired comparison of two sets of answers, with several questions about each source."""

import numpy as np
from jaxtyping import Bool, Shaped

from otoscope.statistics.intervals import (
    UNKNOWN,
    Interval,
    check_draws,
    means_of_groups,
    reach_of_t,
    wilson,
)


def clustered_difference(
    first: Bool[np.ndarray, " n_items"],
    second: Bool[np.ndarray, " n_items"],
    clusters: Shaped[np.ndarray, " n_items"],
    *,
    groups: Shaped[np.ndarray, " n_items"] | None = None,
    confidence: float = 0.95,
) -> Interval:
    """Interval of the difference in shares, from the spread between clusters.

    The estimate is the plain difference, or the mean of the groups' differences. Its variance comes
    from each cluster's deviation. The interval is Student's t with one degree of freedom less than
    there are clusters, limited to -1 and 1.

    Where all clusters agree there is no spread to measure. Then at most a share w of clusters
    differs from those observed (Wilson's upper bound for 0 of n), by no more than the scale allows,
    and the interval reaches that far. One cluster: -1 to 1. No questions: NaN.

    Args:
        first, second: Whether each answer is correct; item i is the same question.
        clusters: Which cluster (source clip) each question belongs to.
        groups: Groups of equal weight whatever their size, such as categories.

    Raises:
        ValueError: Lengths differ, or a confidence outside (0, 1).

    Source: W. G. Cochran (1977), Sampling Techniques, 3rd ed., section 6.3 (ratio estimates).
    """
    check_draws(confidence)
    if first.size == 0:
        return UNKNOWN
    gain, member = gains_of_clusters(first, second, clusters)
    means, group, size = means_of_groups(gain, groups)
    estimate, n_clusters = float(means.mean()), int(member.max()) + 1
    if n_clusters == 1:
        return Interval(estimate, -1.0, 1.0)
    excess = np.bincount(member, weights=(gain - means[group]) / (size[group] * len(size)))
    if np.allclose(excess, 0, atol=1e-12):
        unlike = wilson(0, n_clusters, confidence=confidence).high
        return Interval(
            estimate, estimate - unlike * (1 + estimate), estimate + unlike * (1 - estimate)
        )
    reach = reach_of_t(excess, confidence)
    return Interval(estimate, max(-1.0, estimate - reach), min(1.0, estimate + reach))


def gains_of_clusters(
    first: np.ndarray, second: np.ndarray, clusters: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """First minus second for each question (-1, 0 or 1), and the number of its cluster."""
    if not first.size == second.size == clusters.size:
        raise ValueError(
            f"{first.size} and {second.size} answers but {clusters.size} cluster names"
        )
    _, member = np.unique(clusters, return_inverse=True)
    return first.astype(np.int64) - second, member
