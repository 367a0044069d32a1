"""Permutation test (QAP) of the association of two square tables with the same rows and columns."""

from itertools import permutations

import numpy as np
from jaxtyping import Float

MOST_NAMES = 9
CHUNK = 20_000


def relabelling_test(
    first: Float[np.ndarray, "n_rows n_columns"], second: Float[np.ndarray, "n_others n_their_own"]
) -> tuple[float, float]:
    """Association of two tables off their diagonals, and its exact permutation p-value.

    Cells of one row or column are dependent. Permuting rows and columns of the first table alike
    keeps that dependence and removes only the association with the second. All n! permutations are
    evaluated.

    >>> table = np.array([[0.0, 1, 1], [-1, 0, 1], [-1, -1, 0]])
    >>> relabelling_test(table, table)  # 6 as given; the other five orders agree less
    (6.0, 0.16666666666666666)

    Args:
        first, second: Signs, or centred ranks; 0 for a cell without information.

    Returns:
        The sum of products over the cells off the diagonal, and the share of permutations, the
        identity included, whose sum is at least that: 1 / n! at least.

    Raises:
        ValueError: Tables that are not square, differ in size or are larger than nine, or values
            that are not finite.

    Source: N. Mantel (1967), Cancer Research 27, 209; L. Hubert and J. Schultz (1976), "Quadratic
    assignment as a general data analysis strategy".
    """
    n = len(first)
    if first.shape != (n, n) or second.shape != (n, n):
        raise ValueError(f"expected two square tables, got {first.shape} and {second.shape}")
    if n > MOST_NAMES:
        raise ValueError(f"{n} names have too many orders to try all; at most {MOST_NAMES}")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("cells must be finite; use 0 for one without information")
    off = ~np.eye(n, dtype=bool)
    weights = np.where(off, second, 0.0)
    orders = np.array(list(permutations(range(n))), dtype=np.int8)
    sums = np.concatenate(
        [
            np.tensordot(first[chunk[:, :, None], chunk[:, None, :]], weights, axes=2)
            for chunk in np.array_split(orders, -(-len(orders) // CHUNK))
        ]
    )
    return float(sums[0]), float(np.mean(sums >= sums[0] - 1e-9))
