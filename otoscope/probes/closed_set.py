"""Linear probes of a closed set of labels: logistic and ridge, on standardised features.

A probe has a score for each label and predicts the one with the largest. What a probe holds is
plain arrays, so that it can be stored, and frozen before held-out labels are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import log_softmax

RIDGE_ALPHAS = tuple(float(alpha) for alpha in np.logspace(-1, 5, 13))
"""Penalties that `fit_ridge` chooses from, on standardised features."""

MOST_STEPS = 10_000


@dataclass(frozen=True)
class ClosedSetProbe:
    """Scores of labels, linear in the features.

    Attributes:
        mean, scale: What features are standardised with, `(width,)`.
        weights: `(n_labels, width)`; 0 for a label that no fitted row has.
        bias: `(n_labels,)`; minus infinity for a label that no fitted row has.
    """

    mean: Float[np.ndarray, " width"]
    scale: Float[np.ndarray, " width"]
    weights: Float[np.ndarray, "n_labels width"]
    bias: Float[np.ndarray, " n_labels"]

    def scores(self, rows: Float[np.ndarray, "n width"]) -> Float[np.ndarray, "n n_labels"]:
        """The score of each label."""
        return (rows - self.mean) / self.scale @ self.weights.T + self.bias


def identity_probe(bias: Float[np.ndarray, " n_labels"]) -> ClosedSetProbe:
    """A probe that adds a bias to scores of labels, and does nothing else."""
    n_labels = len(bias)
    return ClosedSetProbe(np.zeros(n_labels), np.ones(n_labels), np.eye(n_labels), bias)


def fit_logistic(
    rows: Float[np.ndarray, "n width"],
    labels: Int[np.ndarray, " n"],
    n_labels: int,
    *,
    C: float = 1.0,
    balanced: bool = False,
) -> ClosedSetProbe:
    """Multinomial logistic regression with an L2 penalty; the intercept is not penalised.

    The loss is `C` times the summed cross-entropy in nats, plus half the squared weights.

    Args:
        labels: Index of each row's label; at least two occur.
        balanced: Whether each label counts the same in the loss, however many rows have it; their
            weights still add up to the number of rows.
    """
    from sklearn.linear_model import LogisticRegression

    mean, scale, scaled = _standardised(rows)
    axes = None
    if scaled.shape[0] < scaled.shape[1]:  # the optimum lies in the span of the rows
        _, _, axes = np.linalg.svd(scaled, full_matrices=False)
        scaled = scaled @ axes.T
    weighting = "balanced" if balanced else None
    model = LogisticRegression(C=C, max_iter=MOST_STEPS, class_weight=weighting)
    model.fit(scaled, labels)
    weights, bias = model.coef_, model.intercept_
    if len(model.classes_) == 2:  # scikit-learn has one row, the difference of both
        weights, bias = np.concatenate([-weights, weights]) / 2, np.concatenate([-bias, bias]) / 2
    weights = weights if axes is None else weights @ axes
    return _probe(mean, scale, weights, bias, model.classes_, n_labels)


def fit_ridge(
    rows: Float[np.ndarray, "n width"],
    labels: Int[np.ndarray, " n"],
    n_labels: int,
    folds: Int[np.ndarray, " n"],
    *,
    alphas: Sequence[float] = RIDGE_ALPHAS,
) -> tuple[ClosedSetProbe, float]:
    """Ridge regression on +1 for the label and -1 for the others.

    The penalty has the best accuracy over folds, each predicted by the others; ties go to the
    larger one.

    Returns:
        The probe, whose scores are those regressions, and the penalty.
    """
    right = np.zeros(len(alphas))
    for k in np.unique(folds):
        train = folds != k
        if len(np.unique(labels[train])) < 2:
            continue
        for i, alpha in enumerate(alphas):
            fitted = _ridge(rows[train], labels[train], n_labels, alpha)
            right[i] += (fitted.scores(rows[~train]).argmax(axis=1) == labels[~train]).sum()
    alpha = max(zip(right, alphas, strict=True))[1]
    return _ridge(rows, labels, n_labels, alpha), alpha


def _ridge(rows: np.ndarray, labels: np.ndarray, n_labels: int, alpha: float) -> ClosedSetProbe:
    from sklearn.linear_model import RidgeClassifier

    mean, scale, scaled = _standardised(rows)
    model = RidgeClassifier(alpha=alpha).fit(scaled, labels)
    weights, bias = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    if len(model.classes_) == 2:
        weights, bias = np.concatenate([-weights, weights]), np.concatenate([-bias, bias])
    return _probe(mean, scale, weights, bias, model.classes_, n_labels)


def _standardised(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = rows.astype(np.float64)
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(scale > 1e-12 * np.maximum(1, np.abs(mean)), scale, 1.0)
    return mean, scale, (rows - mean) / scale


def _probe(
    mean: np.ndarray,
    scale: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray,
    classes: np.ndarray,
    n_labels: int,
) -> ClosedSetProbe:
    full = np.zeros((n_labels, weights.shape[1]))
    full_bias = np.full(n_labels, -np.inf)
    full[classes], full_bias[classes] = weights, bias
    return ClosedSetProbe(mean, scale, full, full_bias)


def log_loss(scores: Float[np.ndarray, "n n_labels"], labels: Int[np.ndarray, " n"]) -> float:
    """Mean cross-entropy in nats of scores that are logits.

    >>> round(log_loss(np.zeros((2, 4)), np.array([0, 3])), 4)
    1.3863
    """
    return float(-log_softmax(scores, axis=1)[np.arange(len(labels)), labels].mean())
