"""Parsers that look for words.

Common to all: case does not count, and a word is found only as a whole one, so `increases` is found
where it is listed and `increased` is not. Negation is not understood: "does not increase" means
`increase` to the published rule, and therefore to ours; `otoscope.responses.parse_audit` counts
such answers.

Source: VocalGrad, section 4.1, appendices C.3, C.6 and C.9; the lists of words and the
first-hit rule are in the authors' data.
"""

import re
from collections.abc import Mapping

from otoscope.responses.base import Parsed, Parser


def patterns_of(words: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    """For each label a pattern that finds any of its words, whole, in any case."""
    by_label: dict[str, list[str]] = {}
    for word, label in words.items():
        by_label.setdefault(label, []).append(re.escape(word))
    return {
        label: re.compile(rf"\b(?:{'|'.join(found)})\b", re.IGNORECASE)
        for label, found in by_label.items()
    }


def one_label(words: Mapping[str, str]) -> Parser:
    """The label of all words found, wherever they stand, if they agree."""
    patterns = patterns_of(words)

    def decide(text: str) -> Parsed:
        hits = [label for label, pattern in patterns.items() if pattern.search(text)]
        if len(hits) == 1:
            return Parsed(hits[0], "one direction")
        return Parsed(None, "both directions" if hits else "no word")

    return Parser(words, ("one direction", "both directions", "no word"), decide)


def only_word(words: Mapping[str, str]) -> Parser:
    """The label of an answer that is nothing but the word.

    White space around it is forgiven, punctuation is not: `increase.` is not exact. That is how the
    published exact-match rates count.
    """

    def decide(text: str) -> Parsed:
        label = words.get(text.strip().lower())
        return Parsed(label, "not exact" if label is None else "exact")

    return Parser(words, ("exact", "not exact"), decide)


def first_word(words: Mapping[str, str], *, more: Mapping[str, str] | None = None) -> Parser:
    """The label of an answer that is nothing but the word, or else of the first word found.

    Args:
        words: What counts, alone or in a sentence.
        more: What counts in a sentence only.
    """
    anywhere = {**words, **(more or {})}
    patterns = patterns_of(anywhere)

    def decide(text: str) -> Parsed:
        if label := words.get(text.strip().lower()):
            return Parsed(label, "exact")
        found = ((pattern.search(text), label) for label, pattern in patterns.items())
        hits = [(match.start(), label) for match, label in found if match]
        return Parsed(min(hits)[1], "first hit") if hits else Parsed(None, "no word")

    return Parser(anywhere, ("exact", "first hit", "no word"), decide)
