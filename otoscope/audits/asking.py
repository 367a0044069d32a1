"""Asks what is missing, and writes down every answer the moment it arrives."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from otoscope.acoustics.codec import AudioError
from otoscope.audits.answer_cache import AnswerCache, cache_key
from otoscope.audits.journal import Journal, journal, lost, sent
from otoscope.audits.runs import ASKED_AGAIN, attempts, deciding
from otoscope.models.base import Answer, ModelError, Request, Status, description_of, stream
from otoscope.responses import PARSERS

RETRY_TOKENS = 256
"""The published second try, after an answer that cannot be parsed."""


@dataclass
class Tally:
    """How a run is going.

    Attributes:
        n_planned: Questions of this rank.
        n_before: Answered by earlier processes.
        n_repeated: Calls of this rank's questions that were in flight when a process stopped, over
            all the run's life: so often was a question asked once more.
        n_answered, n_parsed, n_cached: By this process.
        cost: So far, by this process, in the price table's currency; None while unknown.
        stopped: Why it stopped before the end, or nothing.
        complaints: What errors said, each with how often.
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
    complaints: Counter[str] = field(default_factory=Counter)


def ask(
    run: Path,
    model: Any,
    question_ids: Sequence[str],
    fill: Callable[[str], Request],
    *,
    rank: int = 0,
    world: int = 1,
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
        fill: From a question id to the question with its sound; called just before it is asked. One
            whose sound cannot be read ends in status `error`, and the others are asked.
        rank, world: Whose file to write, of how many.
        retry_statuses: Final statuses to ask again all the same, e.g. `refused`.
        retry_unparsed: Ask an unparsable answer once more with 256 new tokens, as published.
        max_cost: Stop once the run, all its processes taken together, has cost so much; a rank
            takes an equal share of what is left.
        cache: Earlier answers, or None. Not used for a model that does not describe itself.
        on_answer: Called once before the first answer and after each.

    Raises:
        RunError: Another process is writing this rank.
        ModelError: The model failed; what it answered before is kept.
    """
    with journal(run, rank, world) as book:
        lines = list(attempts(run))
        before = deciding(lines)
        again = ASKED_AGAIN | retry_statuses
        missing = [q for q in question_ids if q not in before or before[q]["status"] in again]
        calls = set(sent(run))
        numbers = dict.fromkeys(missing, 1)
        for question_id, attempt in calls | {(x["question_id"], x["attempt"]) for x in lines}:
            if question_id in numbers:
                numbers[question_id] = max(numbers[question_id], attempt + 1)
        own = set(question_ids)
        tally = Tally(
            len(question_ids),
            len(question_ids) - len(missing),
            sum(question_id in own for question_id, _ in lost(calls, lines)),
        )
        budget = None
        if max_cost is not None:
            budget = (max_cost - sum(line.get("cost") or 0.0 for line in lines)) / world
        if getattr(model, "description", None) is None:
            cache = None
        desk = _Desk(model, fill, book, tally, numbers, retry_unparsed, cache, on_answer)
        on_answer(tally)
        if missing:
            desk.ask(missing, budget, max_cost)
    return tally


class _Desk:
    """Where questions go out and answers come in."""

    def __init__(
        self,
        model: Any,
        fill: Callable[[str], Request],
        book: Journal,
        tally: Tally,
        numbers: Mapping[str, int],
        retry_unparsed: bool,
        cache: AnswerCache | None,
        on_answer: Callable[[Tally], None],
    ) -> None:
        self.model, self.fill, self.book, self.tally = model, fill, book, tally
        self.numbers, self.retry_unparsed, self.cache = numbers, retry_unparsed, cache
        self.on_answer = on_answer
        self.description = description_of(model)
        self.flying: dict[int, tuple[Request, str]] = {}
        self.own_error: Exception | None = None

    def ask(self, missing: Sequence[str], budget: float | None, max_cost: float | None) -> None:
        answers = stream(self.model, self._handed_out(missing, budget, max_cost))
        while (arrived := self._next(answers)) is not None:
            index, answer = arrived
            if index not in self.flying:
                raise ModelError(f"the model answered question {index}, which is not open")
            asked, key = self.flying.pop(index)
            if self.retry_unparsed:
                answer = self._second_try(asked, answer)
            if self.cache:
                self.cache.put(key, answer)
            self._settle(asked.question.question_id, answer, asked.question.parser)
        if self.flying:
            raise ModelError(
                f"the model left {len(self.flying)} of its questions unanswered, "
                f"{self._some_flying()}"
            )

    def _handed_out(self, *arguments: Any) -> Iterator[Request]:
        """The questions; what goes wrong in here is no fault of the model that pulls them."""
        try:
            yield from self._questions(*arguments)
        except Exception as error:
            self.own_error = error
            raise

    def _questions(
        self, missing: Sequence[str], budget: float | None, max_cost: float | None
    ) -> Iterator[Request]:
        n_sent = 0
        for question_id in missing:
            if budget is not None and (reason := self._over(budget, max_cost)):
                self.tally.stopped = reason
                return
            try:
                asked = self.fill(question_id)
            except AudioError as error:
                self._settle(question_id, Answer(None, Status.ERROR, detail=str(error)))
                continue
            key = ""
            if self.cache:
                key = cache_key(asked, self.description, self.retry_unparsed)
                if (known := self.cache.get(key)) is not None:
                    self.tally.n_cached += 1
                    self._settle(question_id, known, asked.question.parser, cached=True)
                    continue
            self.flying[n_sent] = asked, key
            n_sent += 1
            self.book.send(question_id, self.numbers[question_id])
            yield asked

    def _over(self, budget: float, max_cost: float | None) -> str:
        if (self.tally.cost or 0.0) >= budget:
            return f"--max-cost {max_cost:g} is reached"
        asked = self.tally.statuses.get(Status.OK.value, 0) - self.tally.n_cached
        if asked > 0 and self.tally.cost is None:
            return "the price of this model is not known, so --max-cost cannot be kept"
        return ""

    def _next(self, answers: Iterator[tuple[int, Answer]]) -> tuple[int, Answer] | None:
        """The next answer; whatever a model raises becomes one clear error."""
        try:
            arrived = next(answers, None)
        except ModelError:
            raise
        except Exception as error:
            if error is self.own_error:
                raise
            raise ModelError(
                f"the model failed with {type(error).__name__}: {error}; it was being asked "
                f"{self._some_flying()}; what it answered before is kept"
            ) from error
        if arrived is not None and not isinstance(arrived[1], Answer):
            raise ModelError(
                f"the model answered with a {type(arrived[1]).__name__}; it must be an "
                "otoscope.models.base.Answer"
            )
        return arrived

    def _some_flying(self) -> str:
        names = [asked.question.question_id for asked, _ in self.flying.values()]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return ", ".join(map(repr, names[:3])) + more

    def _settle(
        self, question_id: str, answer: Answer, parser: str = "", *, cached: bool = False
    ) -> None:
        self.book.append(question_id, self.numbers[question_id], answer, cached=cached)
        tally = self.tally
        tally.n_answered += 1
        tally.n_parsed += bool(parser) and PARSERS[parser](answer.text).label is not None
        tally.statuses[answer.status.value] = tally.statuses.get(answer.status.value, 0) + 1
        if answer.detail:
            tally.complaints[answer.detail] += 1
        if answer.cost is not None:
            tally.cost = (tally.cost or 0.0) + answer.cost
        self.on_answer(tally)

    def _second_try(self, asked: Request, answer: Answer) -> Answer:
        """The published retry; both texts are kept and both are paid."""
        unparsed = PARSERS[asked.question.parser](answer.text).label is None
        if answer.status is not Status.OK or not unparsed:
            return answer
        if not hasattr(self.model, "with_settings"):
            return answer
        second = self.model.with_settings(max_new_tokens=RETRY_TOKENS).answer([asked])[0]
        costs = [a.cost for a in (answer, second) if a.cost is not None]
        return replace(
            second,
            first_text=answer.text,
            wall_s=answer.wall_s + second.wall_s,
            cost=sum(costs) if costs else None,
        )
