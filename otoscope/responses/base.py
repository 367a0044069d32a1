"""What a parser is, and what it returns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Parsed(NamedTuple):
    """What an answer means, or None, and the rule that fired."""

    label: str | None
    rule: str


@dataclass(frozen=True)
class Parser:
    """A rule from answer text to label. It never guesses and never raises on text.

    Attributes:
        words: What it recognises, in lower case, each with its label.
        rules: Every rule name it can return, besides `empty`.
        decide: The rule, for text that is not blank.

    >>> Parser({"up": "up"}, ("a word", "no word"), lambda text: Parsed("up", "a word"))(" ")
    Parsed(label=None, rule='empty')
    """

    words: Mapping[str, str]
    rules: tuple[str, ...]
    decide: Callable[[str], Parsed]

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels it can return, in the order of its words."""
        return tuple(dict.fromkeys(self.words.values()))

    def __call__(self, text: str | None) -> Parsed:
        """What a raw answer means; None where there is no answer."""
        if text is None or not text.strip():
            return Parsed(None, "empty")
        return self.decide(text)
