"""A closed-set task: its question, and the variants in which it is put."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase

from otoscope.errors import InvalidValue
from otoscope.registry import Registry

QUOTE = "{text}"
"""Stands in a question for the words of the row that it quotes."""


@dataclass(frozen=True)
class ClosedSetTask:
    """What is asked about a clip.

    Attributes:
        question: One sentence; `{text}` in it stands for the row's own `text`.
        synonyms: Other words for labels; those of labels that a dataset lacks are left out.
        labels: The task's closed set, in its order; empty where the dataset decides.
    """

    question: str
    synonyms: Mapping[str, str] = field(default_factory=dict, hash=False)
    labels: tuple[str, ...] = ()

    @property
    def quotes(self) -> bool:
        """Whether rows need a `text`."""
        return QUOTE in self.question


@dataclass(frozen=True)
class Variant:
    """A way to put the question.

    Attributes:
        ask: From the question and the labels in the order offered, to the prompt.
        letters: Options have letters, by which they may be answered.
        order: From labels and the row's id to the order in which they are offered.
    """

    ask: Callable[[str, Sequence[str]], str]
    letters: bool = False
    order: Callable[[Sequence[str], str], Sequence[str]] = lambda labels, row_id: labels


def _listed(labels: Sequence[str]) -> str:
    """Labels in a sentence; apart by semicolons where one of them has a comma."""
    return ("; " if any("," in label for label in labels) else ", ").join(labels)


def _plain(question: str, labels: Sequence[str]) -> str:
    return f"{question} Choose one of: {_listed(labels)}.\n\nAnswer with the label only."


def _lettered(question: str, labels: Sequence[str]) -> str:
    options = "".join(
        f"{letter}. {label}\n" for letter, label in zip(ascii_uppercase, labels, strict=False)
    )
    return f"{question}\n\nOptions:\n{options}\nAnswer with the letter of one option only."


def _json(question: str, labels: Sequence[str]) -> str:
    return (
        f"{question} Choose one of: {_listed(labels)}.\n\n"
        'Answer with JSON only, in this form: {"label": "..."}'
    )


def shuffled(labels: Sequence[str], row_id: str) -> tuple[str, ...]:
    """Labels in an order that depends on the row alone."""
    return tuple(
        sorted(labels, key=lambda label: hashlib.sha256(f"{row_id}|{label}".encode()).digest())
    )


VARIANTS: Registry[Variant] = Registry(
    "prompt variant",
    {
        "plain": Variant(_plain),
        "letters": Variant(_lettered, letters=True),
        "json": Variant(_json),
        "shuffled": Variant(_plain, order=shuffled),
    },
)
"""Name to variant. `shuffled` shows whether the position of an option decides."""


@dataclass(frozen=True)
class PutQuestion:
    """A question about one row, put in one variant.

    Attributes:
        prompt: Text before the clip.
        labels: In the order in which they are offered.
        synonyms: Other words for them.
        letters: An answer may be the letter of an option.
    """

    prompt: str
    labels: tuple[str, ...]
    synonyms: Mapping[str, str] = field(hash=False)
    letters: bool


def put(
    task: ClosedSetTask, variant: Variant, labels: Sequence[str], row_id: str, text: str | None
) -> PutQuestion:
    """Puts the task's question to a row.

    Raises:
        InvalidValue: The task quotes words and the row has none, or there are more labels than
            letters.
    """
    if task.quotes and not (text or "").strip():
        raise InvalidValue(f"row {row_id!r} has no `text`, which this task's question quotes")
    if variant.letters and len(labels) > len(ascii_uppercase):
        others = " ".join(f"--prompt {name}" for name, each in VARIANTS.items() if not each.letters)
        raise InvalidValue(
            f"{len(labels)} labels, and 26 letters to name options by; leave out the prompt "
            f"`letters`: {others}"
        )
    offered = tuple(variant.order(labels, row_id))
    question = task.question.replace(QUOTE, text or "")
    synonyms = {word: label for word, label in task.synonyms.items() if label in labels}
    return PutQuestion(variant.ask(question, offered), offered, synonyms, variant.letters)
