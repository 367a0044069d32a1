"""Word error rate and edit similarity, after normalisation of text.

Normalisation is Whisper's, as transformers ships it: case, punctuation, contractions, numbers and
what stands in brackets do not count. Spelling is not changed.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from otoscope.errors import InvalidValue


class WordErrors(NamedTuple):
    """Wrong words of a text, and how many the reference has."""

    n_errors: int
    n_words: int


def normalised(text: str, language: str = "en") -> str:
    """A text as it is compared.

    >>> normalised("Please, call  STELLA!")
    'please call stella'
    """
    words = str(_normaliser(language == "en")(text)).split()
    return " ".join(word for word in words if any(mark.isalnum() for mark in word))


@cache
def _normaliser(is_english: bool) -> Any:
    from transformers.models.whisper.english_normalizer import (
        BasicTextNormalizer,
        EnglishTextNormalizer,
    )

    return EnglishTextNormalizer({}) if is_english else BasicTextNormalizer()


def word_errors(reference: str, hypothesis: str, language: str = "en") -> WordErrors:
    """Substituted, inserted and deleted words, for rates over many clips.

    >>> word_errors("please call stella", "please tall stella now")
    WordErrors(n_errors=2, n_words=3)
    """
    right, found = (normalised(text, language).split() for text in (reference, hypothesis))
    return WordErrors(edit_distance(right, found), len(right))


def word_error_rate(reference: str, hypothesis: str, language: str = "en") -> float:
    """Wrong words over words of the reference; above 1 where many are inserted.

    >>> word_error_rate("Please call Stella.", "please tall stella")
    0.3333333333333333

    Raises:
        InvalidValue: The reference has no words, so that there is no rate.
    """
    n_errors, n_words = word_errors(reference, hypothesis, language)
    if n_words == 0:
        raise InvalidValue(f"the reference {reference!r} has no words: there is no error rate")
    return n_errors / n_words


def edit_similarity(one: str, other: str, language: str = "en") -> float:
    """1 less the edit distance in characters, over the longer text; 1 for two empty ones.

    >>> edit_similarity("call", "tall"), edit_similarity("", "call")
    (0.75, 0.0)
    """
    first, second = normalised(one, language), normalised(other, language)
    longest = max(len(first), len(second))
    return 1 - edit_distance(first, second) / longest if longest else 1.0


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """Fewest insertions, deletions and substitutions that make one sequence the other.

    >>> edit_distance("kitten", "sitting")
    3
    """
    codes: dict[str, int] = {}
    columns = np.array([codes.setdefault(each, len(codes)) for each in other], dtype=np.int64)
    at = np.arange(len(other) + 1)
    row = at.copy()
    for n, each in enumerate(one, start=1):
        own = np.concatenate(
            [[n], np.minimum(row[1:] + 1, row[:-1] + (columns != codes.get(each, -1)))]
        )
        row = np.minimum.accumulate(own - at) + at  # insertions: along the row, 1 each
    return int(row[-1])
