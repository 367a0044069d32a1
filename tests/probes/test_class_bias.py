"""Class-bias tuning: toy scores by hand, and all biases of a grid."""

from itertools import product

import numpy as np
import pytest

from otoscope.probes.class_bias import tune_class_bias


def correct(scores, labels, bias):
    return int(((scores + bias).argmax(axis=1) == labels).sum())


def test_the_shortest_bias_that_gets_all_right():
    # label 1 is 1 and 3 too low: its bias has to be above the other's by more than 3, and by
    # less than 5 for the row of label 0; the shortest with sum 0 is (-1.5, 1.5)
    scores = np.array([[1.0, 0], [3, 0], [5, 0]])
    bias = tune_class_bias(scores, np.array([1, 1, 0]))
    assert bias == pytest.approx([-1.5, 1.5], abs=1e-4)
    assert correct(scores, np.array([1, 1, 0]), bias) == 3


def test_scores_that_are_right_keep_no_bias():
    scores = np.eye(3) * 2
    assert tune_class_bias(scores, np.arange(3)) == pytest.approx(np.zeros(3), abs=1e-12)


def test_a_bias_that_cannot_help_stays_at_zero():
    # equal scores, each label once: one row of three is right whatever is added
    bias = tune_class_bias(np.ones((3, 3)), np.arange(3))
    assert bias == pytest.approx(np.zeros(3), abs=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_two_labels_reach_the_best_accuracy_of_a_grid(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, 30)
    scores = rng.standard_normal((30, 2)) + np.eye(2)[labels] + [1.5, 0]
    bias = tune_class_bias(scores, labels)
    grid = max(correct(scores, labels, np.array([-b, b])) for b in np.linspace(-4, 4, 4001))
    assert correct(scores, labels, bias) == grid
    assert bias.sum() == pytest.approx(0, abs=1e-9)


def test_three_labels_end_where_no_single_bias_helps():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 40)
    scores = rng.standard_normal((40, 3)) + 1.2 * np.eye(3)[labels] + [2.0, 0, -1]
    bias = tune_class_bias(scores, labels)
    reached = correct(scores, labels, bias)
    assert reached > correct(scores, labels, np.zeros(3))
    for k, shift in product(range(3), np.linspace(-5, 5, 501)):
        other = bias + shift * np.eye(3)[k]
        assert correct(scores, labels, other) <= reached
