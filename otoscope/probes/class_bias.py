"""Class-bias tuning: one number added to each label's score, for the best accuracy."""

import numpy as np
from jaxtyping import Float, Int

MOST_ROUNDS = 100
INSIDE = 1e-6
"""How far a bias is kept from a value at which a prediction changes, as a share of the range."""


def tune_class_bias(
    scores: Float[np.ndarray, "n n_labels"], labels: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n_labels"]:
    """Biases that sum to 0, by coordinate search on accuracy from no bias at all.

    One bias after the other takes, of all values, one with most correct rows; of those the one that
    leaves the biases shortest. The search ends when a round over all labels changes nothing, and
    accuracy is never below that of the scores themselves.

    Args:
        scores: Finite, the larger the likelier.
        labels: Index of each row's label.
    """
    scores = scores.astype(np.float64)
    bias = np.zeros(scores.shape[1])
    reach = max(float(np.ptp(scores)), 1e-12)
    best = _state(scores, labels, bias)
    for _ in range(MOST_ROUNDS):
        before = best
        for k in range(scores.shape[1]):
            for value in _candidates(scores, labels, bias, k, reach):
                tried = bias.copy()
                tried[k] = value
                tried -= tried.mean()
                state = _state(scores, labels, tried)
                if state > best:
                    best, bias = state, tried
        if best == before:
            break
    return bias


def _state(scores: np.ndarray, labels: np.ndarray, bias: np.ndarray) -> tuple[int, float]:
    """Number correct, and minus the length of the bias; rounded, so that rounds end."""
    right = int(((scores + bias).argmax(axis=1) == labels).sum())
    return right, -round(float(np.linalg.norm(bias)), 9)


def _candidates(
    scores: np.ndarray, labels: np.ndarray, bias: np.ndarray, k: int, reach: float
) -> list[float]:
    """In each interval with most correct rows, the value of one bias nearest to the others' mean.

    A row is predicted as label k exactly when the bias is above a threshold of the row.
    """
    others = np.delete(scores + bias, k, axis=1)
    names = np.delete(np.arange(scores.shape[1]), k)
    thresholds = others.max(axis=1) - scores[:, k]
    other_right = names[others.argmax(axis=1)] == labels
    edges = np.unique(thresholds)
    gained = np.searchsorted(np.sort(thresholds[labels == k]), edges, side="right")
    lost = np.searchsorted(np.sort(thresholds[other_right]), edges, side="right")
    right = other_right.sum() + np.concatenate([[0], gained - lost])
    nearest = float(np.delete(bias, k).mean())
    found = []
    for i in np.flatnonzero(right == right.max()):
        low = edges[i - 1] if i else -np.inf
        high = edges[i] if i < len(edges) else np.inf
        inset = min(INSIDE * reach, (high - low) / 2)
        found.append(float(np.clip(nearest, low + inset, high - inset)))
    return found
