"""A second opinion in closed form: ridge regression, each source predicted without itself.

The published probe stops after a fixed number of steps; whether a layer looks poor because of that
is told by a line that is fitted exactly. One decomposition gives every penalty, the prediction of
each source by all the others, and from that the penalty to take.

For squared error and a quadratic penalty, leaving out the rows g changes the predictions by
P_g (I - H_gg)⁻¹ e_g, where e are the residuals with everything in, H = 11ᵀ/n + Z D Zᵀ the matrix
that makes predictions of labels, and P_g its counterpart for the rows that are predicted.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

PENALTIES = tuple(float(p) for p in np.logspace(-4, 2, 13))
"""In units of the mean variance that the features have along their principal directions."""

NEGLIGIBLE = 1e-7
"""Directions with less than this share of the largest variance are rounding, and left out."""


class RidgeFit(NamedTuple):
    """What ridge regression says of the rows it was asked about.

    Attributes:
        scores: Predicted label, +1 for `increase` and -1 for `decrease`, `(n_test, n_labellings)`;
            0 and above says `increase`.
        penalties: The penalty taken for each labelling, a number of `PENALTIES`.
    """

    scores: Float[np.ndarray, "n_test n_labellings"]
    penalties: Float[np.ndarray, " n_labellings"]


def ridge(
    scaled: Float[np.ndarray, "n_items width"],
    labels: Bool[np.ndarray, "n_labels n_labellings"],
    sources: Shaped[np.ndarray, " n_sources"],
    test: Float[np.ndarray, "n_test width"],
    test_sources: Shaped[np.ndarray, " n_test_sources"],
    *,
    penalties: tuple[float, ...] = PENALTIES,
) -> RidgeFit:
    """Predicts rows by a ridge regression that was fitted without their source.

    The penalty is the one with the least squared error over the rows of `scaled`, each source
    predicted by the others. It is chosen for each labelling by itself.

    Args:
        scaled: Features with the mean of each column at 0, as from `Scaling.apply`.
        labels: Whether each row is labelled `increase`, one column a labelling.
        sources: Which source each row is made from; at least two.
        test, test_sources: Rows to predict. A source that is not among `sources` is predicted by
            everything.
        penalties: To choose from; a single one is taken as it is.

    Raises:
        ValueError: Lengths differ, fewer than two sources, or a penalty not above 0.
    """
    if not len(scaled) == len(labels) == len(sources) or len(test) != len(test_sources):
        raise ValueError(
            f"{len(scaled)} rows, {len(labels)} labels and {len(sources)} sources; to predict "
            f"{len(test)} rows and {len(test_sources)} sources"
        )
    names, member = np.unique(sources, return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"a source cannot be predicted by others: there is only {names.tolist()}")
    if min(penalties) <= 0:
        raise ValueError(f"penalties must be above 0, got {penalties}")
    at = _principal(scaled, test)
    answers = np.where(labels, 1.0, -1.0)
    rows_of = [np.flatnonzero(member == k) for k in range(len(names))]
    test_rows_of = [np.flatnonzero(test_sources == name) for name in names]
    tried = [
        _without_own_source(at, answers, rows_of, test_rows_of, penalty)
        for penalty in np.array(penalties) * at.variances.mean()
    ]
    best = np.argmin([squared_error for squared_error, _ in tried], axis=0)
    scores = np.stack([tried[b][1][:, k] for k, b in enumerate(best)], axis=1)
    return RidgeFit(scores, np.array(penalties)[best])


class _Principal(NamedTuple):
    """Rows in the coordinates in which the training rows do not covary.

    Attributes:
        rows: Training rows, `(n_items, rank)`.
        test: Rows to predict, `(n_test, rank)`.
        variances: Sum of squares of each column of `rows`, `(rank,)`.
    """

    rows: Float[np.ndarray, "n_items rank"]
    test: Float[np.ndarray, "n_test rank"]
    variances: Float[np.ndarray, " rank"]


def _principal(scaled: np.ndarray, test: np.ndarray) -> _Principal:
    """By the smaller of the two products of the training rows with themselves."""
    rows, test = scaled.astype(np.float64), test.astype(np.float64)
    if rows.shape[0] >= rows.shape[1]:
        variances, axes = np.linalg.eigh(rows.T @ rows)
        kept = variances > NEGLIGIBLE * variances[-1]
        axes = axes[:, kept]
        return _Principal(rows @ axes, test @ axes, variances[kept])
    variances, axes = np.linalg.eigh(rows @ rows.T)
    kept = variances > NEGLIGIBLE * variances[-1]
    length = np.sqrt(variances[kept])
    axes = axes[:, kept]
    return _Principal(axes * length, test @ (rows.T @ (axes / length)), variances[kept])


def _without_own_source(
    at: _Principal,
    answers: np.ndarray,
    rows_of: list[np.ndarray],
    test_rows_of: list[np.ndarray],
    penalty: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Squared error over training rows, one a labelling, and predictions of the test rows."""
    n_items = len(at.rows)
    shrunk = 1 / (at.variances + penalty)
    mean = answers.mean(axis=0)
    slopes = shrunk[:, None] * (at.rows.T @ answers)
    residuals = answers - mean - at.rows @ slopes
    predicted = mean + at.test @ slopes
    squared_error = np.zeros(answers.shape[1])
    for own, asked in zip(rows_of, test_rows_of, strict=True):
        reach = shrunk[:, None] * at.rows[own].T
        missed = np.linalg.solve(
            np.eye(len(own)) - 1 / n_items - at.rows[own] @ reach, residuals[own]
        )
        squared_error += (missed**2).sum(axis=0)
        predicted[asked] -= (1 / n_items + at.test[asked] @ reach) @ missed
    return squared_error, predicted
