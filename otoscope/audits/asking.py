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
        asking = _Asking(
            model, numbers, fill, book, tally, retry_unparsed, max_cost, cache, on_answer
        )
        asking.through(missing)
    return tally


@dataclass
class _Asking:
    """One process at work on one rank; see `ask` for what its parts are."""

    model: Any
    numbers: Mapping[str, int]
    fill: Callable[[str], Asked]
    book: Journal
    tally: Tally
    retry_unparsed: bool
    max_cost: float | None
    cache: AnswerCache | None
    on_answer: Callable[[Tally], None]

    def __post_init__(self) -> None:
        self.description = description_of(self.model)
        self.flying: dict[int, Asked] = {}

    def through(self, missing: Sequence[str]) -> None:
        """Asks all of them, and settles each answer as it arrives."""
        for index, answer in stream(self.model, self._sent(missing)):
            asked = self.flying.pop(index)
            if self.retry_unparsed:
                answer = _second_try(self.model, asked, answer)
            self._settle(asked, answer)
            if self.cache:
                self.cache.put(cache_key(asked, self.description), answer)

    def _sent(self, missing: Sequence[str]) -> Iterator[Asked]:
        """Questions as the model takes them; those the cache knows are settled on the way."""
        n_sent = 0
        for question_id in missing:
            if self.max_cost is not None and (self.tally.cost or 0.0) >= self.max_cost:
                self.tally.stopped = f"--max-cost {self.max_cost:g} is reached"
                return
            asked = self.fill(question_id)
            known = self.cache.get(cache_key(asked, self.description)) if self.cache else None
            if known is not None:
                self.tally.n_cached += 1
                self._settle(asked, replace(known, cost=None))
                continue
            self.flying[n_sent] = asked
            n_sent += 1
            self.book.send(a.question.question_id for a in self.flying.values())
            yield asked

    def _settle(self, asked: Asked, answer: Answer) -> None:
        question, tally = asked.question, self.tally
        self.book.append(question.question_id, self.numbers[question.question_id], answer)
        tally.n_answered += 1
        tally.n_parsed += PARSERS[question.parser](answer.text).label is not None
        tally.statuses[answer.status.value] = tally.statuses.get(answer.status.value, 0) + 1
        if answer.cost is not None:
            tally.cost = (tally.cost or 0.0) + answer.cost
        self.on_answer(tally)


def _second_try(model: Any, asked: Asked, answer: Answer) -> Answer:
    """The published retry; both texts are kept."""
    unparsed = PARSERS[asked.question.parser](answer.text).label is None
    if answer.status is not Status.OK or not unparsed or not hasattr(model, "with_settings"):
        return answer
    second = model.with_settings(max_new_tokens=RETRY_TOKENS).answer([asked])[0]
    return replace(second, first_text=answer.text, wall_s=answer.wall_s + second.wall_s)
