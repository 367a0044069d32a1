"""Paired comparison of two sets of answers, with several questions about each source."""

import numpy as np
from jaxtyping import Bool, Shaped
from scipy.stats import t as student

from otoscope.statistics.intervals import check_draws, means_of_groups, wilson
from otoscope.statistics.pairs import UNKNOWN_DIFFERENCE, PairedDifference, difference_of_draws


def clustered_difference(
    first: Bool[np.ndarray, " n_items"],
    second: Bool[np.ndarray, " n_items"],
    clusters: Shaped[np.ndarray, " n_items"],
    *,
    groups: Shaped[np.ndarray, " n_items"] | None = None,
    confidence: float = 0.95,
) -> PairedDifference:
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
        confidence: Coverage, 0.95 by default.

    Raises:
        ValueError: Lengths differ, or a confidence outside (0, 1).

    Source: W. G. Cochran (1977), Sampling Techniques, 3rd ed., section 6.3 (ratio estimates).
    """
    check_draws(confidence)
    if first.size == 0:
        return UNKNOWN_DIFFERENCE
    gain, member = _gains(first, second, clusters)
    means, group, size = means_of_groups(gain, groups)
    estimate, n_clusters = float(means.mean()), int(member.max()) + 1
    if n_clusters == 1:
        return PairedDifference(estimate, -1.0, 1.0)
    excess = np.bincount(member, weights=(gain - means[group]) / (size[group] * len(size)))
    if np.allclose(excess, 0, atol=1e-12):
        unlike = wilson(0, n_clusters, confidence=confidence).high
        return PairedDifference(
            estimate, estimate - unlike * (1 + estimate), estimate + unlike * (1 - estimate)
        )
    error = np.sqrt(n_clusters / (n_clusters - 1) * float(excess @ excess))
    reach = float(student.ppf((1 + confidence) / 2, n_clusters - 1) * error)
    return PairedDifference(estimate, max(-1.0, estimate - reach), min(1.0, estimate + reach))


def clustered_bootstrap_difference(
    first: Bool[np.ndarray, " n_items"],
    second: Bool[np.ndarray, " n_items"],
    clusters: Shaped[np.ndarray, " n_items"],
    *,
    rng: np.random.Generator,
    n_resamples: int = 2000,
    confidence: float = 0.95,
) -> PairedDifference:
    """Percentile interval of the difference from resampling whole clusters with replacement.

    A check on `clustered_difference` without its distributional assumption. With no spread between
    clusters, or one cluster, it has width zero. No questions: NaN.

    Args:
        first, second, clusters, confidence: As in `clustered_difference`.
        rng: Source of the resamples.
        n_resamples: Their number.

    Raises:
        ValueError: Lengths differ, fewer than one resample, or a confidence outside (0, 1).
    """
    check_draws(confidence, n_resamples=n_resamples)
    if first.size == 0:
        return UNKNOWN_DIFFERENCE
    gains, member = _gains(first, second, clusters)
    size, gain = np.bincount(member), np.bincount(member, weights=gains)
    # one row of cluster numbers for each resample
    drawn = rng.integers(len(size), size=(n_resamples, len(size)))
    draws = gain[drawn].sum(axis=1) / size[drawn].sum(axis=1)
    return difference_of_draws(int(gain.sum()) / first.size, draws, confidence)


def _gains(
    first: np.ndarray, second: np.ndarray, clusters: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """First minus second for each question (-1, 0 or 1), and the number of its cluster."""
    if not first.size == second.size == clusters.size:
        raise ValueError(
            f"{first.size} and {second.size} answers but {clusters.size} cluster names"
        )
    _, member = np.unique(clusters, return_inverse=True)
    return first.astype(np.int64) - second, member
