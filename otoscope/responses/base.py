"""What a parser is, and what it returns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from otoscope.responses.thinking import apart_from_thinking

AFTER_THINKING = " after thinking"
UNFINISHED_THINKING = "unfinished thinking"


class Parsed(NamedTuple):
    """What an answer means, or None, and the rule that fired."""

    label: str | None
    rule: str


@dataclass(frozen=True)
class Parser:
    """A rule from answer text to label. It never guesses and never raises on text.

    Of an answer with thinking tags the part behind the thought is read, and the rule says so; a
    thought that never ends has no answer.

    Attributes:
        words: What it recognises, in lower case, each with its label.
        rules: Every rule name it can return for text without thinking tags, besides `empty`.
        decide: The rule, for text that is not blank.
        letters: Letter of an option to its label, where options have letters.

    >>> up = Parser({"up": "up"}, ("a word", "no word"), lambda text: Parsed("up", "a word"))
    >>> up(" "), up("<think>down?</think>up").rule
    (Parsed(label=None, rule='empty'), 'a word after thinking')
    """

    words: Mapping[str, str]
    rules: tuple[str, ...]
    decide: Callable[[str], Parsed]
    letters: Mapping[str, str] = field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels it can return, in the order of its words."""
        return tuple(dict.fromkeys(self.words.values()))

    @property
    def rules_after_thinking(self) -> tuple[str, ...]:
        """Every rule name it can return for text with thinking tags."""
        return (*(rule + AFTER_THINKING for rule in (*self.rules, "empty")), UNFINISHED_THINKING)

    def __call__(self, text: str | None) -> Parsed:
        """What a raw answer means; None where there is no answer."""
        if text is None or not text.strip():
            return Parsed(None, "empty")
        answer, there, unfinished = apart_from_thinking(text)
        if unfinished:
            return Parsed(None, UNFINISHED_THINKING)
        if not there:
            return self.decide(text)
        label, rule = self.decide(answer) if answer.strip() else Parsed(None, "empty")
        return Parsed(label, rule + AFTER_THINKING)
