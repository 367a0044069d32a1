"""The interval of a paired difference that decides: Tango's, or a clustered one."""

import numpy as np
from jaxtyping import Bool, Shaped

from otoscope.statistics.clustered_pairs import clustered_difference, gains_of_clusters
from otoscope.statistics.intervals import ASSUMED_CORRELATION, UNKNOWN, Interval
from otoscope.statistics.pairs import paired_counts
from otoscope.statistics.tango import tango_at_size, tango_interval


def paired_difference(
    first: Bool[np.ndarray, " n_items"],
    second: Bool[np.ndarray, " n_items"],
    clusters: Shaped[np.ndarray, " n_names"] | None = None,
    *,
    confidence: float = 0.95,
) -> Interval:
    """Interval of the difference in shares; never of width zero inside -1 to 1.

    Tango's where questions are independent: without clusters, or with one question in each.
    Otherwise `clustered_difference`. Where both are right on the same questions, nothing is known
    of how alike the differences of a cluster are: then Tango's at the effective sample size that
    `ASSUMED_CORRELATION` implies. One cluster of several questions: -1 to 1. No questions: NaN.

    Raises:
        ValueError: Lengths differ, or a confidence outside (0, 1).
    """
    if first.size != second.size:
        raise ValueError(f"{first.size} and {second.size} answers")
    if first.size == 0:
        return UNKNOWN
    if clusters is None:
        return tango_interval(paired_counts(first, second), confidence=confidence)
    gains, member = gains_of_clusters(first, second, clusters)
    sizes = np.bincount(member)
    if sizes.max() == 1:
        return tango_interval(paired_counts(first, second), confidence=confidence)
    if sizes.size == 1:
        return Interval(float(gains.mean()), -1.0, 1.0)
    if gains.any():
        return clustered_difference(first, second, clusters, confidence=confidence)
    alike = float(sizes @ sizes) / first.size
    n = first.size / (1 + ASSUMED_CORRELATION * (alike - 1))
    return tango_at_size(0, 0, n, confidence=confidence)
