"""What is declared about a prompt."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Rows = Literal["clips", "sources", "both"]


@dataclass(frozen=True)
class Prompt:
    """A question, declared once and posed about every row it applies to.

    Attributes:
        template: The text, with at most the slot `{attribute}`.
        answer_words: Words offered, in the order offered, each with the label it stands for.
        parser: The rule for its answers, a name in `otoscope.responses.PARSERS`.
        rows: Which rows it is asked about: changed clips, source clips, or both.
        clip_label: The right answer for every changed clip; None where it is the clip's own label.
        source_label: The right answer for a source clip; None where there is none.
        category: The only category it is worded for; None for any.
        audio_first: Whether the clip comes before the text.
        few_shot: Whether labelled examples come before the query.
    """

    template: str
    answer_words: Mapping[str, str]
    parser: str = "paper"
    rows: Rows = "clips"
    clip_label: str | None = None
    source_label: str | None = None
    category: str | None = None
    audio_first: bool = False
    few_shot: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels an answer may have, in the order in which their words are offered."""
        return tuple(self.answer_words.values())

    @property
    def takes_attribute(self) -> bool:
        """Whether the text names what it asks about, so that it can ask about anything."""
        return "{attribute}" in self.template

    def text(self, attribute: str) -> str:
        """The text about an attribute, such as `audio distortion`."""
        return self.template.replace("{attribute}", attribute)


def offering(question: str, *words: str) -> str:
    """A question, a blank line, and the demand for one word of those offered.

    >>> print(offering("Up or down?", "up", "down"))
    Up or down?
    <BLANKLINE>
    Answer with only one word: "up" or "down".
    """
    *most, last = (f'"{word}"' for word in words)
    return f"{question}\n\nAnswer with only one word: {', '.join(most)} or {last}."
