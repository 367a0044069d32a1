"""Word errors against counts by hand, and a plain edit distance."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope.errors import InvalidValue
from otoscope.speech.word_errors import (
    edit_distance,
    edit_similarity,
    normalised,
    word_error_rate,
    word_errors,
)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("Please call Stella.", "please call stella", 0.0),
        ("please call stella", "please tall stella", 1 / 3),
        ("please call stella", "", 1.0),
        ("please", "oh please call", 2.0),
        ("She's going to buy twenty-two", "she is going to buy 22", 0.0),
        ("a [coughs] b", "a b", 0.0),
    ],
)
def test_rates_by_hand(reference, hypothesis, expected):
    assert word_error_rate(reference, hypothesis) == pytest.approx(expected)


def test_rates_over_clips_add_up():
    assert word_errors("a b c", "a c") == (1, 3)
    assert word_errors("", "a c") == (2, 0)


def test_a_reference_without_words_has_no_rate():
    with pytest.raises(InvalidValue, match="has no words"):
        word_error_rate("...", "a")


def test_other_languages_keep_their_words():
    assert normalised("Ein Haus!", "de") == "ein haus"


def plain(one, other):
    @cache
    def distance(i, j):
        if not i or not j:
            return i + j
        same = one[i - 1] == other[j - 1]
        return min(
            distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + (not same)
        )

    return distance(len(one), len(other))


@given(st.text("abc", max_size=7), st.text("abd", max_size=7))
def test_edit_distance_is_the_plain_one(one, other):
    assert edit_distance(one, other) == plain(one, other)


def test_similarity_of_texts():
    assert edit_similarity("The cat.", "the cat") == 1
    assert edit_similarity("", "") == 1
    assert edit_similarity("kitten", "sitting") == pytest.approx(1 - 3 / 7)
