"""Are two square tables about the same things alike in more than their rows and columns?"""

from itertools import permutations

import numpy as np
from jaxtyping import Float

MOST_NAMES = 9
CHUNK = 20_000


def relabelling_test(
    first: Float[np.ndarray, "n_rows n_columns"], second: Float[np.ndarray, "n_others n_their_own"]
) -> tuple[float, float]:
    """How alike two tables are off their diagonals, and how often they would be by relabelling.

    Cells of one row have much in common, and so have those of one column, so they cannot be
    counted as if each were a trial of its own. Giving the things in the first table each other's
    names, the same in rows and columns, keeps all of that and breaks only the tie to the second.
    All n! ways are tried; nothing is drawn.

    >>> table = np.array([[0.0, 1, 1], [-1, 0, 1], [-1, -1, 0]])
    >>> relabelling_test(table, table)  # 6 as it is; the other five orders agree less
    (6.0, 0.16666666666666666)

    Args:
        first, second: Signs, or centred ranks; a cell that says nothing is 0 in either.

    Returns:
        The sum of products over the cells off the diagonal, and the share of relabellings, the
        given one counted, whose sum is at least that: 1 / n! at best.

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
        raise ValueError("cells must be finite; one that says nothing is 0")
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
