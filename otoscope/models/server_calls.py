"""A stream of concurrent calls to a chat server: retries, and a status for every failure."""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import openai
import tenacity

from otoscope.models.base import Answer, ModelError, Status
from otoscope.models.in_flight import RateLimiter
from otoscope.models.label_scores import NO_LETTERS, letter_scores
from otoscope.models.redacting import Redactor
from otoscope.models.retrying import replaced
from otoscope.models.server_errors import is_filtered, is_unpaid
from otoscope.models.server_failures import RETRYABLE, Failure, failure_of, wait_given_by
from otoscope.models.server_responses import ResponseError, answer_from, parse_response, usage_of
from otoscope.models.server_settings import SCORE_FIELDS, ChatRequest, Server

LOG = logging.getLogger(__name__)
LONGEST_BACKOFF_S = 30.0
LONGEST_CONNECT_S = 4.0
NOTICE_EVERY_S = 10.0


class ServerReply(NamedTuple):
    """A chat completion, and the answer in it."""

    reply: dict[str, Any]
    answer: Answer


class ChatCalls:
    """The calls of one stream, in one event loop."""

    def __init__(self, server: Server, redactor: Redactor) -> None:
        self._server, self._redactor = server, redactor
        self._gate = asyncio.Semaphore(server.concurrency)
        self._limiter = RateLimiter(server.requests_per_minute)
        connect_s = min(server.timeout_s, LONGEST_CONNECT_S)
        self._client = openai.AsyncOpenAI(
            api_key=server.key() or "none",
            base_url=server.base_url,
            timeout=openai.Timeout(server.timeout_s, connect=connect_s),
            max_retries=0,
        )
        self._create = self._client.chat.completions.with_raw_response.create
        self._noticed = float("-inf")
        self._no_reply_yet: asyncio.TimerHandle | None = None

    async def end(self) -> None:
        """Closes all connections."""
        self._stop_waiting()
        await self._client.close()

    async def answer(self, request: ChatRequest | Answer) -> Answer:
        """One question's answer; raises only where no request can succeed."""
        if isinstance(request, Answer):
            return request
        async with self._gate:
            began = time.perf_counter()
            fields = {**self._server.fields, **(SCORE_FIELDS if request.letters else {})}
            answer = await self._ask(request, fields)
            if limit := self._server.retry.new_limit(request.parser, answer):
                second = await self._ask(request, {**fields, self._server.limit_field: limit})
                answer = replaced(answer, second)
            if request.n_clipped and not answer.detail:
                clipped = f"{request.n_clipped} samples clipped in resampling"
                answer = replace(answer, detail=clipped)
            return replace(answer, wall_s=time.perf_counter() - began)

    async def _ask(self, request: ChatRequest, fields: Mapping[str, Any]) -> Answer:
        server = self._server
        attempts = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(server.max_retries + 1),
            wait=self._wait,
            retry=tenacity.retry_if_exception(self._is_retryable),
            reraise=True,
        )
        try:
            found: ServerReply = await attempts(self._once, request, fields)
        except (openai.APIError, TimeoutError, ResponseError) as error:
            return self._failure(error, attempts.statistics.get("attempt_number", 1))
        server.server_models.add(str(found.reply.get("model") or ""))
        if server.price is None:
            return found.answer
        cost = server.price.cost(usage_of(found.reply), request.audio_s)
        return replace(found.answer, cost=cost)

    async def _once(self, request: ChatRequest, fields: Mapping[str, Any]) -> ServerReply:
        reply = parse_response(await self._content(request.messages, fields))
        return ServerReply(reply, self._scored(answer_from(reply), reply, request.letters))

    async def _content(self, messages: list[dict[str, Any]], fields: Mapping[str, Any]) -> bytes:
        """The reply to fields that the server takes: it may have said that some need a change."""
        changes = [self._server.is_without_scores, self._server.is_renamed]
        while True:
            body = self._server.body(fields)
            try:
                return await self._send(messages, body)
            except openai.APIStatusError as error:
                is_bad = error.status_code in (400, 422)
                change = next((c for c in changes if is_bad and c(body, error.body)), None)
                if change is None:
                    raise
                changes.remove(change)

    def _scored(
        self, answer: Answer, reply: Mapping[str, Any], letters: Mapping[str, str]
    ) -> Answer:
        """The answer with the scores of its labels, or with the reason why it has none."""
        if not self._server.label_scores or answer.status is not Status.OK:
            return answer
        scores, why = letter_scores(reply, letters) if letters else (None, NO_LETTERS)
        return replace(answer, logprobs=scores, detail=answer.detail or why)

    async def _send(self, messages: list[dict[str, Any]], fields: Mapping[str, Any]) -> bytes:
        await self._limiter.acquire()
        if self._no_reply_yet is None:
            loop = asyncio.get_running_loop()
            self._no_reply_yet = loop.call_later(LONGEST_CONNECT_S, self._still_waiting)
        # in `extra_body`, which the client sends as it is: its walk through `messages` takes longer
        # than encoding the clip
        body = {"messages": messages, **fields}
        async with asyncio.timeout(self._server.timeout_s):
            reply = await self._create(model=self._server.model, messages=[], extra_body=body)
        self._stop_waiting()
        return reply.content

    def _is_retryable(self, error: BaseException) -> bool:
        """Whether another attempt may succeed."""
        wait_s = wait_given_by(error)
        if wait_s is not None and wait_s > self._server.longest_wait_s:
            return False
        if isinstance(error, openai.APIStatusError):
            final = is_unpaid(error.body) or is_filtered(error.body)
            return not final and (error.status_code in (408, 409, 429) or error.status_code >= 500)
        if isinstance(error, ResponseError):
            return error.may_pass
        return isinstance(error, RETRYABLE)

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """As long as the server says, else exponential backoff with jitter."""
        error = state.outcome.exception() if state.outcome else None
        given_s = None if error is None else wait_given_by(error)
        if given_s is not None:
            self._limiter.delay(given_s)  # for all calls, this one's next attempt included
            wait_s = 0.0
        else:
            backoff = tenacity.wait_exponential_jitter(
                multiplier=self._server.backoff_s,
                max=LONGEST_BACKOFF_S,
                jitter=self._server.backoff_s,
            )
            wait_s = backoff(state)
        n, most = state.attempt_number + 1, self._server.max_retries + 1
        if error is not None and n <= most:
            what = self._failure_of(error, state.attempt_number).detail
            self._notice(f"{what}; attempt {n} of {most} follows in {given_s or wait_s:.1f} s")
        return wait_s

    def _notice(self, text: str) -> None:
        """Says what is waited for, at most once in a while."""
        self._stop_waiting()
        if time.monotonic() - self._noticed >= NOTICE_EVERY_S:
            self._noticed = time.monotonic()
            LOG.warning("%s", text)

    def _still_waiting(self) -> None:
        server = self._server
        self._notice(
            f"no reply from {server.base_url} yet; a request ends after {server.timeout_s:g} s and "
            f"is retried up to {server.max_retries} times"
        )

    def _stop_waiting(self) -> None:
        if self._no_reply_yet is not None:
            self._no_reply_yet.cancel()

    def _failure(self, error: Exception, n_attempts: int) -> Answer:
        failure = self._failure_of(error, n_attempts)
        if failure.is_permanent and not self._server.server_models:
            raise ModelError(failure.detail) from None
        return Answer(None, failure.status, detail=failure.detail)

    def _failure_of(self, error: BaseException, n_attempts: int) -> Failure:
        return failure_of(error, self._server, self._redactor, n_attempts)
