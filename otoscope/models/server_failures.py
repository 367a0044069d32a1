"""Calls to a chat server that failed: the status of the answer, and whether others fail alike."""

from typing import NamedTuple

import openai

from otoscope.models.base import Status
from otoscope.models.redacting import Redactor
from otoscope.models.server_errors import (
    code_of,
    http_status_of,
    is_filtered,
    is_key_rejected,
    is_model_missing,
    is_not_taken,
    is_unpaid,
    message_of,
    wait_in,
    wait_of,
)
from otoscope.models.server_responses import ResponseError
from otoscope.models.server_settings import Server

NON_RETRYABLE = {401, 402, 403, 404}
"""Statuses that every other request would get too."""

RETRYABLE = (TimeoutError, openai.APIConnectionError)


class Failure(NamedTuple):
    """What an answer says about a failed call; `is_permanent` where every other would fail too."""

    status: Status
    detail: str
    is_permanent: bool = False


def wait_given_by(error: BaseException) -> float | None:
    """Seconds that the server says to wait, or None."""
    if isinstance(error, openai.APIStatusError):
        return wait_of(error.response.headers, error.body)
    return wait_in(error.body) if isinstance(error, ResponseError) else None


def failure_of(
    error: BaseException, server: Server, redactor: Redactor, n_attempts: int
) -> Failure:
    """What became of a call that raised.

    Args:
        error: Of the client, of the connection, or a `ResponseError`.
        n_attempts: How many there were, this one included.
    """
    tried = f" ({n_attempts} attempts)" if n_attempts > 1 else ""
    cause = error.__cause__ or error
    not_reached = type(cause).__name__ in ("ConnectError", "ConnectTimeout")
    if isinstance(error, TimeoutError | openai.APITimeoutError) and not not_reached:
        return Failure(Status.TIMEOUT, f"no answer within {server.timeout_s:g} s{tried}")
    if isinstance(error, openai.APIConnectionError):
        why = str(cause) or type(cause).__name__
        detail = redactor.line(f"no connection to {server.base_url}{tried}: {why}")
        return Failure(Status.ERROR, detail, not_reached)
    if isinstance(error, openai.APIStatusError):
        status, body = error.status_code, error.body
        message = f"HTTP {status}{tried}: {_explained(status, body, server)}"
    else:
        body = error.body if isinstance(error, ResponseError) else None
        status, message = http_status_of(body) or 0, f"{error}{tried}"
    if is_filtered(body) or (isinstance(error, ResponseError) and error.is_filtered):
        return Failure(Status.FILTERED, redactor.line(message_of(body) or str(error)))
    permanent = status in NON_RETRYABLE or is_key_rejected(body) or is_unpaid(body)
    permanent |= 400 <= status < 500 and is_model_missing(body)
    return Failure(Status.ERROR, redactor.line(message), permanent)


def _explained(status: int, body: object, server: Server) -> str:
    """An error's message, with the way out where there is one."""
    message, where = message_of(body), server.base_url
    if status == 404 and "model" not in f"{message} {code_of(body)}".lower():
        return f"nothing at {where}; a base URL usually ends in /v1 ({message})"
    if status == 404 or (status == 400 and is_model_missing(body)):
        instead = server.price.replaced_by if server.price else ""
        way = f"use {instead!r}" if instead else "it may be retired: name one that is served"
        return f"no model {server.model!r} at {where}; {way}, or replay saved answers ({message})"
    if status in (401, 403) or is_key_rejected(body):
        return f"{where} does not accept the key in {server.key_env} ({message})"
    if status in (400, 422):
        for name in server.body(server.fields):
            if is_not_taken(body, name):
                return f"{message} (to leave {name} out: --extra '{{\"{name}\": null}}')"
    return message
