"""Saved answers as a model: nothing is requested, everything downstream is as with a model.

A file of saved answers is JSONL, CSV or Parquet with one answer a row. It is keyed by
`question_id`, or by `id`, or by `benchmark_clip_id` and `category` (the published layout, spread
over one file a category: `'replay:raw/default/*/kimia.jsonl'`). The answer is in `text`,
`raw_response`, `response` or `answer`. A row with a `prompt` only answers that prompt.

Source of the published layouts: VocalGrad data, `docs/papers.md`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from otoscope.errors import first_names, short
from otoscope.models.base import Answer, ModelError, Request, Status
from otoscope.models.saved_answers import (
    LocatedRow,
    SavedRow,
    digest,
    find_files,
    flag_in,
    number_in,
    read_rows,
    text_in,
)
from otoscope.prompts.parts import Question

TEXTS = ("text", "raw_response", "response", "answer")
NOTHING_SAVED = "no saved answer"
PUBLISHED_KEY = ("benchmark_clip_id", "category")

Key = tuple[str, ...]


class SavedAnswer(NamedTuple):
    """One row of a file: the answer, its prompt and right label if known, and where it stands."""

    answer: Answer
    prompt: str | None
    attempt: int
    where: str
    gold_label: str | None = None


class Replay:
    """Gives saved answers; a question without one gets status `error`, "no saved answer"."""

    def __init__(
        self,
        saved: Mapping[Key, Sequence[SavedAnswer]],
        keys_of: Callable[[Question], Iterable[Key]],
        description: Mapping[str, Any],
        *,
        is_published: bool = False,
    ) -> None:
        self._saved, self._keys_of, self._is_published = saved, keys_of, is_published
        self.description = dict(description)

    def answer(self, questions: Sequence[Request]) -> list[Answer]:
        """The saved answers; tells apart nothing saved and saved for another prompt."""
        return [self._find(request.question) for request in questions]

    def _find(self, question: Question) -> Answer:
        rows = [saved for key in self._keys_of(question) for saved in self._saved.get(key, ())]
        if not rows:
            return Answer(None, Status.ERROR, detail=NOTHING_SAVED)
        fitting = _to_prompt(rows, question)
        if not fitting:
            return Answer(None, Status.ERROR, detail=f"{NOTHING_SAVED} to this prompt")
        exact = [row for row in fitting if row.prompt is not None]
        return (exact or fitting)[0].answer

    def check_questions(self, questions: Sequence[Question], *, whole: bool) -> None:
        """Compares answers in the published layout with the questions, before any is scored.

        Args:
            questions: All that will be asked.
            whole: Whether they cover the dataset, so that there is no answer to anything else.

        Raises:
            ModelError: A question has no answer, or only to another prompt; an answer's
                `gold_label` differs; an answer is to a clip that is not in the dataset.
        """
        if not self._is_published:
            return
        absent, known = [], set()
        for question in questions:
            keys = list(self._keys_of(question))
            known.update(keys)
            rows = [row for key in keys for row in self._saved.get(key, ())]
            fitting = _to_prompt(rows, question)
            if not fitting:
                absent.append(question.question_id)
                if rows:
                    raise ModelError(
                        f"{rows[0].where}: answers the prompt {rows[0].prompt!r}, and "
                        f"{question.question_id!r} asks {question.prompt!r}; choose its --prompt"
                    )
            for row in fitting:
                if question.label and row.gold_label not in (None, question.label):
                    raise ModelError(
                        f"{row.where}: gold_label is {row.gold_label!r}, and the dataset says "
                        f"{question.label!r} of {question.id!r}; it is another dataset's answer"
                    )
        if absent:
            raise ModelError(
                f"replay: no saved answer to {len(absent):,} of {len(questions):,} questions: "
                f"{first_names(absent)}; add them, or ask about one --config or category"
            )
        categories = {question.category for question in questions}
        more = ["|".join(key) for key in self._saved if key not in known and key[-1] in categories]
        if whole and more:
            raise ModelError(
                f"replay: the dataset lacks the clips of {len(more):,} saved answers: "
                f"{first_names(more)}; give the dataset that they are about"
            )


def _to_prompt(rows: Sequence[SavedAnswer], question: Question) -> list[SavedAnswer]:
    """The answers to a question's prompt, and those that do not say what they answer."""
    wanted = question.prompt.strip()
    return [row for row in rows if row.prompt is None or row.prompt.strip() == wanted]


def open_replay(name: str | None, revision: str | None = None) -> Replay:
    """`replay:FILE`; FILE may be a pattern such as `raw/default/*/kimia.jsonl`.

    Raises:
        ModelError: No file, a file that cannot be read, columns missing, or two different answers
            to one question of which neither is a later attempt.
    """
    paths = find_files("replay", name)
    rows = read_rows(paths)
    key_columns, text_column = _columns(name, rows)
    saved: dict[Key, list[SavedAnswer]] = {}
    for where, row in rows:
        key = tuple(str(row[column]) for column in key_columns if row.get(column) is not None)
        if len(key) != len(key_columns):
            raise ModelError(f"{where}: has no {' and '.join(key_columns)}")
        answer, attempt = _answer(row, text_column, where), number_in(row, "attempt", where) or 0
        prompt, label = text_in(row, "prompt"), text_in(row, "gold_label")
        _add(saved, key, SavedAnswer(answer, prompt, attempt, where, label))
    description = {"kind": "replay", "files": len(paths), "sha256": digest(paths)}
    published = key_columns == PUBLISHED_KEY
    return Replay(saved, _KEYS_OF[key_columns], description, is_published=published)


def open_human(name: str | None, revision: str | None = None) -> Replay:
    """`human:FILE#ANNOTATOR`: the labels of one annotator, from rows of an annotation.

    Rows need `item_id`, `category`, `annotated_label`, and `annotator_id` where several people are
    in one file. One person is one "model": agreement is between runs, and the published human value
    is a mean over people.

    Raises:
        ModelError: As `open_replay`; no such annotator, or several and none named.
    """
    pattern, annotator = name or "", None
    if "#" in pattern and not Path(pattern).exists():
        pattern, _, annotator = pattern.rpartition("#")
    paths = find_files("human", pattern)
    rows = read_rows(paths)
    needed = ("item_id", "category", "annotated_label")
    for where, row in rows:
        if missing := [column for column in needed if column not in row]:
            raise ModelError(f"{where}: no {missing[0]!r}; an annotation has {list(needed)}")
    people = sorted({str(row["annotator_id"]) for _, row in rows if row.get("annotator_id")})
    if annotator is not None and annotator not in people:
        raise ModelError(f"human: no annotator {annotator!r} in {pattern}; there are {people}")
    if annotator is None and len(people) > 1:
        raise ModelError(f"human: {pattern} holds several annotators; add # and one of {people}")
    saved: dict[Key, list[SavedAnswer]] = {}
    for where, row in rows:
        if annotator is not None and str(row.get("annotator_id")) != annotator:
            continue
        label = text_in(row, "annotated_label")
        answer = Answer(label, cost=0.0)
        if label is None:
            answer = Answer(None, Status.ERROR, cost=0.0, detail="the saved row has no label")
        key = (str(row["item_id"]), str(row["category"]))
        _add(saved, key, SavedAnswer(answer, None, 0, where))
    who = annotator or (people[0] if people else None)
    files = {"files": len(paths), "sha256": digest(paths)}
    return Replay(saved, _annotated, {"kind": "human", "annotator": who, **files})


def _by_clip(question: Question) -> list[Key]:
    """The id itself, and the published clip id within `{split}-{category}-{clip_id}`."""
    _, category, clip_id = question.id.partition(f"-{question.category}-")
    ids = [question.id] + [clip_id] * bool(category)
    return [(one, question.category) for one in ids]


def _annotated(question: Question) -> list[Key]:
    """As by clip, for the question of annotation: increase or decrease of the row's attribute."""
    own = "@" not in question.prompt_name and {"increase", "decrease"} <= set(question.labels)
    return _by_clip(question) if own else []


_KEYS_OF: dict[Key, Callable[[Question], Iterable[Key]]] = {
    ("question_id",): lambda question: [(question.question_id,)],
    ("id",): lambda question: [(question.id,)],
    PUBLISHED_KEY: _by_clip,
}


def _add(saved: dict[Key, list[SavedAnswer]], key: Key, new: SavedAnswer) -> None:
    """Adds an answer to those of its key.

    A later attempt replaces an earlier one, and equal answers are one.

    Raises:
        ModelError: Two different answers to one prompt have the same attempt.
    """
    rows = saved.setdefault(key, [])
    for i, old in enumerate(rows):
        if old.prompt != new.prompt:
            continue
        if new.attempt != old.attempt:
            rows[i] = max(old, new, key=lambda row: row.attempt)
        elif old.answer != new.answer:
            raise ModelError(
                f"two different answers to {'|'.join(key)}: {old.where} and {new.where}; "
                "leave one, or number them in a column `attempt`"
            )
        return
    rows.append(new)


def _columns(name: str | None, rows: Sequence[LocatedRow]) -> tuple[Key, str]:
    """The columns of key and text, taken from the first row."""
    columns = list(rows[0][1])
    key = next((key for key in _KEYS_OF if set(key) <= set(columns)), None)
    text = next((text for text in TEXTS if text in columns), None)
    if key is None or text is None:
        keys = [" and ".join(key) for key in _KEYS_OF]
        wanted = " or ".join(keys if key is None else TEXTS)
        raise ModelError(f"replay: {name} has columns {columns}; it needs {wanted}")
    return key, text


def _answer(row: SavedRow, text_column: str, where: str) -> Answer:
    """A row's answer. In the published layout a failed one has its exception as raw response."""
    if isinstance(row.get(text_column), list | dict):
        kind = type(row[text_column]).__name__
        raise ModelError(f"{where}: {text_column} is a {kind}, not a text")
    text = "" if row.get(text_column) == "" else text_in(row, text_column)
    status, detail = Status.OK, ""
    if text_in(row, "status") is not None:
        try:
            status = Status(str(row["status"]))
        except ValueError:
            raise ModelError(
                f"{where}: status {short(repr(row['status']))} is none of "
                f"{[s.value for s in Status]}"
            ) from None
        detail = text_in(row, "detail") or ""
    elif text_in(row, "error") not in (None, "False", "false", "0"):
        return Answer(None, Status.ERROR, cost=0.0, detail=text or str(row["error"]))
    elif text is None:
        return Answer(None, Status.ERROR, cost=0.0, detail="the saved row has no text")
    return Answer(
        text,
        status,
        audio_truncated=flag_in(row, "audio_truncated"),
        text_truncated=flag_in(row, "text_truncated"),
        n_tokens_in=number_in(row, "n_tokens_in", where),
        n_tokens_out=number_in(row, "n_tokens_out", where),
        cost=0.0,
        detail=detail,
        first_text=text_in(row, "first_text"),
        reasoning=text_in(row, "reasoning"),
    )
