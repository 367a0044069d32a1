"""Actions of audio encoders: from scores and embeddings to predictions out of fold.

    {encoder}_zero_shot        the encoder's own scores of labels
    {encoder}_class_bias       the same with one number added to each label
    {encoder}_score_probe      logistic regression on those scores
    {encoder}_embedding_probe  logistic regression on an embedding; its layer by inner folds
    joint_ridge                ridge regression on the embeddings of several encoders

Whatever is fitted sees development examples only: held-out labels are no argument of anything here.
A development example is predicted by what was fitted on the other folds, a held-out one by what was
fitted on all development examples.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy.special import softmax

from otoscope.audits.call_value.folds import label_folds
from otoscope.audits.call_value.schema import NOT_FITTED, CallValueError
from otoscope.probes.class_bias import tune_class_bias
from otoscope.probes.closed_set import (
    ClosedSetProbe,
    fit_logistic,
    fit_ridge,
    identity_probe,
    log_loss,
)

ZERO_SHOT = "zero_shot"
JOINT = "joint_ridge"
INNER_FOLDS = 3
"""By which layers and penalties are chosen within what is fitted on."""

PROBABILITY, MARGIN = "probability", "margin"
"""What `conf` is: the largest softmax probability, or the largest score minus the second."""


@dataclass(frozen=True)
class EncoderEvidence:
    """What one encoder computes of some examples, before anything is fitted.

    Attributes:
        name: As in names of actions.
        layers: Pooled embeddings of each layer, in order.
        zero_shot: Scores of labels, or None where the encoder gives none.
        wall_s: Seconds that each example took.
        revision: What pins the weights.
    """

    name: str
    layers: Mapping[str, Float[np.ndarray, "n width"]]
    zero_shot: Float[np.ndarray, "n n_labels"] | None
    wall_s: Float[np.ndarray, " n"]
    revision: str

    def rows(self, which: np.ndarray) -> "EncoderEvidence":
        """That of some examples: a mask or numbers."""
        return EncoderEvidence(
            self.name,
            {layer: rows[which] for layer, rows in self.layers.items()},
            None if self.zero_shot is None else self.zero_shot[which],
            self.wall_s[which],
            self.revision,
        )

    def columns(self, layer: str) -> Float[np.ndarray, "n width"]:
        """A layer, or `zero_shot`."""
        found = self.zero_shot if layer == ZERO_SHOT else self.layers[layer]
        assert found is not None
        return found


class Fitting(NamedTuple):
    """Development examples to fit on.

    Attributes:
        labels: Index of each label.
        n_folds, seed: Of the folds.
        C: Of logistic regressions.
    """

    labels: Int[np.ndarray, " n"]
    clusters: Shaped[np.ndarray, " n"]
    n_labels: int
    n_folds: int
    seed: int
    C: float

    def inner_folds(self) -> Int[np.ndarray, " n"]:
        """Three folds within these examples, or two where there are only two clusters."""
        n_folds = min(INNER_FOLDS, len(np.unique(self.clusters)))
        return label_folds(self.clusters, self.labels, n_folds, self.seed)


@dataclass(frozen=True)
class FittedAction:
    """A probe with the columns that it reads.

    Attributes:
        columns: Encoder and layer, one after the other.
        conf: `probability` or `margin`.
        chosen: What inner folds have chosen: layer, penalty.
    """

    columns: tuple[tuple[str, str], ...]
    probe: ClosedSetProbe
    conf: str = PROBABILITY
    chosen: Mapping[str, Any] = field(default_factory=dict)

    def scores(self, evidence: Mapping[str, EncoderEvidence]) -> Float[np.ndarray, "n n_labels"]:
        """Of each label: probabilities, or where `conf` is a margin, decision values."""
        scores = self.probe.scores(joined(evidence, self.columns))
        return softmax(scores, axis=1) if self.conf == PROBABILITY else scores

    def confidence(self, scores: Float[np.ndarray, "n n_labels"]) -> Float[np.ndarray, " n"]:
        """The largest score, or by how much it is above the second."""
        ranked = np.sort(scores, axis=1)
        return ranked[:, -1] if self.conf == PROBABILITY else ranked[:, -1] - ranked[:, -2]


Evidences = Mapping[str, EncoderEvidence]
FitAction = Callable[[Evidences, Fitting], FittedAction]


def scoring(evidence: Evidences) -> dict[str, bool]:
    """Which encoders score labels by themselves."""
    return {name: own.zero_shot is not None for name, own in evidence.items()}


def joined(evidence: Evidences, columns: Sequence[tuple[str, str]]) -> np.ndarray:
    """Columns of several encoders side by side, float64."""
    parts = [evidence[name].columns(layer) for name, layer in columns]
    return np.concatenate(parts, axis=1).astype(np.float64)


def actions_of(scores_labels: Mapping[str, bool]) -> dict[str, FitAction]:
    """Name of every action that encoders can take, and how it is fitted.

    Args:
        scores_labels: Name of each encoder, and whether it scores labels by itself.
    """
    found: dict[str, FitAction] = {}
    for name, has_scores in scores_labels.items():
        if has_scores:
            found[f"{name}_zero_shot"] = _fit_zero_shot(name)
            found[f"{name}_class_bias"] = _fit_class_bias(name)
            found[f"{name}_score_probe"] = _fit_score_probe(name)
        found[f"{name}_embedding_probe"] = _fit_embedding_probe(name)
    if len(scores_labels) > 1:
        found[JOINT] = _fit_joint_ridge
    return found


def _fit_zero_shot(name: str) -> FitAction:
    def fit(evidence: Evidences, on: Fitting) -> FittedAction:
        return FittedAction(((name, ZERO_SHOT),), identity_probe(np.zeros(on.n_labels)))

    return fit


def _fit_class_bias(name: str) -> FitAction:
    def fit(evidence: Evidences, on: Fitting) -> FittedAction:
        bias = tune_class_bias(evidence[name].columns(ZERO_SHOT), on.labels)
        return FittedAction(((name, ZERO_SHOT),), identity_probe(bias))

    return fit


def _fit_score_probe(name: str) -> FitAction:
    def fit(evidence: Evidences, on: Fitting) -> FittedAction:
        rows = evidence[name].columns(ZERO_SHOT)
        return FittedAction(
            ((name, ZERO_SHOT),), fit_logistic(rows, on.labels, on.n_labels, C=on.C)
        )

    return fit


def _fit_embedding_probe(name: str) -> FitAction:
    def fit(evidence: Evidences, on: Fitting) -> FittedAction:
        layer = choose_layer(evidence[name], on)
        probe = fit_logistic(evidence[name].columns(layer), on.labels, on.n_labels, C=on.C)
        return FittedAction(((name, layer),), probe, chosen={"layer": layer})

    return fit


def _fit_joint_ridge(evidence: Evidences, on: Fitting) -> FittedAction:
    columns = tuple((name, choose_layer(own, on)) for name, own in evidence.items())
    rows = joined(evidence, columns)
    probe, alpha = fit_ridge(rows, on.labels, on.n_labels, on.inner_folds())
    return FittedAction(columns, probe, MARGIN, {"layers": dict(columns), "alpha": alpha})


def choose_layer(evidence: EncoderEvidence, on: Fitting) -> str:
    """The layer whose logistic probe has the best accuracy over inner folds.

    Ties go to the smaller cross-entropy, then to the earlier layer.
    """
    layers = list(evidence.layers)
    if len(layers) == 1:
        return layers[0]
    folds, tried = on.inner_folds(), []
    for i, layer in enumerate(layers):
        rows, right, losses = evidence.columns(layer), 0, 0.0
        for k in np.unique(folds):
            train, test = folds != k, folds == k
            known = np.isin(on.labels[test], on.labels[train])
            if len(np.unique(on.labels[train])) < 2 or not known.any():
                continue
            probe = fit_logistic(rows[train], on.labels[train], on.n_labels, C=on.C)
            scores, wanted = probe.scores(rows[test][known]), on.labels[test][known]
            right += int((scores.argmax(axis=1) == wanted).sum())
            losses += log_loss(scores, wanted) * len(wanted)
        tried.append((right, -round(losses, 9), -i))
    return layers[-max(tried)[2]]


def fit_alone(fit: FitAction, evidence: Evidences, on: Fitting) -> FittedAction:
    """An action fitted by one thread: on matrices this small, threads wait for one another."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return fit(evidence, on)


class OutOfFold(NamedTuple):
    """Predictions of one action for development examples.

    Attributes:
        folds: Of each example, or None where nothing is fitted.
    """

    scores: Float[np.ndarray, "n n_labels"]
    confidence: Float[np.ndarray, " n"]
    folds: Int[np.ndarray, " n"] | None


def out_of_fold(
    action: str, fit: FitAction, evidence: Evidences, on: Fitting, folds: Int[np.ndarray, " n"]
) -> OutOfFold:
    """Each development example by an action that was fitted on the other folds."""
    if action.endswith(f"_{ZERO_SHOT}"):
        fitted = fit(evidence, on)
        scores = fitted.scores(evidence)
        return OutOfFold(scores, fitted.confidence(scores), None)
    scores = np.empty((len(on.labels), on.n_labels))
    confidence = np.empty(len(on.labels))
    for k in np.unique(folds):
        train, test = folds != k, folds == k
        rest = on._replace(labels=on.labels[train], clusters=on.clusters[train])
        fitted = fit_alone(fit, {name: own.rows(train) for name, own in evidence.items()}, rest)
        scores[test] = fitted.scores({name: own.rows(test) for name, own in evidence.items()})
        confidence[test] = fitted.confidence(scores[test])
    return OutOfFold(scores, confidence, folds)


def development_folds(on: Fitting, names: Sequence[str]) -> Int[np.ndarray, " n"]:
    """Folds, stratified by label with clusters together, such that no fit lacks a label.

    Args:
        names: Of the labels.

    Raises:
        CallValueError: A label has no development example, or all of them in one fold.
    """
    counts = np.bincount(on.labels, minlength=on.n_labels)
    if not counts.all():
        absent = names[int(np.argmin(counts))]
        raise CallValueError(
            f"label {absent!r} has no development example; no probe can be fitted for it"
        )
    folds = label_folds(on.clusters, on.labels, on.n_folds, on.seed)
    for label, name in enumerate(names):
        if len(np.unique(folds[on.labels == label])) < 2:
            n_clusters = len(np.unique(on.clusters[on.labels == label]))
            raise CallValueError(
                f"label {name!r} has its development examples in one fold ({n_clusters} "
                "cluster(s)), so that a probe would be fitted without it; it needs examples of at "
                "least two clusters, or another --seed"
            )
    return folds


def fold_names(folds: Int[np.ndarray, " n"] | None, n: int) -> list[str]:
    """The column `fold` of development examples.

    >>> fold_names(None, 2), fold_names(np.array([0, 3]), 2)
    (['none', 'none'], ['0', '3'])
    """
    return [NOT_FITTED] * n if folds is None else [str(int(k)) for k in folds]
