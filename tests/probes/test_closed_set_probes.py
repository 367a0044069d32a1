"""Probes of a closed set: optima worked by hand, and scikit-learn's own models."""

import numpy as np
import pytest
from scipy.optimize import brentq
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.preprocessing import StandardScaler

from otoscope.probes.closed_set import fit_logistic, fit_ridge


def drawn(n=60, width=5, n_labels=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_labels
    return rng.standard_normal((n, width)) + np.eye(n_labels, width)[labels], labels


def test_logistic_regression_of_two_points_by_hand():
    # standardised they are -1 and 1; w = 4 / (1 + exp(w)) has the least 4 log(1 + exp(-w)) + w²/2
    w = brentq(lambda w: w - 4 / (1 + np.exp(w)), 0, 4)
    probe = fit_logistic(np.array([[3.0], [5], [3], [5]]), np.array([0, 1, 0, 1]), 2)
    assert probe.weights[:, 0] == pytest.approx([-w / 2, w / 2], abs=1e-3)
    assert probe.scores(np.array([[5.0]])) == pytest.approx(np.array([[-w / 2, w / 2]]), abs=1e-3)


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("width", [5, 200])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_logistic_probabilities_are_those_of_a_scikit_learn_pipeline(width, n_labels, balanced):
    rows, labels = drawn(width=width, n_labels=n_labels)
    kept = (labels > 0) | (np.arange(60) < 20)  # label 0 has fewer rows than the others
    rows, labels = rows[kept], labels[kept]
    weight = {k: len(labels) / n_labels / (labels == k).sum() for k in range(n_labels)}
    scaled = StandardScaler().fit_transform(rows)
    model = LogisticRegression(
        C=0.3, max_iter=5000, tol=1e-8, class_weight=weight if balanced else None
    ).fit(scaled, labels)
    scores = fit_logistic(rows, labels, n_labels, C=0.3, balanced=balanced).scores(rows)
    found = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert found == pytest.approx(model.predict_proba(scaled), abs=2e-3)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_ridge_decides_as_scikit_learn_with_the_chosen_penalty(n_labels):
    rows, labels = drawn(n_labels=n_labels)
    probe, alpha = fit_ridge(rows, labels, n_labels, np.arange(60) % 4, alphas=(0.1, 30.0))
    scaler = StandardScaler().fit(rows)
    model = RidgeClassifier(alpha=alpha).fit(scaler.transform(rows), labels)
    new, _ = drawn(seed=1, n_labels=n_labels)
    expected = model.predict(scaler.transform(new))
    assert (probe.scores(new).argmax(axis=1) == expected).all()


def test_ridge_prefers_the_larger_of_equally_good_penalties():
    rows = np.array([[-1.0], [1], [-1.1], [1.1]])
    _, alpha = fit_ridge(rows, np.array([0, 1, 0, 1]), 2, np.array([0, 0, 1, 1]))
    assert alpha == 1e5


def test_a_label_without_rows_is_never_predicted():
    rows, labels = drawn(n_labels=2)
    probe = fit_logistic(rows, labels * 2, 3)
    assert set(probe.scores(rows).argmax(axis=1)) == {0, 2}
    assert probe.bias[1] == -np.inf


def test_a_constant_column_counts_for_nothing():
    rows, labels = drawn()
    rows = np.column_stack([rows, np.full(60, 7.0)])
    probe = fit_logistic(rows, labels, 3)
    assert np.isfinite(probe.weights).all()
    assert probe.weights[:, -1] == pytest.approx(0, abs=1e-9)
