"""Sign-flip test of a paired difference, with several questions about each source."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Shaped
from scipy.signal import convolve
from scipy.stats import binom

from otoscope.statistics.clustered_pairs import gains_of_clusters


class SignFlip(NamedTuple):
    """Result of the test.

    Attributes:
        p_value: Two-sided.
        n_clusters: Number of clusters.
        n_nonzero: Clusters whose difference is not 0: the others carry no information.
    """

    p_value: float
    n_clusters: int
    n_nonzero: int


def cluster_sign_flip(
    first: Bool[np.ndarray, " n_items"],
    second: Bool[np.ndarray, " n_items"],
    clusters: Shaped[np.ndarray, " n_names"],
) -> SignFlip:
    """Exact two-sided test of "both are right equally often", whole clusters at a time.

    Under the null hypothesis the sum of each cluster's differences has either sign equally often.
    The p-value is the share of all sign patterns whose total is at least as far from 0; it is
    exact for any number of clusters. With one question per cluster it is McNemar's exact test.
    1 where no cluster differs.

    >>> right, wrong = np.array([True] * 6), np.array([False] * 6)
    >>> cluster_sign_flip(right, wrong, np.array([1, 1, 2, 2, 3, 3]))  # 2 of 2³ patterns
    SignFlip(p_value=0.25, n_clusters=3, n_nonzero=3)

    Args:
        first, second: Whether each answer is correct; item i is the same question.
        clusters: Cluster (source clip, speaker) of each question.

    Raises:
        ValueError: Lengths differ.

    Source: R. A. Fisher (1935), The Design of Experiments, section 21, with clusters for pairs.
    """
    gains, member = gains_of_clusters(first, second, clusters)
    sums = np.bincount(member, weights=gains).round().astype(np.int64)
    nonzero = sums[sums != 0]
    return SignFlip(sign_flip_p_value(nonzero), sums.size, nonzero.size)


def sign_flip_p_value(sums: Int[np.ndarray, " n_clusters"]) -> float:
    """Share of the sign patterns of `sums` whose total is at least as far from 0; 1 without any."""
    sizes, n_of_size = np.unique(np.abs(sums[sums != 0]), return_counts=True)
    # k clusters of size s add s · (2 · Bin(k, 1/2) - k): in steps of 2s from -ks
    shares = np.ones(1)
    for size, k in zip(sizes.tolist(), n_of_size.tolist(), strict=True):
        of_size = np.zeros(size * k + 1)
        of_size[::size] = binom.pmf(np.arange(k + 1), k, 0.5)
        shares = convolve(shares, of_size)
    total = int(np.abs(sums).sum())
    reached = np.abs(2 * np.arange(shares.size) - total)
    return float(min(1.0, shares[reached >= abs(int(sums.sum()))].clip(0).sum()))
