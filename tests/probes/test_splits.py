"""Which rows are trained and tested on."""

import numpy as np
import pytest

from otoscope.probes.splits import (
    ProbeSplit,
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


def test_the_published_split_trains_on_train_and_validation_together():
    rows = columns(*PUBLISHED_ROWS)
    ((fold, train, test),) = published_split(rows, rows)
    assert (fold, train.tolist(), test.tolist()) == (0, [0, 1, 2], [3, 4])


def test_test_rows_may_be_of_other_features():
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


def test_a_source_on_both_sides_is_rejected():
    rows = columns("a train +", "b train -", "b test +")
    with pytest.raises(SplitError, match=r"1 sources are both .* 'b'.*--probe-split grouped"):
        published_split(rows, rows)


@pytest.mark.parametrize(("sign", "name"), [("+", "increase"), ("-", "decrease")])
def test_a_single_training_label_is_rejected(sign, name):
    rows = columns(f"a train {sign}", "b test +", "c test -")
    with pytest.raises(SplitError, match=f"all 1 training rows are labelled '{name}'"):
        published_split(rows, rows)


def test_rows_without_a_source_cannot_be_grouped():
    rows = columns(" train +", "a train -", "b test +")
    for split in (published_split, lambda a, b: grouped_split(a, b, n_folds=2, seed=0)):
        with pytest.raises(SplitError, match="no source_id"):
            split(rows, rows)


def test_cross_validation_tests_every_labelled_row_once():
    rows = many(7)
    rows["label"][5] = -1
    splits = grouped_split(rows, rows, n_folds=3, seed=1)
    tested_on = np.concatenate([split.test for split in splits])
    assert sorted(tested_on.tolist()) == [k for k in range(28) if k != 5]
    for split in splits:
        train, own = (set(rows["source_id"][at].tolist()) for at in (split.train, split.test))
        assert not train & own
        assert len(train | own) == 7
        assert 5 not in split.train
    sizes = [len(set(rows["source_id"][split.test].tolist())) for split in splits]
    assert sorted(sizes) == [2, 2, 3]


def test_a_source_has_the_same_fold_in_both_sets_of_rows_and_in_every_order():
    rows, elsewhere = many(6), many(8)
    elsewhere = {name: column[::-1] for name, column in elsewhere.items()}
    for split in grouped_split(rows, elsewhere, n_folds=4, seed=3):
        own = set(elsewhere["source_id"][split.test].tolist())
        assert own.isdisjoint(rows["source_id"][split.train].tolist())
    first = grouped_split(elsewhere, elsewhere, n_folds=4, seed=3)
    again = grouped_split(many(8), many(8), n_folds=4, seed=3)
    for a, b in zip(first, again, strict=True):
        assert set(elsewhere["source_id"][a.test]) == set(many(8)["source_id"][b.test])


def test_speakers_of_several_sources_stay_together():
    rows = many(8)
    rows["speaker_id"] = np.array([f"p{int(name[1:]) // 2}" for name in rows["source_id"]])
    splits = grouped_split(rows, rows, n_folds=4, seed=1, group="speaker_id")
    tested_on = [set(rows["speaker_id"][split.test].tolist()) for split in splits]
    assert sorted(map(sorted, tested_on)) == [["p0"], ["p1"], ["p2"], ["p3"]]
    for split, own in zip(splits, tested_on, strict=True):
        assert own.isdisjoint(rows["speaker_id"][split.train].tolist())
    with pytest.raises(SplitError, match="5 folds of 4 speakers"):
        grouped_split(rows, rows, n_folds=5, seed=0, group="speaker_id")
    rows["speaker_id"][0] = ""
    with pytest.raises(SplitError, match=r"no speaker_id.* by speaker"):
        grouped_split(rows, rows, n_folds=2, seed=0, group="speaker_id")


def test_seeds_assign_other_folds():
    rows = many(20)
    tests = [grouped_split(rows, rows, n_folds=4, seed=seed)[0].test.tolist() for seed in range(3)]
    assert tests[0] != tests[1] != tests[2]


def test_more_folds_than_sources_are_rejected():
    rows = many(3)
    with pytest.raises(SplitError, match="5 folds of 3 sources"):
        grouped_split(rows, rows, n_folds=5, seed=0)
    with pytest.raises(SplitError, match="at least 2 folds, got 1"):
        grouped_split(rows, rows, n_folds=1, seed=0)


@pytest.mark.parametrize(("n_sources", "allowed"), [(6, {3}), (7, {3, 4})])
def test_control_labels_swap_half_of_the_sources_as_a_whole(n_sources, allowed):
    rows, tested_on = many(n_sources), columns("z test +", "z test -", "y test -", "y test +")
    split, counts = ProbeSplit(0, np.arange(4 * n_sources), np.arange(4)), set()
    for seed in range(20):
        train_labels, tested = control_labels(rows, tested_on, split, np.random.default_rng(seed))
        opposite = train_labels != (rows["label"] == 1)
        swapped = set(rows["source_id"][opposite].tolist())
        assert opposite.tolist() == np.isin(rows["source_id"], list(swapped)).tolist()
        counts.add(len(swapped))
        assert tested.tolist() in ([True, False, True, False], [False, True, False, True])
    assert counts == allowed


def test_a_training_source_has_the_same_control_labels_where_it_is_tested():
    rows, split = many(6), ProbeSplit(0, np.arange(24), np.arange(24))
    train_labels, tested = control_labels(rows, rows, split, np.random.default_rng(0))
    assert train_labels.tolist() == tested.tolist()


@pytest.mark.parametrize("side", [0, 1])
def test_more_than_two_labels_are_rejected(side):
    rows = [columns("a train +", "b train -"), columns("c test +", "d test -")]
    rows[side]["label"][0] = 2
    with pytest.raises(SplitError, match=r"numbered 0 and 1, and these rows have 2 too"):
        published_split(*rows)
