"""Paired comparison of two sets of answers, with several questions about each source."""

import numpy as np
from jaxtyping import Bool, Shaped
from scipy.stats import t as student

from otoscope.statistics.intervals import (
    UNKNOWN,
    Interval,
    check_draws,
    means_of_groups,
    reach_of_t,
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
    from each cluster's deviation, but is at least that of independent questions, and at least that
    of questions which all have the same difference, by Bonett and Price's adjusted counts: so
    clusters that agree more never widen the interval. The interval is Student's t with one degree
    of freedom less than there are clusters, limited to -1 and 1.

    Where both are correct on the same questions they differ by exactly 0: 0 to 0. One cluster
    otherwise: -1 to 1. No questions: NaN.

    Args:
        first, second: Whether each answer is correct; item i is the same question.
        clusters: Which cluster (source clip) each question belongs to.
        groups: Groups of equal weight whatever their size, such as categories.

    Raises:
        ValueError: Lengths differ, or a confidence outside (0, 1).

    Source: W. G. Cochran (1977), Sampling Techniques, 3rd ed., section 6.3 (ratio estimates);
    D. G. Bonett and R. M. Price (2012), https://doi.org/10.3102/1076998611411915, for the counts.
    """
    check_draws(confidence)
    if first.size == 0:
        return UNKNOWN
    gain, member = gains_of_clusters(first, second, clusters)
    if not gain.any():
        return Interval(0.0, 0.0, 0.0)
    means, group, size = means_of_groups(gain, groups)
    estimate, n_clusters = float(means.mean()), int(member.max()) + 1
    if n_clusters == 1:
        return Interval(estimate, -1.0, 1.0)
    excess = (gain - means[group]) / (size[group] * len(size))
    # one question more in each direction: p = (n + 1) / (n + 2) and q = 1 / (n + 2),
    # variance (p + q - (p - q)²) / (n + 2)
    alike = float(np.sum(4 * (size + 1) / (size + 2) ** 3)) / len(size) ** 2
    t = float(student.ppf((1 + confidence) / 2, n_clusters - 1))
    least = t * max(float(excess @ excess), alike) ** 0.5
    reach = max(reach_of_t(np.bincount(member, weights=excess), confidence), least)
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
