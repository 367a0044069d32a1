"""Probes beyond the steps of the published recipe."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from otoscope.probes.converged import converged_probe, mean_loss
from otoscope.probes.predictions import CONVERGED, PROBE, ProbeConfig, ProbeData, predictions
from otoscope.probes.probe import ProbeRecipe

DECAY = 1e-2


def few(n_train, width, seed=0, strength=1.0):
    """Rows of sources of two clips: one direction of variance 1 holds the label, +-`strength`."""
    rng = np.random.default_rng(seed)
    n = n_train + 400
    label = np.arange(n) % 2
    states = rng.standard_normal((n, width))
    direction = rng.standard_normal(width)
    direction /= np.linalg.norm(direction)
    states += np.outer(strength * (2 * label - 1), direction)
    train = np.arange(n) < n_train
    rows = {
        "id": np.array([f"i{k}" for k in range(n)]),
        "source_id": np.array([f"s{k // 2}" for k in range(n)]),
        "split": np.where(train, "train", "test"),
        "label": label,
        "no_effect": np.zeros(n, bool),
    }
    return ProbeData(states, states, rows, rows)


@pytest.mark.parametrize(("n", "width"), [(200, 8), (60, 150)])
def test_the_optimum_is_that_of_an_independent_solver(n, width):
    data = few(n, width, strength=0.7)
    rows = data.train_features[:n].astype(np.float32)
    labels = data.train_rows["label"][:n] == 1
    found = converged_probe(rows, labels, DECAY)
    # scikit-learn minimises C * summed loss + |w|^2 / 2
    known = LogisticRegression(C=1 / (n * DECAY), tol=1e-10, max_iter=10_000).fit(rows, labels)
    scores = rows @ found.weights + found.bias
    np.testing.assert_allclose(scores, known.decision_function(rows), atol=5e-3)
    assert found.loss == pytest.approx(mean_loss(known.decision_function(rows), labels), abs=1e-4)


def right(table, method):
    rows = [r for r in table.to_pylist() if r["method"] == method and r["labelling"] == 0]
    return np.mean([(r["score"] >= 0) == r["label"] for r in rows]) if rows else None


def test_few_rows_end_before_the_probe_converges_and_the_converged_one_stands_beside():
    table = predictions(few(240, 12), ProbeConfig(recipe=ProbeRecipe(n_epochs=20)))
    # no linear probe is right more often than 84.1 %, the normal distribution's share below 1
    assert right(table, PROBE) < 0.75
    assert 0.78 < right(table, CONVERGED) < 0.89
    assert abs(right(table, CONVERGED) - right(table, "ridge")) < 0.03


def test_a_recipe_that_converges_has_nothing_beside_it():
    recipe = ProbeRecipe(learning_rate=0.03, n_epochs=300, batch_size=64)
    table = predictions(few(240, 12), ProbeConfig(recipe=recipe))
    assert right(table, CONVERGED) is None
    assert 0.78 < right(table, PROBE) < 0.89


def test_as_many_steps_as_published_are_not_checked(monkeypatch):
    monkeypatch.setattr("otoscope.probes.predictions.PUBLISHED_STEPS", 20)
    table = predictions(few(240, 12), ProbeConfig(recipe=ProbeRecipe(n_epochs=20)))
    assert right(table, CONVERGED) is None
