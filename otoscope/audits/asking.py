"""Asks what is missing, and writes down every answer the moment it arrives."""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from otoscope.audits.runs import ASKED_AGAIN, Journal, attempts, deciding, journal
from otoscope.models.base import Answer, Asked, Status, description_of, stream
from otoscope.prompts.parts import Text
from otoscope.responses import PARSERS

RETRY_TOKENS = 256
"""The published second try, after an answer that cannot be parsed."""


@dataclass
class Tally:
    """How a run is going.

    Attributes:
        n_planned: Questions of this rank.
        n_before: Answered by earlier processes.
        n_repeated: In flight when an earlier process stopped, and asked again.
        n_answered, n_parsed, n_cached: By this process.
        cost: So far, by this process, in the price table's currency; None while unknown.
        statuses: How the calls of this process ended.
    """

    n_planned: int
    n_before: int = 0
    n_repeated: int = 0
    n_answered: int = 0
    n_parsed: int = 0
    n_cached: int = 0
    cost: float | None = None
    stopped: str = ""
    statuses: dict[str, int] = field(default_factory=dict)


class AnswerCache:
    """Answers that went well, by everything that could change them."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.database = sqlite3.connect(path, timeout=30)
        self.database.execute(
            "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT)"
        )

    def get(self, key: str) -> Answer | None:
        """An earlier answer, or None."""
        found = self.database.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        return Answer(**{**json.loads(found[0]), "status": Status.OK}) if found else None

    def put(self, key: str, answer: Answer) -> None:
        """Keeps an answer, if it went well."""
        if answer.status is not Status.OK:
            return
        plain = {k: v for k, v in vars(answer).items() if k != "status"}
        with self.database:
            self.database.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, json.dumps(plain))
            )

    def close(self) -> None:
        """Closes the file."""
        self.database.close()


def cache_key(asked: Asked, description: Mapping[str, Any]) -> str:
    """Hash of every part's text or audio bytes, and of the model's own description."""
    parts = [p.text if isinstance(p, Text) else {"audio": p.sha256} for p in asked.parts]
    content = json.dumps([parts, description], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()


def ask(
    run: Path,
    model: Any,
    question_ids: Sequence[str],
    fill: Callable[[str], Asked],
    *,
    rank: int = 0,
    retry_statuses: frozenset[str] = frozenset(),
    retry_unparsed: bool = False,
    max_cost: float | None = None,
    cache: AnswerCache | None = None,
    on_answer: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Asks every question that has no final answer yet.

    Args:
        run: Folder with a plan.
        model: See `otoscope.models.base.Model`.
        question_ids: Of this rank, in plan order.
        fill: From a question id to the question with its sound; called just before it is asked.
        rank: Whose file to write.
        retry_statuses: Final statuses to ask again all the same, e.g. `refused`.
        retry_unparsed: Ask an unparsable answer once more with 256 new tokens, as published.
        max_cost: Stop once so much is spent.
        cache: Earlier answers, or None.
        on_answer: Called after each.

    Raises:
        RunError: Another process is writing this rank.
    """
    before = deciding(attempts(run))
    again = ASKED_AGAIN | retry_statuses
    missing = [q for q in question_ids if q not in before or before[q]["status"] in again]
    tally = Tally(len(question_ids), len(question_ids) - len(missing))
    if not missing:
        return tally
    numbers = {q: before[q]["attempt"] + 1 if q in before else 1 for q in missing}
    with journal(run, rank) as book:
        tally.n_repeated = len(book.were_flying() & set(missing))
        _ask_all(
            model, missing, numbers, fill, book, tally, retry_unparsed, max_cost, cache, on_answer
        )
    return tally


def _ask_all(
    model: Any,
    missing: Sequence[str],
    numbers: Mapping[str, int],
    fill: Callable[[str], Asked],
    book: Journal,
    tally: Tally,
    retry_unparsed: bool,
    max_cost: float | None,
    cache: AnswerCache | None,
    on_answer: Callable[[Tally], None],
) -> None:
    description = description_of(model)
    flying: dict[int, Asked] = {}

    def settle(asked: Asked, answer: Answer, key: str | None) -> None:
        question = asked.question
        book.append(question.question_id, numbers[question.question_id], answer)
        if cache and key:
            cache.put(key, answer)
        tally.n_answered += 1
        tally.n_parsed += PARSERS[question.parser](answer.text).label is not None
        tally.statuses[answer.status.value] = tally.statuses.get(answer.status.value, 0) + 1
        if answer.cost is not None:
            tally.cost = (tally.cost or 0.0) + answer.cost
        on_answer(tally)

    def questions() -> Iterator[Asked]:
        n_sent = 0
        for question_id in missing:
            if max_cost is not None and (tally.cost or 0.0) >= max_cost:
                tally.stopped = f"--max-cost {max_cost:g} is reached"
                return
            asked = fill(question_id)
            known = cache.get(cache_key(asked, description)) if cache else None
            if known is not None:
                tally.n_cached += 1
                settle(asked, known, None)
                continue
            flying[n_sent] = asked
            n_sent += 1
            book.send([a.question.question_id for a in flying.values()])
            yield asked

    for index, answer in stream(model, questions()):
        asked = flying.pop(index)
        if retry_unparsed:
            answer = _second_try(model, asked, answer)
        settle(asked, answer, cache_key(asked, description) if cache else None)


def _second_try(model: Any, asked: Asked, answer: Answer) -> Answer:
    """The published retry; both texts are kept."""
    unparsed = PARSERS[asked.question.parser](answer.text).label is None
    if answer.status is not Status.OK or not unparsed or not hasattr(model, "with_settings"):
        return answer
    second = model.with_settings(max_new_tokens=RETRY_TOKENS).answer([asked])[0]
    return replace(second, first_text=answer.text, wall_s=answer.wall_s + second.wall_s)
