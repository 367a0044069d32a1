"""Folds of development examples: stratified by label, whole clusters together."""

import hashlib

import numpy as np
from jaxtyping import Int, Shaped

from otoscope.audits.call_value.parts import CallPart
from otoscope.audits.call_value.schema import CallValueError


def example_folds(part: CallPart, n_folds: int, seed: int) -> Int[np.ndarray, " n"]:
    """The fold of each example of a part whose labels are known; see `label_folds`."""
    assert part.gold is not None
    return label_folds(part.clusters, part.gold, n_folds, seed)


def label_folds(
    clusters: Shaped[np.ndarray, " n"], labels: Int[np.ndarray, " n"], n_folds: int, seed: int
) -> Int[np.ndarray, " n"]:
    """The fold of each row.

    Clusters are taken by size, then in an order drawn from the seed and their names, and each goes
    to the fold that then has labels in the most equal shares.

    Raises:
        CallValueError: Fewer clusters than folds.
    """
    names, member = np.unique(clusters.astype(str), return_inverse=True)
    if len(names) < n_folds:
        raise CallValueError(
            f"{n_folds} folds need at least as many development clusters; there are {len(names)}"
        )
    n_labels = int(labels.max()) + 1
    counts = np.zeros((len(names), n_labels))
    np.add.at(counts, (member, labels), 1)
    totals = np.maximum(counts.sum(axis=0), 1)
    drawn = [hashlib.sha256(f"{seed}:{name}".encode()).hexdigest() for name in names]
    order = sorted(range(len(names)), key=lambda i: (-counts[i].sum(), drawn[i]))
    filled = np.zeros((n_folds, n_labels))
    fold = np.empty(len(names), dtype=np.int64)
    for i in order:
        # how uneven the labels' shares over folds become if cluster i goes to each fold: only the
        # fold that it enters changes, by 2·filled·counts + counts² in each label's sum of squares
        change = ((2 * filled + counts[i]) * counts[i] / totals**2).sum(axis=1)
        sizes = filled.sum(axis=1)
        k = min(range(n_folds), key=lambda k: (round(float(change[k]), 12), sizes[k], k))
        fold[i] = k
        filled[k] += counts[i]
    return fold[member]
