"""The selector: how likely each action is correct, minus what it costs.

One logistic model over rows of examples and actions predicts whether the action is correct. An
example takes the action with the largest probability minus λ times cost.

Source: M. Geng (2026), arXiv 2608.27817, section 3; the utility is our reading of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from otoscope.audits.call_value.features import feature_rows, is_continuous
from otoscope.audits.call_value.folds import example_folds
from otoscope.audits.call_value.parts import CallPart

LAMBDAS = (0.0, *(float(f"{x:.6g}") for x in np.geomspace(1e-3, 1, 13)))
"""Weights of cost to select from: 0, and 13 with equal ratios from 0.001 to 1."""

SAME_UTILITY = 1e-12
SOLVER = "newton-cholesky"  # the optimum of lbfgs, to the last digits and in few iterations
MOST_ITERATIONS = 1000
TOLERANCE = 1e-8


@dataclass(frozen=True)
class SelectorSettings:
    """How selectors are fitted; all in the contract.

    Attributes:
        in_sample: Select λ on probabilities of the examples that the model was fitted to.
    """

    features: tuple[str, ...]
    interactions: bool
    inverse_penalty: float
    lambdas: tuple[float, ...]
    n_folds: int
    seed: int
    in_sample: bool = False


@dataclass(frozen=True)
class SelectorModel:
    """A fitted logistic model; plain numbers, so that it can be stored as JSON."""

    actions: tuple[str, ...]
    features: tuple[str, ...]
    interactions: bool
    columns: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float

    def probabilities(self, part: CallPart) -> Float[np.ndarray, "n n_actions"]:
        """How likely each action of the part is correct; they are the model's, in its order."""
        if tuple(action.name for action in part.actions) != self.actions:
            raise ValueError(f"the model is about {self.actions}")
        _, rows = feature_rows(part, self.features, interactions=self.interactions)
        scaled = (rows - np.array(self.mean)) / np.array(self.scale)
        return expit(scaled @ np.array(self.weights) + self.intercept)


@dataclass(frozen=True)
class FittedSelector:
    """A model, the λ selected for it, and what was seen of λ on development examples.

    Attributes:
        curve: For each λ: `lambda`, `n_correct`, `n_calls`, as it was selected.
        n_correct: Of the selected λ, cross-fitted; `n_correct_in_sample` by the final model.
    """

    model: SelectorModel
    weight_of_cost: float
    curve: tuple[Mapping[str, Any], ...]
    n_correct: int
    n_correct_in_sample: int
    n: int

    def choose(self, part: CallPart) -> Int[np.ndarray, " n"]:
        """The action of each example."""
        return choose(self.model.probabilities(part), part, self.weight_of_cost)

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "FittedSelector":
        """What `as_json` gave."""
        fields: list[dict[str, Any]] = [
            {k: tuple(v) if isinstance(v, list) else v for k, v in own.items()}
            for own in (stored["model"], stored)
        ]
        return cls(**fields[1] | {"model": SelectorModel(**fields[0])})


def choose(
    probabilities: Float[np.ndarray, "n n_actions"],
    part: CallPart,
    weight_of_cost: float,
    allowed: Bool[np.ndarray, " n_actions"] | None = None,
) -> Int[np.ndarray, " n"]:
    """The allowed action with the largest utility; ties go to the first, see `parts.in_order`."""
    utility = probabilities - weight_of_cost * part.cost
    if allowed is not None:
        utility = np.where(allowed, utility, -np.inf)
    best = utility.max(axis=1, keepdims=True)
    return np.argmax(utility >= best - SAME_UTILITY, axis=1)


def fit_model(part: CallPart, settings: SelectorSettings) -> SelectorModel:
    """The logistic model, fitted to all examples and actions of a part.

    Where every action is correct on every example, or none on any, weights are 0.
    """
    columns, rows = feature_rows(part, settings.features, interactions=settings.interactions)
    flat = rows.reshape(-1, len(columns))
    right = part.correct.reshape(-1)
    continuous = np.array([is_continuous(column) for column in columns])
    mean = np.where(continuous, flat.mean(axis=0), 0.0)
    spread = flat.std(axis=0)
    scale = np.where(continuous & (spread > 1e-12), spread, 1.0)
    if right.all() or not right.any():
        weights, share = np.zeros(len(columns)), (right.sum() + 0.5) / (right.size + 1)
        intercept = float(np.log(share / (1 - share)))
    else:
        fitted = LogisticRegression(
            C=settings.inverse_penalty, solver=SOLVER, max_iter=MOST_ITERATIONS, tol=TOLERANCE
        ).fit((flat - mean) / scale, right)
        weights, intercept = fitted.coef_[0], float(fitted.intercept_[0])
    return SelectorModel(
        actions=tuple(action.name for action in part.actions),
        features=tuple(settings.features),
        interactions=settings.interactions,
        columns=tuple(columns),
        mean=tuple(mean.tolist()),
        scale=tuple(scale.tolist()),
        weights=tuple(weights.tolist()),
        intercept=intercept,
    )


def cross_fitted(part: CallPart, settings: SelectorSettings) -> Float[np.ndarray, "n n_actions"]:
    """Probabilities of each example by a model that was fitted without its fold.

    Raises:
        CallValueError: Fewer clusters than folds.
    """
    fold = example_folds(part, settings.n_folds, settings.seed)
    found = np.empty(part.predicted.shape)
    for k in range(settings.n_folds):
        model = fit_model(part.rows(fold != k), settings)
        found[fold == k] = model.probabilities(part.rows(fold == k))
    return found


def select(
    part: CallPart, probabilities: np.ndarray, lambdas: Sequence[float]
) -> tuple[float, list[dict[str, Any]]]:
    """The λ with most correct examples; ties go to fewer calls, then to the larger λ.

    Returns:
        It, and for every λ the numbers of correct examples and of calls.
    """
    curve = []
    for weight in sorted(lambdas):
        chosen = choose(probabilities, part, weight)
        right = part.correct[np.arange(part.n), chosen]
        curve.append(
            {
                "lambda": float(weight),
                "n_correct": int(right.sum()),
                "n_calls": int(part.is_call[chosen].sum()),
            }
        )
    best = max(curve, key=lambda row: (row["n_correct"], -row["n_calls"], row["lambda"]))
    return best["lambda"], curve


def fit_selector(
    part: CallPart, settings: SelectorSettings, model: SelectorModel | None = None
) -> FittedSelector:
    """The selector of a development part, with λ selected on cross-fitted probabilities.

    Or in sample, if the settings say so; `n_correct` is cross-fitted all the same.

    Args:
        model: Of the same part and settings, where it is fitted already; folds do not change it.

    Raises:
        CallValueError: Fewer clusters than folds, or a feature without its column.
    """
    model = model or fit_model(part, settings)
    own, crossed = model.probabilities(part), cross_fitted(part, settings)
    weight, curve = select(part, own if settings.in_sample else crossed, settings.lambdas)
    rows = np.arange(part.n)
    return FittedSelector(
        model=model,
        weight_of_cost=weight,
        curve=tuple(curve),
        n_correct=int(part.correct[rows, choose(crossed, part, weight)].sum()),
        n_correct_in_sample=int(part.correct[rows, choose(own, part, weight)].sum()),
        n=part.n,
    )
