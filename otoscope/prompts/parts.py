"""What a question is made of. Pure data: audio is named here and loaded by the run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["user", "system"]


@dataclass(frozen=True)
class Text:
    """Text, exact to the character. Joining parts adds nothing: line breaks are in the text.

    Attributes:
        role: Who says it in a chat; a model without system messages rejects the question.
    """

    text: str
    role: Role = "user"


@dataclass(frozen=True)
class Clip:
    """The place of one clip: the `id` of the dataset row that holds its audio."""

    id: str


Part = Text | Clip


@dataclass(frozen=True)
class Question:
    """One question about one row of a dataset, with no clip, one or several.

    Attributes:
        question_id: `{id}|{prompt_name}`.
        id: The row asked about.
        prompt_name: A name in `PROMPTS`, with `@attribute` behind it when the question is about
            another attribute than the row's own: `main@voice_pitch`.
        parts: Text and clips in the order in which a model gets them.
        labels: What an answer may mean, in the order in which the words are offered; a closed set
            of two or more, or empty.
        label: The right answer, one of `labels`, or None where there is none and only shares of
            answers are of interest.
        parser: A name in `otoscope.responses.PARSERS`, or empty where answers are not parsed.
        category: The row's category; empty takes the dataset's.
        attribute: The words asked about; empty takes the dataset's.
        columns: Values of plan columns that the audit declares and the dataset lacks.
    """

    question_id: str
    id: str
    prompt_name: str
    parts: tuple[Part, ...]
    labels: tuple[str, ...] = ()
    label: str | None = None
    parser: str = ""
    category: str = ""
    attribute: str = ""
    columns: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Checks the labels.

        Raises:
            ValueError: There is only one.
        """
        if len(self.labels) == 1:
            raise ValueError(f"question {self.question_id!r} offers one label, {self.labels[0]!r}")

    @property
    def prompt(self) -> str:
        """All text of the question, clips left out."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def clips(self) -> tuple[str, ...]:
        """Ids of the rows whose audio is part of the question, in order."""
        return tuple(part.id for part in self.parts if isinstance(part, Clip))
