"""The probe that the published recipe would reach with more steps.

The recipe's number of steps is proportional to the number of rows: 4,800 for the published 12,000
clips, 200 for 512 clips or fewer. With few rows it ends long before its loss is least, and its
accuracy says little. The converged probe has the least mean cross-entropy with a penalty of half
the weight decay times the squared length of the weights, which is unique.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import minimize

from otoscope.probes.probe import ProbeRecipe

PUBLISHED_STEPS = 4800
"""200 epochs of 12,000 rows in batches of 512; a recipe with as many steps is not checked."""

LOSS_TO_GO = 0.05
"""In nats a row: a training loss this much above the least one is not converged."""


class ConvergedProbe(NamedTuple):
    """A probe at the least loss.

    Attributes:
        weights: On standardised features, `(width,)`.
        bias: Not penalised.
        loss: Mean cross-entropy of the training rows, in nats.
    """

    weights: Float[np.ndarray, " width"]
    bias: float
    loss: float


def n_steps(recipe: ProbeRecipe, n_rows: int) -> int:
    """Steps that a recipe takes.

    >>> n_steps(ProbeRecipe(), 12_000), n_steps(ProbeRecipe(), 512), n_steps(ProbeRecipe(), 513)
    (4800, 200, 400)
    """
    return recipe.n_epochs * math.ceil(n_rows / recipe.batch_size)


def converged_probe(
    scaled: Float[np.ndarray, "n_items width"],
    increase: Bool[np.ndarray, " n_items"],
    weight_decay: float,
) -> ConvergedProbe:
    """The probe with the least penalised loss.

    Args:
        scaled: Standardised features.
        increase: Whether each row is labelled `increase`; both labels occur.
        weight_decay: Of the recipe; without any, 1e-6, for separable rows have no optimum.
    """
    rows, signs = scaled.astype(np.float64), np.where(increase, 1.0, -1.0)
    penalty = max(weight_decay, 1e-6)
    axes = None
    if rows.shape[0] < rows.shape[1]:  # the optimum lies in the span of the rows
        variances, vectors = np.linalg.eigh(rows @ rows.T)
        kept = variances > 1e-10 * variances[-1]
        length = np.sqrt(variances[kept])
        axes = rows.T @ (vectors[:, kept] / length)
        rows = vectors[:, kept] * length

    def objective(at: np.ndarray) -> tuple[float, np.ndarray]:
        weights, bias = at[:-1], at[-1]
        margins = signs * (rows @ weights + bias)
        pull = -signs / (1 + np.exp(np.clip(margins, -500, 500))) / len(rows)
        value = np.logaddexp(0, -margins).mean() + penalty / 2 * (weights @ weights)
        return float(value), np.append(rows.T @ pull + penalty * weights, pull.sum())

    start = np.zeros(rows.shape[1] + 1)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
    weights, bias = found[:-1], float(found[-1])
    loss = mean_loss(rows @ weights + bias, increase)
    return ConvergedProbe(weights if axes is None else axes @ weights, bias, loss)


def mean_loss(
    scores: Float[np.ndarray, " n_items"], increase: Bool[np.ndarray, " n_items"]
) -> float:
    """Mean cross-entropy in nats of log-odds of `increase`.

    >>> round(mean_loss(np.zeros(2), np.array([True, False])), 4)
    0.6931
    """
    return float(np.logaddexp(0, -np.where(increase, 1.0, -1.0) * scores).mean())
