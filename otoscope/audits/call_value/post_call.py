"""Policies that read what calls return: they pay for every call, and are no primary evidence.

A selector that also knows how many local actions agree with each action, the same without calls,
and stacked fusion: a multinomial logistic model of the label over every action's label and over
the confidence of local ones.

Source: M. Geng (2026), arXiv 2608.27817, section 4; its models are not described there.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.linear_model import LogisticRegression

from otoscope.audits.call_value.cascade import Cascade
from otoscope.audits.call_value.features import AGREEMENT_OF_ALL
from otoscope.audits.call_value.folds import example_folds
from otoscope.audits.call_value.parts import CallPart
from otoscope.audits.call_value.schema import AGREEMENT, AGREEMENT_NO_CALL
from otoscope.audits.call_value.selector import FittedSelector, SelectorSettings, fit_selector

MOST_ITERATIONS = 1000


@dataclass(frozen=True)
class StackedModel:
    """A fitted model of the label; plain numbers, so that it can be stored as JSON.

    Attributes:
        actions: In the order of the columns.
        classes: Index of each label that development examples have.
        weights: By class and column; see `stacked_rows`.
        n_correct: On development examples, cross-fitted; `n_correct_in_sample` by this model.
    """

    actions: tuple[str, ...]
    n_labels: int
    classes: tuple[int, ...]
    weights: tuple[tuple[float, ...], ...]
    intercepts: tuple[float, ...]
    n_correct: int = 0
    n_correct_in_sample: int = 0
    n: int = 0

    def predict(self, part: CallPart) -> Int[np.ndarray, " n"]:
        """The label of each example; the first of equals."""
        if tuple(action.name for action in part.actions) != self.actions:
            raise ValueError(f"the model is about {self.actions}")
        scores = stacked_rows(part, self.n_labels) @ np.array(self.weights).T
        return np.array(self.classes)[np.argmax(scores + np.array(self.intercepts), axis=1)]

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "StackedModel":
        """What `as_json` gave."""
        plain = {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()}
        return cls(**plain | {"weights": tuple(map(tuple, stored["weights"]))})


@dataclass(frozen=True)
class PostCall:
    """What is fitted with the answers of calls: selectors by name, stacked fusion, cascades."""

    selectors: Mapping[str, FittedSelector]
    stacked: StackedModel
    cascades: tuple[Cascade, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "selectors": {name: own.as_json() for name, own in self.selectors.items()},
            "stacked": self.stacked.as_json(),
            "cascades": [own.as_json() for own in self.cascades],
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "PostCall":
        """What `as_json` gave."""
        selectors = stored["selectors"].items()
        return cls(
            {name: FittedSelector.from_json(own) for name, own in selectors},
            StackedModel.from_json(stored["stacked"]),
            tuple(Cascade(**own) for own in stored["cascades"]),
        )


def stacked_rows(part: CallPart, n_labels: int) -> Float[np.ndarray, "n n_columns"]:
    """For each action whether it predicts each label, and times its confidence where it is local.

    An answer without a label is all zeros.
    """
    labels = part.predicted[:, :, None] == np.arange(n_labels)
    sure = labels * np.where(part.is_call, 0.0, part.conf)[:, :, None]
    local = sure[:, ~part.is_call]
    return np.concatenate([labels.reshape(part.n, -1), local.reshape(part.n, -1)], axis=1)


def fit_post_call(
    part: CallPart, n_labels: int, settings: SelectorSettings, cascades: tuple[Cascade, ...] = ()
) -> PostCall:
    """Fits selectors and fusion on development examples.

    Raises:
        CallValueError: Fewer clusters than folds, or a feature without its column.
    """
    knowing = replace(settings, features=(*settings.features, AGREEMENT_OF_ALL))
    return PostCall(
        {
            AGREEMENT: fit_selector(part, knowing),
            AGREEMENT_NO_CALL: fit_selector(part.local(), knowing),
        },
        fit_stacked(part, n_labels, settings),
        cascades,
    )


def fit_stacked(part: CallPart, n_labels: int, settings: SelectorSettings) -> StackedModel:
    """Stacked fusion of a development part, with its cross-fitted accuracy."""
    assert part.gold is not None
    fold = example_folds(part, settings.n_folds, settings.seed)
    n_correct = 0
    for k in range(settings.n_folds):
        kept, left = part.rows(fold != k), part.rows(fold == k)
        model = _fitted(kept, n_labels, settings)
        n_correct += int(np.sum(model.predict(left) == left.gold))
    model = _fitted(part, n_labels, settings)
    in_sample = int(np.sum(model.predict(part) == part.gold))
    return replace(model, n_correct=n_correct, n_correct_in_sample=in_sample, n=part.n)


def _fitted(part: CallPart, n_labels: int, settings: SelectorSettings) -> StackedModel:
    rows = stacked_rows(part, n_labels)
    assert part.gold is not None
    classes = np.unique(part.gold)
    if len(classes) == 1:  # nothing to tell apart
        weights, intercepts = np.zeros((1, rows.shape[1])), np.zeros(1)
    else:
        fitted = LogisticRegression(C=settings.inverse_penalty, max_iter=MOST_ITERATIONS).fit(
            rows, part.gold
        )
        weights, intercepts = fitted.coef_, fitted.intercept_
        if len(classes) == 2:  # scikit-learn stores the second class alone
            weights = np.concatenate([-weights / 2, weights / 2])
            intercepts = np.concatenate([-intercepts / 2, intercepts / 2])
    return StackedModel(
        actions=tuple(action.name for action in part.actions),
        n_labels=n_labels,
        classes=tuple(classes.tolist()),
        weights=tuple(map(tuple, weights.tolist())),
        intercepts=tuple(intercepts.tolist()),
    )
