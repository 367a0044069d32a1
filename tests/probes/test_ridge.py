"""Ridge regression against scikit-learn's, fitted again without every source."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from otoscope.probes.ridge import PENALTIES, ridge


def rows(n_sources, width, seed=0):
    """Four rows a source, whose third column leans towards the label; columns have mean 0."""
    rng = np.random.default_rng(seed)
    sources = np.repeat([f"s{k}" for k in range(n_sources)], 4)
    labels = np.tile([True, False, True, False], n_sources)
    features = rng.standard_normal((4 * n_sources, width))
    features[:, 2] += labels
    features += rng.standard_normal((n_sources, width))[np.arange(4 * n_sources) // 4]
    return features - features.mean(axis=0), labels, sources


def refitted(features, labels, sources, test, test_sources, penalty):
    """One fit for each source, by scikit-learn, with an intercept."""
    variances = np.linalg.svd(features, compute_uv=False) ** 2
    strength = penalty * variances[variances > 1e-7 * variances.max()].mean()
    predicted = np.empty(len(test))
    for source in np.unique(test_sources):
        others = sources != source
        fitted = Ridge(alpha=strength).fit(features[others], np.where(labels[others], 1.0, -1.0))
        predicted[test_sources == source] = fitted.predict(test[test_sources == source])
    return predicted


@pytest.mark.parametrize("width", [5, 70])
@pytest.mark.parametrize("penalty", [0.01, 3.0])
def test_leaving_a_source_out_is_the_same_as_fitting_without_it(width, penalty):
    features, labels, sources = rows(12, width)
    found = ridge(features, labels[:, None], sources, features, sources, penalties=(penalty,))
    expected = refitted(features, labels, sources, features, sources, penalty)
    assert found.scores[:, 0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("width", [3, 70])
def test_features_that_never_vary_predict_the_mean_of_the_other_sources(width):
    sources = np.repeat(["a", "b"], 4)
    labels = np.array([True] * 6 + [False] * 2)  # +1 on average for a, 0 for b
    features = np.zeros((8, width))
    found = ridge(features, labels[:, None], sources, features, sources)
    assert found.scores[:, 0] == pytest.approx([0.0] * 4 + [1.0] * 4)


def test_rows_of_elsewhere_are_predicted_without_their_source_too():
    features, labels, sources = rows(8, 6)
    test, _, test_sources = rows(10, 6, seed=1)  # s8 and s9 are not among the training sources
    found = ridge(features, labels[:, None], sources, test, test_sources, penalties=(0.5,))
    expected = refitted(features, labels, sources, test, test_sources, 0.5)
    assert found.scores[:, 0] == pytest.approx(expected, abs=1e-8)


def test_the_penalty_with_the_least_error_on_left_out_sources_is_taken():
    features, labels, sources = rows(12, 40)
    features[:, 2] *= 3
    answers = np.where(labels, 1.0, -1.0)
    errors = [
        np.sum((refitted(features, labels, sources, features, sources, p) - answers) ** 2)
        for p in PENALTIES
    ]
    found = ridge(features, labels[:, None], sources, features, sources)
    assert found.penalties[0] == PENALTIES[int(np.argmin(errors))]
    assert 0 < int(np.argmin(errors)) < len(PENALTIES) - 1


def test_labellings_do_not_touch_one_another():
    features, labels, sources = rows(12, 5)
    other = np.arange(len(labels)) % 3 == 0
    both = ridge(features, np.stack([labels, other], axis=1), sources, features, sources)
    for k, column in enumerate([labels, other]):
        alone = ridge(features, column[:, None], sources, features, sources)
        assert both.scores[:, k] == pytest.approx(alone.scores[:, 0])
        assert both.penalties[k] == alone.penalties[0]


def test_a_column_that_does_not_vary_says_nothing():
    features, labels, sources = rows(12, 5)
    with_flat = np.insert(features, 3, 0.0, axis=1)
    found = ridge(with_flat, labels[:, None], sources, with_flat, sources, penalties=(1.0,))
    expected = ridge(features, labels[:, None], sources, features, sources, penalties=(1.0,))
    assert found.scores == pytest.approx(expected.scores)


def test_a_single_source_is_rejected():
    features, labels, _ = rows(3, 5)
    one = np.repeat("s0", len(labels))
    with pytest.raises(ValueError, match=r"cannot be predicted by others.*s0"):
        ridge(features, labels[:, None], one, features, one)


def test_lengths_that_differ_are_named():
    features, labels, sources = rows(3, 5)
    with pytest.raises(ValueError, match="12 rows, 11 labels"):
        ridge(features, labels[1:, None], sources, features, sources)


def test_rows_that_are_all_the_same_are_predicted_by_the_mean_label_of_other_sources():
    # b and c have +, -, - (mean -1/3), a and c have +, +, - (1/3), and all +, +, +, -, - (1/5)
    labels = np.array([True, True, True, False, False])[:, None]
    sources = np.array(["a", "a", "b", "b", "c"])
    found = ridge(np.zeros((5, 2)), labels, sources, np.zeros((3, 2)), np.array(["a", "b", "d"]))
    assert found.scores[:, 0] == pytest.approx([-1 / 3, 1 / 3, 1 / 5])
