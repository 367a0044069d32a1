"""Rows into questions: which rows a prompt is about, its parts, and the right answer."""

from otoscope.errors import InvalidValue
from otoscope.prompts import PROMPTS
from otoscope.prompts.base import Prompt
from otoscope.prompts.few_shot import Pool, interleave
from otoscope.prompts.labels import ItemRow, label_of
from otoscope.prompts.parts import Clip, Part, Question, Text

SOURCE = "source"
"""The category of rows that hold unchanged source clips."""


def split_name(name: str) -> tuple[str, str | None]:
    """The prompt and the attribute in a name such as `main@voice_pitch`.

    >>> split_name("main@voice_pitch"), split_name("main")
    (('main', 'voice pitch'), ('main', None))
    """
    prompt, at, attribute = name.partition("@")
    if at and not attribute:
        raise InvalidValue(f"{name!r} names no attribute behind '@'")
    return prompt, attribute.replace("_", " ") if at else None


def applies(prompt: Prompt, row: ItemRow) -> bool:
    """Whether a prompt is asked about a row: clip or source, and of its category.

    >>> applies(PROMPTS["tone_rise_fall"], {"category": "volume"})
    False
    """
    kind = "sources" if row["category"] == SOURCE else "clips"
    return prompt.rows in (kind, "both") and prompt.category in (None, row["category"])


def question(
    row: ItemRow, name: str, *, attribute: str | None = None, pool: Pool | None = None
) -> Question:
    """The question that a prompt puts about a row.

    A direction asked about another attribute than the row's own (cross-attribute) is scored against
    the row's own label, as published: what counts is how far the answer follows the wrong factor.
    `change` and `ternary` have no right answer there.

    Args:
        row: Columns `id`, `category`, `label`; `attribute` unless given here; for the published
            few-shot examples `clip_id`, else the id draws them. Rows of category `source` need no
            label and no attribute.
        name: A name in `PROMPTS`, with `@attribute` behind it or not.
        attribute: Words to ask about instead of the row's own, such as `audio distortion`.
        pool: Where few-shot examples come from.

    Raises:
        LookupError: There is no such prompt.
        ValueError: The prompt is not about such a row, or the row lacks what the prompt needs.
    """
    base, named = split_name(name)
    prompt = PROMPTS[base]
    if not applies(prompt, row):
        of = f" of {prompt.category!r}" if prompt.category else ""
        raise InvalidValue(
            f"prompt {base!r} is asked about {prompt.rows}{of}, and row {row['id']!r} is of "
            f"{row['category']!r}"
        )
    of_row = row.get("attribute")
    about = attribute or named or of_row
    if not about:
        raise InvalidValue(f"row {row['id']!r} has no attribute to ask about; name one")
    elsewhere = about != of_row
    if elsewhere and not prompt.takes_attribute:
        raise InvalidValue(f"prompt {base!r} is worded for one attribute, not for {about!r}")
    full_name = f"{base}@{about.replace(' ', '_')}" if elsewhere else base
    return Question(
        question_id=f"{row['id']}|{full_name}",
        id=row["id"],
        prompt_name=full_name,
        category=row["category"],
        attribute=about,
        parts=_parts(prompt, row, about, elsewhere, pool),
        labels=prompt.labels,
        label=_right_answer(prompt, row, elsewhere),
        parser=prompt.parser,
    )


def answer_word(question: Question) -> str | None:
    """The word that a question offers for its right answer; None where none is right.

    >>> row = {"id": "a", "category": "voice_pitch", "attribute": "voice pitch", "label": 1}
    >>> answer_word(question(row, "main")), answer_word(question(row, "change"))
    ('increase', 'yes')
    """
    return offered_word(question.prompt_name, question.label)


def offered_word(prompt_name: str, label: str | None) -> str | None:
    """The word that a prompt offers for a label; the label itself where it offers none.

    >>> offered_word("main@voice_pitch", "increase"), offered_word("own", "rises")
    ('increase', 'rises')
    """
    prompt = PROMPTS.get(prompt_name.partition("@")[0])
    words = prompt.answer_words if prompt else {}
    return next((word for word, meant in words.items() if meant == label), label)


def _parts(
    prompt: Prompt, row: ItemRow, about: str, elsewhere: bool, pool: Pool | None
) -> tuple[Part, ...]:
    text, clip = Text(prompt.text(about)), Clip(row["id"])
    if not prompt.few_shot:
        return (clip, text) if prompt.audio_first else (text, clip)
    if elsewhere:
        raise InvalidValue(
            f"few-shot examples are labelled for {row.get('attribute')!r}, not for {about!r}"
        )
    if pool is None or row["id"] in pool.ids:
        raise InvalidValue(
            f"few-shot about row {row['id']!r} needs a pool of labelled rows without that row"
        )
    examples = pool.draw(row["category"], row.get("clip_id") or row["id"])
    return interleave(examples, row["id"], attribute=about, question=text.text)


def _right_answer(prompt: Prompt, row: ItemRow, elsewhere: bool) -> str | None:
    if row["category"] == SOURCE:
        return prompt.source_label
    label = label_of(row)
    if label is None:
        raise InvalidValue(f"row {row['id']!r} of {row['category']!r} has no label")
    if elsewhere and prompt.source_label is not None:
        return None
    return prompt.clip_label or label
