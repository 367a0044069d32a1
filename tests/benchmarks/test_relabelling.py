"""Likeness of two tables of the same things, against all ways of naming them."""

from itertools import permutations

import numpy as np
import pytest

from benchmarks.relabelling import relabelling_test

ARROW = np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 0]])


def test_three_things_worked_by_hand():
    # the arrows a>b and b>c against themselves; agreements of each order of names:
    # abc 2, bca 1 (its first two are b>c), cab 1 (its last two are a>b), acb, bac and cba 0
    assert relabelling_test(ARROW, ARROW) == (2, 1 / 6)
    other = np.array([[0.0, 1, 0], [0, 0, 0], [0, 0, 0]])
    # against a>b alone: abc and bca begin with an arrow, two of six
    assert relabelling_test(ARROW, other) == (1, 2 / 6)


def test_the_diagonal_says_nothing():
    with_diagonal = ARROW + 100 * np.eye(3)
    assert relabelling_test(with_diagonal, with_diagonal) == relabelling_test(ARROW, ARROW)


def test_agrees_with_a_plain_loop():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 5, 5))
    sums = [
        sum(first[p[i], p[j]] * second[i, j] for i in range(5) for j in range(5) if i != j)
        for p in permutations(range(5))
    ]
    found, p = relabelling_test(first, second)
    assert found == pytest.approx(sums[0])
    assert p == sum(s >= sums[0] - 1e-9 for s in sums) / 120


def test_tables_alike_in_their_columns_alone_are_not_distinguished_from_chance():
    # each column has one sign in both: whichever way names are given, signs agree as often
    columns = np.tile([1.0, 1, 1, 1, -1], (5, 1))
    same, p = relabelling_test(columns, np.ones((5, 5)))
    assert p == 1
    assert same == 16 - 4


def test_unlike_tables_have_a_large_p():
    assert relabelling_test(ARROW, -ARROW)[1] == 1


@pytest.mark.parametrize(
    ("first", "second", "complaint"),
    [
        (np.zeros((2, 3)), np.zeros((2, 2)), "square"),
        (np.zeros((2, 2)), np.zeros((3, 3)), "square"),
        (np.zeros((10, 10)), np.zeros((10, 10)), "10 names"),
        (np.array([[0, np.nan], [0, 0]]), np.zeros((2, 2)), "finite"),
    ],
)
def test_what_cannot_be_compared(first, second, complaint):
    with pytest.raises(ValueError, match=complaint):
        relabelling_test(first, second)
