import numpy as np
import pytest

from otoscope.statistics.labels import confusion, index_answers, label_names, ratio

LABELS = ["decrease", "increase"]


def test_names_and_positions_mean_the_same():
    assert label_names(["increase", 1, "1", np.int64(0)], LABELS) == ["increase"] * 3 + ["decrease"]


@pytest.mark.parametrize("wrong", ["Increase", "up", None, 2, -1, 1.0, True, ""])
def test_anything_else_is_named_with_its_place(wrong):
    with pytest.raises(ValueError, match=f"reference 1 is {wrong!r}, which is none of the labels"):
        label_names([0, wrong], LABELS)


def test_confusion_has_a_column_for_strangers_and_one_for_the_unparsed():
    gold = ["increase", "increase", "increase", "decrease", "decrease"]
    answers = ["increase", "constant", None, "increase", "decrease"]
    assert confusion(index_answers(gold, answers, LABELS)).tolist() == [[1, 1, 0, 0], [0, 1, 1, 1]]


def test_nothing_is_a_table_of_zeros():
    assert confusion(index_answers([], [], LABELS)).tolist() == [[0] * 4] * 2


def test_lengths_and_labels_are_checked():
    with pytest.raises(ValueError, match="2 references but 1 answers"):
        index_answers([0, 1], ["increase"], LABELS)
    with pytest.raises(ValueError, match=r"labels must be distinct .* got \['a', 'a'\]"):
        index_answers([], [], ["a", "a"])


def test_share_of_nothing_is_nan():
    assert np.isnan(ratio(0, 0))
    assert ratio(1, 4) == 0.25
