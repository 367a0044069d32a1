"""Turns and replies: what judge prompts are made of."""

import re
from dataclasses import dataclass
from typing import Literal

Speaker = Literal["user", "assistant"]
USER, ASSISTANT = "user", "assistant"
PUNCTUATION = re.compile(r"[^\w\s']|_")


def display_text(text: str) -> str:
    """Words only: lower case, without punctuation, single spaces.

    >>> display_text("Well,  that’s  GREAT!")
    "well that's great"
    """
    return " ".join(PUNCTUATION.sub(" ", text.replace("’", "'").lower()).split())


@dataclass(frozen=True)
class Turn:
    """One turn of a context.

    Attributes:
        turn: Its number, from 1.
        emotion: Of the voice; None for an assistant's turn that declares none.
        clip_id: Its recording; None before it is rendered.
    """

    turn: int
    speaker: Speaker
    text: str
    emotion: str | None
    clip_id: str | None = None

    @property
    def display_text(self) -> str:
        """Its words: lower case, without punctuation."""
        return display_text(self.text)


@dataclass(frozen=True)
class Reply:
    """An assistant's reply to a context."""

    text: str
    emotion: str | None
    clip_id: str | None = None
