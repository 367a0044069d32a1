"""Which rows are learnt from and which are asked about."""

import numpy as np
import pytest

from otoscope.probes.splits import (
    Part,
    SplitError,
    control_labels,
    grouped_split,
    published_split,
)


def columns(*rows):
    """Columns of rows given as `source split label`, label `+`, `-` or `?`."""
    source_id, split, label = zip(*(row.split(" ") for row in rows), strict=True)
    return {
        "source_id": np.array(source_id),
        "split": np.array(split),
        "label": np.array([{"+": 1, "-": 0, "?": -1}[sign] for sign in label]),
    }


PUBLISHED_ROWS = ("a train +", "a train -", "b validation -", "c test +", "c test -", "a train ?")


def many(n_sources, split="test"):
    return columns(*(f"s{k} {split} {sign}" for k in range(n_sources) for sign in "+-+-"))


def test_the_published_split_learns_from_train_and_validation_together():
    rows = columns(*PUBLISHED_ROWS)
    ((fold, train, test),) = published_split(rows, rows)
    assert (fold, train.tolist(), test.tolist()) == (0, [0, 1, 2], [3, 4])


def test_rows_asked_about_may_be_of_other_features():
    elsewhere = columns("z train +", "c test -", "d test +")
    ((_, train, test),) = published_split(columns(*PUBLISHED_ROWS), elsewhere)
    assert (train.tolist(), test.tolist()) == ([0, 1, 2], [1, 2])


def test_without_train_rows_the_way_out_is_named():
    rows = many(3)
    with pytest.raises(SplitError, match=r"no rows of the splits train .* only of test.*grouped"):
        published_split(rows, rows)


def test_without_test_rows_the_way_out_is_named():
    rows = many(3, "train")
    with pytest.raises(SplitError, match=r"no rows of the split test, only of train.*grouped"):
        published_split(rows, rows)


def test_a_source_on_both_sides_is_refused():
    rows = columns("a train +", "b train -", "b test +")
    with pytest.raises(SplitError, match=r"1 sources are both .* such as 'b'.*grouped"):
        published_split(rows, rows)


@pytest.mark.parametrize(("sign", "name"), [("+", "increase"), ("-", "decrease")])
def test_a_single_label_to_learn_from_is_refused(sign, name):
    rows = columns(f"a train {sign}", "b test +", "c test -")
    with pytest.raises(SplitError, match=f"all 1 rows to learn from are labelled '{name}'"):
        published_split(rows, rows)


def test_rows_without_a_source_cannot_be_kept_apart():
    rows = columns(" train +", "a train -", "b test +")
    for split in (published_split, lambda a, b: grouped_split(a, b, n_folds=2, seed=0)):
        with pytest.raises(SplitError, match="no source_id"):
            split(rows, rows)


def test_cross_validation_asks_about_every_labelled_row_once():
    rows = many(7)
    rows["label"][5] = -1
    parts = grouped_split(rows, rows, n_folds=3, seed=1)
    asked = np.concatenate([part.test for part in parts])
    assert sorted(asked.tolist()) == [k for k in range(28) if k != 5]
    for part in parts:
        taught, own = (set(rows["source_id"][at].tolist()) for at in (part.train, part.test))
        assert not taught & own
        assert len(taught | own) == 7
        assert 5 not in part.train
    sizes = [len(set(rows["source_id"][part.test].tolist())) for part in parts]
    assert sorted(sizes) == [2, 2, 3]


def test_a_source_has_the_same_fold_in_both_sets_of_rows_and_in_every_order():
    rows, elsewhere = many(6), many(8)
    elsewhere = {name: column[::-1] for name, column in elsewhere.items()}
    for part in grouped_split(rows, elsewhere, n_folds=4, seed=3):
        own = set(elsewhere["source_id"][part.test].tolist())
        assert own.isdisjoint(rows["source_id"][part.train].tolist())
    first = grouped_split(elsewhere, elsewhere, n_folds=4, seed=3)
    again = grouped_split(many(8), many(8), n_folds=4, seed=3)
    for a, b in zip(first, again, strict=True):
        assert set(elsewhere["source_id"][a.test]) == set(many(8)["source_id"][b.test])


def test_seeds_deal_folds_anew():
    rows = many(20)
    tests = [grouped_split(rows, rows, n_folds=4, seed=seed)[0].test.tolist() for seed in range(3)]
    assert tests[0] != tests[1] != tests[2]


def test_more_folds_than_sources_are_refused():
    rows = many(3)
    with pytest.raises(SplitError, match="5 folds of 3 sources"):
        grouped_split(rows, rows, n_folds=5, seed=0)
    with pytest.raises(SplitError, match="at least 2 folds, got 1"):
        grouped_split(rows, rows, n_folds=1, seed=0)


@pytest.mark.parametrize(("n_sources", "allowed"), [(6, {3}), (7, {3, 4})])
def test_control_labels_swap_half_of_the_sources_as_a_whole(n_sources, allowed):
    rows, asked = many(n_sources), columns("z test +", "z test -", "y test -", "y test +")
    part, counts = Part(0, np.arange(4 * n_sources), np.arange(4)), set()
    for seed in range(20):
        taught, tested = control_labels(rows, asked, part, np.random.default_rng(seed))
        opposite = taught != (rows["label"] == 1)
        swapped = set(rows["source_id"][opposite].tolist())
        assert opposite.tolist() == np.isin(rows["source_id"], list(swapped)).tolist()
        counts.add(len(swapped))
        assert tested.tolist() in ([True, False, True, False], [False, True, False, True])
    assert counts == allowed


def test_a_source_that_is_learnt_from_has_its_control_labels_where_it_is_asked_about():
    rows, part = many(6), Part(0, np.arange(24), np.arange(24))
    taught, tested = control_labels(rows, rows, part, np.random.default_rng(0))
    assert taught.tolist() == tested.tolist()
