"""The ridge baseline: ridge regression in closed form, each source predicted by the others.

The published probe stops after a fixed number of steps. An exact fit shows whether a low accuracy
is due to that. One decomposition gives, for every penalty, the leave-one-source-out predictions,
and with them the penalty to choose.

For squared error and a quadratic penalty, leaving out the rows g changes the predictions by
P_g (I - H_gg)⁻¹ e_g, where e are the residuals with everything in, H = 11ᵀ/n + Z D Zᵀ the matrix
that makes predictions of labels, and P_g its counterpart for the rows that are predicted.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

from otoscope.errors import InvalidValue

PENALTIES = tuple(float(p) for p in np.logspace(-4, 2, 13))
"""In units of the mean variance that the features have along their principal directions."""

NEGLIGIBLE = 1e-7
"""Directions with less than this share of the largest variance are rounding, and left out."""


class RidgeFit(NamedTuple):
    """Predictions of ridge regression for the test rows.

    Attributes:
        scores: Predicted label, +1 for `increase` and -1 for `decrease`, `(n_test, n_labellings)`;
            0 and above predicts `increase`.
        penalties: The penalty chosen for each labelling, one of `PENALTIES`.
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
    """Predicts rows by ridge regression fitted without their source.

    The penalty minimises the squared error over the rows of `scaled`, each source predicted by the
    others. It is chosen separately for each labelling.

    Args:
        scaled: Features with the mean of each column at 0, as from `Scaling.apply`.
        labels: Whether each row is labelled `increase`, one column for each labelling.
        sources: Source of each row; at least two.
        test, test_sources: Rows to predict. A source that is not among `sources` is predicted from
            all rows.
        penalties: To choose from.

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
        raise InvalidValue(
            f"a source cannot be predicted by others: there is only {names.tolist()}"
        )
    if min(penalties) <= 0:
        raise InvalidValue(f"penalties must be above 0, got {penalties}")
    at = _principal(scaled, test)
    signs = np.where(labels, 1.0, -1.0)
    rows_of = [np.flatnonzero(member == k) for k in range(len(names))]
    test_rows_of = [np.flatnonzero(test_sources == name) for name in names]
    # without any variance, as of a token that is the same in all rows, every penalty gives the mean
    unit = at.variances.mean() if at.variances.size else 1.0
    tried = [
        _without_own_source(at, signs, rows_of, test_rows_of, penalty)
        for penalty in np.array(penalties) * unit
    ]
    best = np.argmin([squared_error for squared_error, _ in tried], axis=0)
    scores = np.stack([tried[b][1][:, k] for k, b in enumerate(best)], axis=1)
    return RidgeFit(scores, np.array(penalties)[best])


class _Principal(NamedTuple):
    """Rows in the coordinates in which the training rows do not covary.

    `variances` are the sums of squares of the columns of `rows`, the training rows.
    """

    rows: Float[np.ndarray, "n_items rank"]
    test: Float[np.ndarray, "n_test rank"]
    variances: Float[np.ndarray, " rank"]


def _principal(scaled: np.ndarray, test: np.ndarray) -> _Principal:
    """By the smaller of the two Gram matrices of the training rows."""
    rows, test = scaled.astype(np.float64), test.astype(np.float64)
    wide = rows.shape[0] < rows.shape[1]
    variances, axes = np.linalg.eigh(rows @ rows.T if wide else rows.T @ rows)
    kept = variances > NEGLIGIBLE * variances[-1]
    variances, axes = variances[kept], axes[:, kept]
    if wide:
        length = np.sqrt(variances)
        return _Principal(axes * length, test @ (rows.T @ (axes / length)), variances)
    return _Principal(rows @ axes, test @ axes, variances)


def _without_own_source(
    at: _Principal,
    signs: np.ndarray,
    rows_of: list[np.ndarray],
    test_rows_of: list[np.ndarray],
    penalty: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Squared error over training rows, for each labelling, and predictions of the test rows."""
    n_items = len(at.rows)
    # fit with every source in, in the coordinates where D is diagonal
    shrunk = 1 / (at.variances + penalty)
    mean = signs.mean(axis=0)
    slopes = shrunk[:, None] * (at.rows.T @ signs)
    residuals = signs - mean - at.rows @ slopes
    predicted = mean + at.test @ slopes
    squared_error = np.zeros(signs.shape[1])
    for own, tested in zip(rows_of, test_rows_of, strict=True):
        # (I - H_gg)^-1 e_g: the residuals once the source is left out
        leverage = shrunk[:, None] * at.rows[own].T
        left_out = np.linalg.solve(
            np.eye(len(own)) - 1 / n_items - at.rows[own] @ leverage, residuals[own]
        )
        squared_error += (left_out**2).sum(axis=0)
        predicted[tested] -= (1 / n_items + at.test[tested] @ leverage) @ left_out
    return squared_error, predicted
