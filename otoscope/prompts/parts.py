"""What a question is made of. Pure data: sound is named here and fetched by whoever asks."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user"]


@dataclass(frozen=True)
class Text:
    """Text, exact to the character, and who says it. Joining parts adds nothing."""

    text: str
    role: Role = "user"


@dataclass(frozen=True)
class Clip:
    """The place of one clip: the `id` of the dataset row that holds its audio."""

    id: str


Part = Text | Clip


@dataclass(frozen=True)
class Question:
    """One question about one row of a dataset.

    Attributes:
        question_id: `{id}|{prompt_name}`.
        id: The row asked about.
        prompt_name: A name in `PROMPTS`, with `@attribute` behind it when the question is about
            another attribute than the row's own: `main@voice_pitch`.
        category: The row's category.
        attribute: The words asked about.
        parts: Text and clips in the order in which a model gets them.
        labels: What an answer may mean, in the order in which the words are offered.
        label: The right answer, one of `labels`, or None where there is none and only shares of
            answers are of interest.
        parser: A name in `otoscope.responses.PARSERS`.
    """

    question_id: str
    id: str
    prompt_name: str
    category: str
    attribute: str
    parts: tuple[Part, ...]
    labels: tuple[str, ...]
    label: str | None
    parser: str

    @property
    def prompt(self) -> str:
        """All text of the question, clips left out."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def clips(self) -> tuple[str, ...]:
        """Ids of the rows whose audio is heard, in order."""
        return tuple(part.id for part in self.parts if isinstance(part, Clip))
