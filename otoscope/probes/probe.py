"""The published probe: one linear layer on standardised features, trained on the direction labels.

The draws are those of the published form (`torch.manual_seed`, `nn.Linear`, a `DataLoader` that
shuffles), so a probe comes out as that form would have it, up to rounding. The descent is compiled
and needs no GPU: a probe of 12,000 rows of 3,584 numbers takes a few seconds on one core.

Several labellings of the same rows (the real one and controls) are trained in one pass. They share
the first weights and the order of the rows and nothing else.

Source: VocalGrad, section 5.2 and appendix B.5; standardisation and seed are in the authors' code.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from otoscope.errors import InputError
from otoscope.probes.descent import descend

PUBLISHED_SEED = 1234
SMALLEST_STD = 1e-6
MAX_LEARNING_RATE = 1e3
ROWS_AT_A_TIME = 1024


class ProbeError(InputError, ValueError):
    """Probes that cannot be trained or read; the message says why, and the way out."""


@dataclass(frozen=True)
class ProbeRecipe:
    """How a probe is trained; the defaults are the published ones. The last epoch is used.

    Raises:
        ProbeError: A value out of range.
    """

    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    n_epochs: int = 200
    batch_size: int = 512

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate <= MAX_LEARNING_RATE or not 0 <= self.weight_decay < math.inf:
            raise ProbeError(
                f"the learning rate must be above 0 and at most {MAX_LEARNING_RATE:g}, and the "
                f"weight decay finite and not below 0, got {self.learning_rate} and "
                f"{self.weight_decay}"
            )
        if self.n_epochs < 1 or self.batch_size < 1:
            raise ProbeError(
                f"a probe needs at least 1 epoch and 1 row a batch, got {self.n_epochs} and "
                f"{self.batch_size}"
            )


PUBLISHED = ProbeRecipe()


class Scaling(NamedTuple):
    """Mean and standard deviation of training features, both `(width,)` float32."""

    mean: Float[np.ndarray, " width"]
    std: Float[np.ndarray, " width"]

    def apply(self, features: Float[np.ndarray, "n_items width"]) -> np.ndarray:
        """Features with this mean taken off and in units of this deviation, float32, a copy.

        Raises:
            ValueError: A number is not finite; the first such row is named.
        """
        scaled = features.astype(np.float32)
        _validate_finite(scaled)
        scaled -= self.mean
        scaled /= self.std
        return scaled


class Draws(NamedTuple):
    """The random numbers of a probe.

    Attributes:
        weights: First weights, `(width,)` float32.
        bias: First bias.
        orders: The order of the rows in each epoch, `(n_epochs, n_items)` int32.
    """

    weights: Float[np.ndarray, " width"]
    bias: float
    orders: Int[np.ndarray, "n_epochs n_items"]


class Probes(NamedTuple):
    """Trained probes, one for each labelling.

    Attributes:
        weights: `(n_labellings, width)` float32, on standardised features.
        biases: `(n_labellings,)` float32.
    """

    weights: Float[np.ndarray, "n_labellings width"]
    biases: Float[np.ndarray, " n_labellings"]

    def scores(self, scaled: Float[np.ndarray, "n_items width"]) -> np.ndarray:
        """Log-odds of `increase`, `(n_items, n_labellings)`; 0 and above predicts `increase`."""
        return scaled @ self.weights.T + self.biases


def scaling_of(features: Float[np.ndarray, "n_items width"]) -> Scaling:
    """Mean and population standard deviation of each column.

    A column that hardly varies (below 1e-6) is only centred.

    Raises:
        ValueError: No rows, or a number is not finite.
    """
    if not len(features):
        raise ValueError("there are no rows to take a mean of")
    n_items, width = features.shape
    total, square = np.zeros(width), np.zeros(width)
    for begin in range(0, n_items, ROWS_AT_A_TIME):
        total += features[begin : begin + ROWS_AT_A_TIME].sum(axis=0, dtype=np.float64)
    if not np.isfinite(total).all():
        _validate_finite(features)
    mean = total / n_items
    for begin in range(0, n_items, ROWS_AT_A_TIME):
        away = features[begin : begin + ROWS_AT_A_TIME] - mean
        square += np.einsum("ij,ij->j", away, away)
    std = np.sqrt(square / n_items)
    std[std < SMALLEST_STD] = 1.0
    return Scaling(mean.astype(np.float32), std.astype(np.float32))


@lru_cache(maxsize=8)
def draws(n_items: int, width: int, seed: int, n_epochs: int) -> Draws:
    """First weights and orders as the published form draws them after `torch.manual_seed(seed)`.

    `nn.Linear` draws weights and bias; then, each epoch, a `DataLoader` draws a number for its own
    use and one that seeds the order.
    """
    import torch

    rng = torch.Generator().manual_seed(seed)
    weights = torch.empty(1, width)
    torch.nn.init.kaiming_uniform_(weights, a=math.sqrt(5), generator=rng)
    bound = 1 / math.sqrt(width)
    bias = torch.empty(1).uniform_(-bound, bound, generator=rng)
    orders = np.empty((n_epochs, n_items), np.int32)
    for epoch in range(n_epochs):
        _, seed_of_order = (torch.empty((), dtype=torch.int64).random_(generator=rng) for _ in "12")
        shuffler = torch.Generator().manual_seed(int(seed_of_order))
        orders[epoch] = torch.randperm(n_items, generator=shuffler).numpy()
    return Draws(weights[0].numpy(), float(bias), orders)


def fit(
    scaled: Float[np.ndarray, "n_items width"],
    labels: Bool[np.ndarray, "n_items n_labellings"],
    *,
    seed: int = PUBLISHED_SEED,
    recipe: ProbeRecipe = PUBLISHED,
) -> Probes:
    """Trains a probe for every labelling of the same rows.

    Args:
        scaled: Standardised features, as from `Scaling.apply`.
        labels: Whether each row is labelled `increase`, one column a labelling.
        seed: Of the first weights and of the orders.
        recipe: How to train.

    Raises:
        ValueError: Lengths differ, or there are no rows.
    """
    if len(scaled) != len(labels) or not len(scaled):
        raise ValueError(f"{len(scaled)} rows of features and {len(labels)} of labels")
    drawn = draws(*scaled.shape, seed, recipe.n_epochs)
    n_labellings = labels.shape[1]
    weights = np.tile(drawn.weights, (n_labellings, 1))
    biases = np.full(n_labellings, drawn.bias, np.float32)
    descend(
        np.ascontiguousarray(scaled, np.float32),
        np.ascontiguousarray(labels, np.float32),
        drawn.orders,
        weights,
        biases,
        recipe.batch_size,
        recipe.learning_rate,
        recipe.weight_decay,
    )
    return Probes(weights, biases)


def _validate_finite(features: np.ndarray) -> None:
    bad = ~np.isfinite(features).all(axis=1)
    if bad.any():
        raise ProbeError(
            f"{bad.sum()} of {len(features)} rows of features hold NaN or infinity, the first is "
            f"row {int(bad.argmax())}"
        )
