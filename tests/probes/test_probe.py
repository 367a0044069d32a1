"""The compiled probe against the published form, written out in torch."""

import numpy as np
import pytest

from otoscope.probes.probe import PUBLISHED, Draws, ProbeRecipe, draws, fit, scaling_of


def rows(n_items, width, seed=0):
    """Features whose third column leans towards the label."""
    rng = np.random.default_rng(seed)
    labels = rng.random(n_items) < 0.5
    features = rng.normal(3.0, 2.0, size=(n_items, width)).astype(np.float32)
    features[:, 2] += labels
    return features, labels


def published(features, labels, *, seed, recipe):
    """Weights and bias of the published form: DataLoader, autograd, AdamW."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(seed)
    layer = torch.nn.Linear(features.shape[1], 1)
    loss_of = torch.nn.BCEWithLogitsLoss()
    optimizer = torch.optim.AdamW(
        layer.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
    )
    pairs = TensorDataset(torch.from_numpy(features), torch.from_numpy(labels.astype(np.float32)))
    loader = DataLoader(pairs, batch_size=recipe.batch_size, shuffle=True)
    for _ in range(recipe.n_epochs):
        for batch, wanted in loader:
            optimizer.zero_grad()
            loss_of(layer(batch).squeeze(-1), wanted).backward()
            optimizer.step()
    return layer.weight.detach().numpy()[0], layer.bias.item()


@pytest.mark.parametrize(
    ("seed", "recipe"),
    [(1234, ProbeRecipe(n_epochs=20)), (7, ProbeRecipe(0.01, 0.5, n_epochs=10, batch_size=200))],
)
def test_a_probe_comes_out_as_the_published_form_would_have_it(seed, recipe):
    features, labels = rows(1100, 24)  # two whole batches and one of 76
    scaled = scaling_of(features).apply(features)
    weights, bias = published(scaled, labels, seed=seed, recipe=recipe)
    found = fit(scaled, labels[:, None], seed=seed, recipe=recipe)
    assert found.weights[0] == pytest.approx(weights, abs=2e-6)
    assert found.biases[0] == pytest.approx(bias, abs=2e-6)


@pytest.mark.slow
def test_after_two_hundred_epochs_too():
    features, labels = rows(1100, 24)
    scaled = scaling_of(features).apply(features)
    weights, bias = published(scaled, labels, seed=1234, recipe=PUBLISHED)
    found = fit(scaled, labels[:, None])
    assert found.weights[0] == pytest.approx(weights, abs=2e-5)
    assert found.biases[0] == pytest.approx(bias, abs=2e-5)


def test_one_step_worked_by_hand(monkeypatch):
    # Weights and bias 0, rows 1 and -3 labelled 1 and 0: errors -1/2 and 1/2, mean gradient
    # (-1/2 · 1 + 1/2 · -3) / 2 = -1 for the weight, 0 for the bias. AdamW's first step has the
    # length of the learning rate whatever the gradient: 0.1 upwards, and none for the bias.
    nothing = Draws(np.zeros(1, np.float32), 0.0, np.array([[0, 1]], np.int32))
    monkeypatch.setattr("otoscope.probes.probe.draws", lambda *tested_on: nothing)
    recipe = ProbeRecipe(learning_rate=0.1, n_epochs=1)
    found = fit(np.float32([[1], [-3]]), np.array([[True], [False]]), recipe=recipe)
    assert found.weights.tolist() == [[pytest.approx(0.1, abs=1e-6)]]
    assert found.biases.tolist() == [0.0]
    assert found.scores(np.float32([[2.0]])).tolist() == [[pytest.approx(0.2, abs=1e-6)]]


def test_labellings_do_not_touch_one_another():
    features, labels = rows(300, 10)
    other = np.arange(300) % 3 == 0
    scaled, recipe = scaling_of(features).apply(features), ProbeRecipe(n_epochs=5)
    both = fit(scaled, np.stack([labels, other], axis=1), recipe=recipe)
    for k, column in enumerate([labels, other]):
        alone = fit(scaled, column[:, None], recipe=recipe)
        assert both.weights[k].tolist() == alone.weights[0].tolist()
        assert both.biases[k] == alone.biases[0]


def test_the_draws_are_fixed_by_the_seed():
    first, again, other = (draws.__wrapped__(50, 4, seed, 3) for seed in (1, 1, 2))
    assert first.weights.tolist() == again.weights.tolist() != other.weights.tolist()
    assert first.orders.tolist() == again.orders.tolist() != other.orders.tolist()
    assert np.sort(first.orders, axis=1).tolist() == [list(range(50))] * 3
    assert np.abs(first.weights).max() <= 1 / np.sqrt(4)


def test_features_are_scaled_by_mean_and_population_deviation():
    # Column 0: mean 2, deviations -1 and 1; column 1 does not vary and is only centred.
    scaling = scaling_of(np.float16([[1, 5], [3, 5]]))
    assert scaling.mean.tolist() == [2, 5]
    assert scaling.std.tolist() == [1, 1]
    assert scaling.apply(np.float16([[4, 6]])).tolist() == [[2, 1]]


def test_scaling_many_rows_is_that_of_all_at_once():
    features, _ = rows(3000, 3)
    scaling = scaling_of(features)
    wide = features.astype(np.float64)
    assert scaling.mean == pytest.approx(wide.mean(axis=0))
    assert scaling.std == pytest.approx(wide.std(axis=0))


def test_scaling_leaves_its_input_alone():
    features, _ = rows(10, 3)
    before = features.copy()
    scaling_of(features).apply(features)
    assert np.array_equal(features, before)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_features_that_are_not_finite_are_rejected_by_row(bad):
    features, _ = rows(10, 3)
    scaling = scaling_of(features)
    features[4, 1] = features[7, 0] = bad
    for refused in (scaling_of, scaling.apply):
        with pytest.raises(ValueError, match=r"2 of 10 rows .* the first is row 4"):
            refused(features)


def test_no_rows_are_rejected():
    with pytest.raises(ValueError, match="no rows"):
        scaling_of(np.empty((0, 3), np.float32))


def test_recipes_that_cannot_be_are_rejected():
    assert ProbeRecipe(1e-3, 1e-4, 200, 512) == PUBLISHED
    with pytest.raises(ValueError, match=r"learning rate .* got 0"):
        ProbeRecipe(learning_rate=0.0)
    with pytest.raises(ValueError, match=r"1 epoch .* got 200 and 0"):
        ProbeRecipe(batch_size=0)
