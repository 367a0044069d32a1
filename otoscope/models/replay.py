"""Answers that were given before: nothing is asked, everything downstream is as with a model.

A file of saved answers is JSONL, CSV or Parquet with one answer a row. It is keyed by
`question_id`, or by `id`, or by `benchmark_clip_id` and `category` (the published layout, spread
over one file a category: `'replay:raw/default/*/kimia.jsonl'`). The answer is in `text`,
`raw_response`, `response` or `answer`. Where a row has a `prompt`, it only answers that prompt.

Source of the published layouts: VocalGrad data, `docs/papers.md`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from otoscope.models.base import Answer, ModelError, Request, Status
from otoscope.models.saved_answers import (
    Placed,
    Row,
    digest,
    find_files,
    given,
    read_rows,
    true,
    whole,
)
from otoscope.prompts.parts import Question

KEYS = (("question_id",), ("id",), ("benchmark_clip_id", "category"))
TEXTS = ("text", "raw_response", "response", "answer")
NOTHING_SAVED = "no saved answer"

Key = tuple[str, ...]


class Saved(NamedTuple):
    """One row of a file: the answer, the prompt it was given to if known, and where it stands."""

    answer: Answer
    prompt: str | None
    attempt: int
    where: str


class Counts(NamedTuple):
    """What a replay had and what was wanted of it.

    Attributes:
        n_saved: Answers to tell apart.
        n_failed: Of these, saved failures.
        n_replaced: Rows left out because the same answer, or a later attempt, stands elsewhere.
        n_torn: Unfinished last lines.
        n_found, n_missing: Questions asked so far, with and without a saved answer.
    """

    n_saved: int
    n_failed: int
    n_replaced: int
    n_torn: int
    n_found: int
    n_missing: int


class Replay:
    """Gives saved answers; a question without one gets status `error`, "no saved answer"."""

    def __init__(
        self,
        saved: Mapping[Key, Sequence[Saved]],
        keys_of: Callable[[Question], Iterable[Key]],
        description: Mapping[str, Any],
        *,
        n_replaced: int = 0,
        n_torn: int = 0,
    ) -> None:
        self._saved, self._keys_of = saved, keys_of
        self._n_replaced, self._n_torn = n_replaced, n_torn
        self._asked: Counter[bool] = Counter()
        self.description = dict(description)

    def answer(self, questions: Sequence[Request]) -> list[Answer]:
        """The saved answers; tells apart nothing saved and saved for another prompt."""
        answers = [self._find(request.question) for request in questions]
        self._asked.update(not answer.detail.startswith(NOTHING_SAVED) for answer in answers)
        return answers

    @property
    def counts(self) -> Counts:
        """What there is and what was asked so far."""
        answers = [saved.answer for rows in self._saved.values() for saved in rows]
        failed = sum(answer.status is not Status.OK for answer in answers)
        return Counts(
            len(answers), failed, self._n_replaced, self._n_torn,
            self._asked[True], self._asked[False],
        )  # fmt: skip

    def _find(self, question: Question) -> Answer:
        rows = [saved for key in self._keys_of(question) for saved in self._saved.get(key, ())]
        if not rows:
            return Answer(None, Status.ERROR, detail=NOTHING_SAVED)
        wanted = question.prompt.strip()
        fitting = [row for row in rows if row.prompt is None or row.prompt.strip() == wanted]
        if not fitting:
            return Answer(None, Status.ERROR, detail=f"{NOTHING_SAVED} to this prompt")
        exact = [row for row in fitting if row.prompt is not None]
        return (exact or fitting)[0].answer


def open_replay(name: str | None, revision: str | None = None) -> Replay:
    """`replay:FILE`; FILE may be a pattern such as `raw/default/*/kimia.jsonl`.

    Raises:
        ModelError: No file, a file that cannot be read, columns missing, or two different answers
            to one question of which neither is a later attempt.
    """
    paths = find_files("replay", name)
    rows, n_torn = read_rows(paths)
    key_columns, text_column = _columns(name, rows)
    collected: dict[Key, list[Saved]] = {}
    n_replaced = 0
    for where, row in rows:
        key = tuple(str(row[column]) for column in key_columns if row.get(column) is not None)
        if len(key) != len(key_columns):
            raise ModelError(f"{where}: has no {' and '.join(key_columns)}")
        saved = Saved(
            _answer(row, text_column, where),
            given(row, "prompt"),
            whole(row, "attempt") or 0,
            where,
        )
        n_replaced += _keep(collected.setdefault(key, []), saved, key)
    description = {"kind": "replay", "files": len(paths), "sha256": digest(paths)}
    return Replay(
        collected, _KEYS_OF[key_columns], description, n_replaced=n_replaced, n_torn=n_torn
    )


def open_human(name: str | None, revision: str | None = None) -> Replay:
    """`human:FILE#ANNOTATOR`: what one person heard, from rows of an annotation.

    Rows need `item_id`, `category`, `annotated_label`, and `annotator_id` where several people are
    in one file. One person is one "model": three people are three runs, as their agreement is
    between runs and the published human value is a mean over people.

    Raises:
        ModelError: As `open_replay`; no such annotator, or several and none named.
    """
    pattern, annotator = name or "", None
    if "#" in pattern and not Path(pattern).exists():
        pattern, _, annotator = pattern.rpartition("#")
    paths = find_files("human", pattern)
    rows, n_torn = read_rows(paths)
    _need(pattern, rows, ("item_id", "category", "annotated_label"))
    people = sorted({str(row["annotator_id"]) for _, row in rows if row.get("annotator_id")})
    if annotator is not None and annotator not in people:
        raise ModelError(f"human: no annotator {annotator!r} in {pattern}; there are {people}")
    if annotator is None and len(people) > 1:
        raise ModelError(f"human: {pattern} holds several annotators; add # and one of {people}")
    collected: dict[Key, list[Saved]] = {}
    n_replaced = 0
    for where, row in rows:
        if annotator is not None and str(row.get("annotator_id")) != annotator:
            continue
        key = (str(row["item_id"]), str(row["category"]))
        label = given(row, "annotated_label")
        answer = Answer(label, cost=0.0)
        if label is None:
            answer = Answer(None, Status.ERROR, cost=0.0, detail="the saved row has no label")
        n_replaced += _keep(collected.setdefault(key, []), Saved(answer, None, 0, where), key)
    who = annotator or (people[0] if people else None)
    description = {
        "kind": "human", "annotator": who, "files": len(paths), "sha256": digest(paths),
    }  # fmt: skip
    return Replay(collected, _heard_by_people, description, n_replaced=n_replaced, n_torn=n_torn)


def _by_question(question: Question) -> list[Key]:
    return [(question.question_id,)]


def _by_row(question: Question) -> list[Key]:
    return [(question.id,)]


def _by_clip(question: Question) -> list[Key]:
    """The id itself, and the published clip id within `{split}-{category}-{clip_id}`."""
    _, category, clip_id = question.id.partition(f"-{question.category}-")
    ids = [question.id] + [clip_id] * bool(category)
    return [(one, question.category) for one in ids]


def _heard_by_people(question: Question) -> list[Key]:
    """As by clip, for questions that people were asked: up or down, of the row's own attribute."""
    asked_themselves = "@" not in question.prompt_name and {"increase", "decrease"} <= set(
        question.labels
    )
    return _by_clip(question) if asked_themselves else []


_KEYS_OF: dict[Key, Callable[[Question], Iterable[Key]]] = {
    ("question_id",): _by_question,
    ("id",): _by_row,
    ("benchmark_clip_id", "category"): _by_clip,
}


def _keep(rows: list[Saved], new: Saved, key: Key) -> bool:
    """Adds a row to those of its key; True if one of the two had to go.

    A later attempt replaces an earlier one, an equal answer is one answer. Two different ones
    without an order are nobody's to choose from.
    """
    for i, old in enumerate(rows):
        if old.prompt != new.prompt:
            continue
        if new.attempt != old.attempt:
            rows[i] = max(old, new, key=lambda saved: saved.attempt)
        elif old.answer != new.answer:
            raise ModelError(
                f"two different answers to {'|'.join(key)}: {old.where} and {new.where}; "
                "leave one, or number them in a column `attempt`"
            )
        return True
    rows.append(new)
    return False


def _columns(name: str | None, rows: Sequence[Placed]) -> tuple[Key, str]:
    """The columns of key and text, taken from the first row."""
    columns = list(rows[0][1])
    key = next((key for key in KEYS if set(key) <= set(columns)), None)
    text = next((text for text in TEXTS if text in columns), None)
    if key is None or text is None:
        wanted = (
            " or ".join(" and ".join(key) for key in KEYS) if key is None else " or ".join(TEXTS)
        )
        raise ModelError(f"replay: {name} has columns {columns}; it needs {wanted}")
    return key, text


def _need(name: str, rows: Sequence[Placed], columns: Sequence[str]) -> None:
    for where, row in rows:
        if missing := [column for column in columns if column not in row]:
            raise ModelError(f"{where}: no {missing[0]!r}; an annotation has {list(columns)}")


def _answer(row: Row, text_column: str, where: str) -> Answer:
    """A row's answer. In the published layout a failed one has its exception as raw response."""
    text = given(row, text_column)
    if text is None and row.get(text_column) == "":
        text = ""
    if given(row, "status") is not None:
        try:
            status = Status(str(row["status"]))
        except ValueError:
            raise ModelError(
                f"{where}: status {row['status']!r} is none of {[s.value for s in Status]}"
            ) from None
        detail = given(row, "detail") or ""
    elif given(row, "error") not in (None, "False", "false", "0"):
        return Answer(None, Status.ERROR, cost=0.0, detail=text or str(row["error"]))
    elif text is None:
        return Answer(None, Status.ERROR, cost=0.0, detail="the saved row has no text")
    else:
        status, detail = Status.OK, ""
    return Answer(
        text,
        status,
        audio_truncated=true(row, "audio_truncated"),
        text_truncated=true(row, "text_truncated"),
        n_tokens_in=whole(row, "n_tokens_in"),
        n_tokens_out=whole(row, "n_tokens_out"),
        cost=0.0,
        detail=detail,
        first_text=given(row, "first_text"),
    )
