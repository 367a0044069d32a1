"""Requests what is missing, and stores every answer the moment it arrives."""

import math
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import Any

from otoscope.acoustics.codec import AudioError
from otoscope.audits.answer_cache import AnswerCache, cache_key
from otoscope.audits.journal import Journal, lost_calls, open_journal, sent_calls
from otoscope.audits.runs import attempts, deciding
from otoscope.errors import InvalidValue, first_names
from otoscope.models.base import Answer, ModelError, Request, Status, description_of, stream
from otoscope.models.retrying import ON_ERROR, RetryPolicy
from otoscope.responses import open_parser

ATTENUATED = "beyond full scale after decoding, so the clip was attenuated as a whole"
"""Detail of an answer about a clip that its lossy codec decodes to more than full scale."""

UNPRICED = "the price of this model is not known, so --max-cost cannot hold"


@dataclass
class RunProgress:
    """Progress of one process's share of a run.

    Attributes:
        n_planned: Questions of this rank.
        n_before: Answered by earlier processes.
        n_repeated: Calls of this rank's questions that were in flight when a process stopped, over
            the whole run; each such question is requested once more.
        n_answered, n_parsed, n_cached: By this process.
        cost: So far, by this process, in the price table's currency; None while unknown.
        stopped: Why it stopped before the end, or empty.
        complaints: Details of errors, each with its count.
        notes: Details of answers, each with its count.
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
    notes: Counter[str] = field(default_factory=Counter)


def ask(
    run: Path,
    model: Any,
    question_ids: Sequence[str],
    fill: Callable[[str], Request],
    *,
    rank: int = 0,
    world: int = 1,
    retry: RetryPolicy = ON_ERROR,
    max_cost: float | None = None,
    cache: AnswerCache | None = None,
    on_answer: Callable[[RunProgress], None] = lambda progress: None,
) -> RunProgress:
    """Requests an answer to every question that has no final one yet.

    Args:
        run: Folder with a plan.
        model: See `otoscope.models.base.Model`.
        question_ids: Of this rank, in plan order.
        fill: From a question id to the question with its audio, called just before the request. A
            question whose audio cannot be read ends in status `error`; the others go on.
        rank, world: Whose file to write, of how many.
        retry: Which answers to request again.
        max_cost: Stop once the run, all its processes taken together, has cost this much; a rank
            takes an equal share of what is left. Until an answer has had a cost, one request is in
            flight at a time.
        cache: Earlier answers, or None. Not used for a model that does not describe itself.
        on_answer: Called once before the first answer and after each.

    Raises:
        RunError: Another process is writing this rank.
        ModelError: The model failed; its earlier answers are stored.
        InvalidValue: `max_cost` is negative or not finite.
    """
    if max_cost is not None and not 0 <= max_cost < math.inf:
        raise InvalidValue(f"--max-cost is {max_cost}; it is a finite number of at least 0")
    with open_journal(run, rank, world) as journal:
        lines = list(attempts(run))
        before = deciding(lines)
        missing = [q for q in question_ids if q not in before or retry.is_open(before[q]["status"])]
        calls = set(sent_calls(run))
        numbers = dict.fromkeys(missing, 1)
        for question_id, attempt in calls | {(x["question_id"], x["attempt"]) for x in lines}:
            if question_id in numbers:
                numbers[question_id] = max(numbers[question_id], attempt + 1)
        of_this_rank = set(question_ids)
        progress = RunProgress(
            len(question_ids),
            len(question_ids) - len(missing),
            sum(question_id in of_this_rank for question_id, _ in lost_calls(calls, lines)),
        )
        budget = None
        if max_cost is not None:
            budget = (max_cost - sum(line.get("cost") or 0.0 for line in lines)) / world
        if getattr(model, "description", None) is None:
            cache = None
        on_answer(progress)
        if missing:
            _Dispatcher(
                model, fill, journal, progress, numbers, retry, cache, on_answer, budget, max_cost
            ).dispatch(missing)
    return progress


@dataclass
class _Dispatcher:
    """Sends requests to a model and stores its answers."""

    model: Any
    fill: Callable[[str], Request]
    journal: Journal
    progress: RunProgress
    numbers: Mapping[str, int]
    retry: RetryPolicy
    cache: AnswerCache | None
    on_answer: Callable[[RunProgress], None]
    budget: float | None
    max_cost: float | None
    in_flight: dict[int, tuple[Request, str]] = field(default_factory=dict)
    request_error: Exception | None = None

    def dispatch(self, missing: Sequence[str]) -> None:
        rest = deque(missing)
        while rest and not self.progress.stopped:
            self._send(rest)

    def _send(self, rest: deque[str]) -> None:
        """Requests answers until nothing is left, or until an answer has to show its price."""
        answers = stream(self.model, self._guarded(rest))
        while (arrived := self._next(answers)) is not None:
            index, answer = arrived
            if index not in self.in_flight:
                raise ModelError(f"the model answered question {index}, which is not open")
            request, key = self.in_flight[index]
            with self._one_error():
                answer = self.retry.settled(self.model, request, answer)
            del self.in_flight[index]
            if not answer.detail and any(a.attenuation_db for a in request.audio_inputs):
                answer = replace(answer, detail=ATTENUATED)
            if self.cache:
                self.cache.put(key, answer)
            self._store(request.question.question_id, answer, request.question.parser)
        if self.in_flight:
            raise ModelError(
                f"the model left {len(self.in_flight)} of its questions unanswered, "
                f"{self._names_in_flight()}"
            )

    def _guarded(self, rest: deque[str]) -> Iterator[Request]:
        """The requests; an error raised in here is not the fault of the model that pulls them."""
        try:
            yield from self._requests(rest)
        except Exception as error:
            self.request_error = error
            raise

    def _requests(self, rest: deque[str]) -> Iterator[Request]:
        n_sent, description = 0, description_of(self.model)
        while rest:
            if self._over_budget():
                return
            question_id = rest[0]
            try:
                request = self.fill(question_id)
            except AudioError as error:
                rest.popleft()
                self._store(question_id, Answer(None, Status.ERROR, detail=str(error)))
                continue
            key = ""
            if self.cache:
                key = cache_key(request, description, self.retry)
                if (known := self.cache.get(key)) is not None:
                    rest.popleft()
                    self.progress.n_cached += 1
                    self._store(question_id, known, request.question.parser, cached=True)
                    continue
            unpriced = self.budget is not None and self.progress.cost is None
            if unpriced and getattr(self.model, "price_is_known", None) is False:
                self.progress.stopped = f"{UNPRICED}; --price-in and --price-out give it"
            if self.progress.stopped or (unpriced and n_sent):
                return
            rest.popleft()
            self.in_flight[n_sent] = request, key
            n_sent += 1
            self.journal.send(question_id, self.numbers[question_id])
            yield request

    def _over_budget(self) -> bool:
        progress = self.progress
        n_paid = progress.statuses.get(Status.OK.value, 0) - progress.n_cached
        if self.budget is None:
            return False
        if (progress.cost or 0.0) >= self.budget:
            progress.stopped = f"--max-cost {self.max_cost:g} is reached"
        elif n_paid > 0 and progress.cost is None:
            progress.stopped = UNPRICED
        return bool(progress.stopped)

    def _next(self, answers: Iterator[tuple[int, Answer]]) -> tuple[int, Answer] | None:
        """The next answer; whatever a model raises becomes one clear error."""
        with self._one_error():
            arrived = next(answers, None)
        if arrived is None:
            return None
        if not (isinstance(arrived, tuple | list) and len(arrived) == 2):
            raise ModelError(
                f"{type(self.model).__name__}.stream yields an index and an answer, not "
                f"a {type(arrived).__name__}"
            )
        if not isinstance(arrived[0], Integral):
            raise ModelError(
                f"{type(self.model).__name__}.stream yields a {type(arrived[0]).__name__} "
                "for an index"
            )
        if not isinstance(arrived[1], Answer):
            raise ModelError(
                f"the model answered with a {type(arrived[1]).__name__}; it must be an "
                "otoscope.models.base.Answer"
            )
        return arrived

    @contextmanager
    def _one_error(self) -> Iterator[None]:
        try:
            yield
        except ModelError:
            raise
        except Exception as error:
            if error is self.request_error:
                raise
            raise ModelError(
                f"the model failed with {type(error).__name__}: {error}; in flight was "
                f"{self._names_in_flight()}; earlier answers are stored"
            ) from error

    def _names_in_flight(self) -> str:
        return first_names([r.question.question_id for r, _ in self.in_flight.values()])

    def _store(
        self, question_id: str, answer: Answer, parser: str = "", *, cached: bool = False
    ) -> None:
        self.journal.append(question_id, self.numbers[question_id], answer, cached=cached)
        progress = self.progress
        progress.n_answered += 1
        if parser and answer.status is Status.OK:
            progress.n_parsed += open_parser(parser)(answer.text).label is not None
        progress.statuses[answer.status.value] = progress.statuses.get(answer.status.value, 0) + 1
        if answer.detail:
            is_ok = answer.status is Status.OK
            (progress.notes if is_ok else progress.complaints)[answer.detail] += 1
        if answer.cost is not None:
            progress.cost = (progress.cost or 0.0) + answer.cost
        self.on_answer(progress)
