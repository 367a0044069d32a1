"""A stream of concurrent calls to a chat server: retries, and a status for every failure."""

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import openai
import tenacity

from otoscope.models.base import Answer, ModelError, Status
from otoscope.models.in_flight import RateLimiter
from otoscope.models.prices import Price
from otoscope.models.retrying import ON_ERROR, RetryPolicy, replaced
from otoscope.models.server_responses import (
    FILTER_CODES,
    Redactor,
    ResponseError,
    answer_from,
    code_of,
    message_of,
    parse_response,
    retry_after,
    usage_of,
)

LONGEST_BACKOFF_S = 30.0
NON_RETRYABLE = {401, 403, 404}
"""Statuses that every other request would get too."""

RETRYABLE = (TimeoutError, openai.APIConnectionError)


@dataclass(frozen=True)
class Server:
    """A server, its model and the settings of requests; documented in `open_openai`.

    Attributes:
        fields: Of every request, besides model and messages.
        price: Of the model there, if known.
        server_models: The model's names in the server's responses.
    """

    model: str
    revision: str | None
    base_url: str
    key_env: str
    fields: Mapping[str, Any]
    sampling_rate: int | None
    max_audio_s: float | None
    audio_format: str
    preset: str | None
    concurrency: int
    requests_per_minute: float | None
    timeout_s: float
    max_retries: int
    backoff_s: float
    longest_wait_s: float
    price: Price | None
    server_models: set[str] = field(default_factory=set)
    retry: RetryPolicy = ON_ERROR

    @property
    def limit_field(self) -> str:
        """Name of the limit on an answer's tokens in a request."""
        old, new = "max_tokens", "max_completion_tokens"
        return new if new in self.fields and old not in self.fields else old

    def key(self) -> str | None:
        """The key, read from the environment at the time."""
        return os.environ.get(self.key_env) or None


@dataclass(frozen=True)
class ChatRequest:
    """The messages of a question, and what its answer is completed with."""

    messages: list[dict[str, Any]] = field(repr=False)
    audio_s: float
    n_clipped: int
    parser: str


class ChatCalls:
    """The calls of one stream, in one event loop."""

    def __init__(self, server: Server, redactor: Redactor) -> None:
        self._server, self._redactor = server, redactor
        self._gate = asyncio.Semaphore(server.concurrency)
        self._limiter = RateLimiter(server.requests_per_minute)
        self._client = openai.AsyncOpenAI(
            api_key=server.key() or "none",
            base_url=server.base_url,
            timeout=server.timeout_s,
            max_retries=0,
        )
        self._create = self._client.chat.completions.with_raw_response.create

    async def end(self) -> None:
        """Closes all connections."""
        await self._client.close()

    async def answer(self, request: ChatRequest | Answer) -> Answer:
        """One question's answer; raises only where no request can succeed."""
        if isinstance(request, Answer):
            return request
        async with self._gate:
            began = time.perf_counter()
            fields = self._server.fields
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
            content: bytes = await attempts(self._once, request.messages, fields)
            response = parse_response(content)
            answer = answer_from(response, self._redactor)
        except (openai.APIError, TimeoutError, ResponseError) as error:
            return self._failure(error, attempts.statistics.get("attempt_number", 1))
        server.server_models.add(str(response.get("model") or ""))
        if server.price is None:
            return answer
        return replace(answer, cost=server.price.cost(usage_of(response), request.audio_s))

    async def _once(self, messages: list[dict[str, Any]], fields: Mapping[str, Any]) -> bytes:
        await self._limiter.acquire()
        # in `extra_body`, which the client sends as it is: its walk through `messages` takes longer
        # than encoding the clip
        body = {"messages": messages, **fields}
        async with asyncio.timeout(self._server.timeout_s):
            reply = await self._create(model=self._server.model, messages=[], extra_body=body)
        return reply.content

    def _is_retryable(self, error: BaseException) -> bool:
        """Whether another attempt may succeed."""
        if isinstance(error, openai.APIStatusError):
            wait_s = retry_after(error.response.headers)
            if wait_s is not None and wait_s > self._server.longest_wait_s:
                return False
            no_quota = code_of(error.body) == "insufficient_quota"
            return not no_quota and (
                error.status_code in (408, 409, 429) or error.status_code >= 500
            )
        return isinstance(error, RETRYABLE)

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """The server's Retry-After, else exponential backoff with jitter."""
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, openai.APIStatusError):
            wait_s = retry_after(error.response.headers)
            if wait_s is not None:
                self._limiter.delay(wait_s)  # for all calls, this one's next attempt included
                return 0.0
        backoff = tenacity.wait_exponential_jitter(
            multiplier=self._server.backoff_s, max=LONGEST_BACKOFF_S, jitter=self._server.backoff_s
        )
        return backoff(state)

    def _failure(self, error: Exception, n_attempts: int) -> Answer:
        server, line = self._server, self._redactor.line
        tried = f" ({n_attempts} attempts)" if n_attempts > 1 else ""
        if isinstance(error, TimeoutError | openai.APITimeoutError):
            return Answer(
                None, Status.TIMEOUT, detail=f"no answer within {server.timeout_s:g} s{tried}"
            )
        if isinstance(error, openai.APIStatusError):
            if code_of(error.body) in FILTER_CODES:
                return Answer(None, Status.FILTERED, detail=line(message_of(error.body)))
            detail = line(f"HTTP {error.status_code}{tried}: {self._explained(error)}")
            permanent = (
                error.status_code in NON_RETRYABLE or code_of(error.body) == "insufficient_quota"
            )
        elif isinstance(error, openai.APIConnectionError):
            cause = error.__cause__ or error
            permanent = type(cause).__name__ == "ConnectError"
            detail = line(
                f"no connection to {server.base_url}{tried}: {cause or type(cause).__name__}"
            )
        else:
            permanent, detail = False, line(f"{error}{tried}")
        if permanent and not server.server_models:
            raise ModelError(detail) from None
        return Answer(None, Status.ERROR, detail=detail)

    def _explained(self, error: openai.APIStatusError) -> str:
        """An error's message, with the way out where there is one."""
        server, message = self._server, message_of(error.body)
        where = server.base_url
        if error.status_code == 404:
            if "model" not in f"{message} {code_of(error.body)}".lower():
                return f"nothing at {where}; a base URL usually ends in /v1 ({message})"
            instead = server.price.replaced_by if server.price else ""
            way = f"use {instead!r}" if instead else "it may be retired: name one that is served"
            return (
                f"no model {server.model!r} at {where}; {way}, or replay saved answers ({message})"
            )
        if error.status_code in (401, 403):
            return f"{where} does not accept the key in {server.key_env} ({message})"
        return message
