"""Responses of a chat server: an answer, or why there is none, never a key.

Servers differ, so a response is read as plain JSON with every field optional.
"""

import base64
import datetime
import email.utils
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from otoscope.models.base import Answer, Status

LONGEST_DETAIL = 300
KEY_LIKE = re.compile(r"\b(?:sk|AIza)[-\w*]{8,}|\b(?:Bearer|Basic)\s+[^\s'\"]+", re.IGNORECASE)
FILTER_CODES = {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}


class ResponseError(ValueError):
    """A response without an answer; the message says why."""


class Redactor:
    """Removes a key from texts, in any of its forms."""

    def __init__(self, key: str | None) -> None:
        forms = {key, quote(key, safe=""), base64.b64encode(key.encode()).decode()} if key else ()
        self._forms = sorted(forms, key=len, reverse=True)

    def text(self, text: str) -> str:
        """The text, the key replaced by `[key]`."""
        for form in self._forms:
            text = text.replace(form, "[key]")
        return text

    def line(self, text: str) -> str:
        """As `text`, and whatever looks like a key too; one line of bounded length."""
        return " ".join(KEY_LIKE.sub("[key]", self.text(text)).split())[:LONGEST_DETAIL]

    def __repr__(self) -> str:
        return f"Redactor({len(self._forms)} forms)"


def without_credentials(url: str) -> str:
    """A URL without user, password, query and fragment.

    >>> without_credentials("https://me:secret@example.org:8000/v1?key=secret")
    'https://example.org:8000/v1'
    """
    scheme, colon, rest = url.partition("://")
    host_and_path = rest if colon else scheme
    host, slash, path = re.split(r"[?#]", host_and_path)[0].partition("/")
    return f"{scheme if colon else ''}{colon}{host.rpartition('@')[2]}{slash}{path}"


def parse_response(content: bytes) -> dict[str, Any]:
    """A response's JSON object.

    Raises:
        ResponseError: It is none.
    """
    try:
        reply = json.loads(content)
    except ValueError:
        start = content[:60].decode("utf-8", errors="replace")
        raise ResponseError(f"the server's reply is not JSON: {start!r}") from None
    if not isinstance(reply, dict):
        raise ResponseError(f"the server's reply is a JSON {type(reply).__name__}, not an object")
    return reply


def answer_from(reply: Mapping[str, Any], redactor: Redactor) -> Answer:
    """The answer that a chat completion carries.

    A refusal and a filtered answer keep their text if there is any. An answer without text is an
    empty text: the model generated nothing.

    Raises:
        ResponseError: There is no choice, or it has no message.
    """
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices:
        error = reply.get("error")
        raise ResponseError(
            f"the server's reply holds no choice{f': {message_of(error)}' if error else ''}"
        )
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise ResponseError("the server's reply has a choice without a message")
    usage = usage_of(reply)
    text = redactor.text(_text(message.get("content")))
    status, detail = Status.OK, ""
    if choice.get("finish_reason") == "content_filter":
        status, detail = Status.FILTERED, "finish_reason content_filter"
    elif refusal := message.get("refusal"):
        status, detail = Status.REFUSED, "refusal"
        text = text or redactor.text(str(refusal))
    return Answer(
        text if text or status is Status.OK else None,
        status,
        text_truncated=choice.get("finish_reason") == "length",
        n_tokens_in=_count(usage.get("prompt_tokens")),
        n_tokens_out=_count(usage.get("completion_tokens")),
        detail=detail,
    )


def usage_of(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Token counts of the server; empty where it gives none."""
    usage = reply.get("usage")
    return usage if isinstance(usage, dict) else {}


def message_of(body: Any) -> str:
    """The message in an error's body, whichever shape it has."""
    error = _error_in(body)
    if isinstance(error, dict):
        return str(error.get("message") or error.get("detail") or json.dumps(error))
    return "" if body is None else str(error)


def code_of(body: Any) -> str:
    """The error code in a body, or nothing."""
    error = _error_in(body)
    return str(error.get("code") or error.get("type") or "") if isinstance(error, dict) else ""


def _error_in(body: Any) -> Any:
    return body.get("error", body) if isinstance(body, dict) else body


def retry_after(
    headers: Mapping[str, str], *, now: datetime.datetime | None = None
) -> float | None:
    """Seconds of a Retry-After header, or None without one.

    >>> retry_after({"retry-after": "1.5"}), retry_after({"retry-after-ms": "20"}), retry_after({})
    (1.5, 0.02, None)
    """
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            return max(0.0, float(headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    try:
        when = email.utils.parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    now = now or datetime.datetime.now(datetime.UTC)
    if when.tzinfo is None:
        when = when.replace(tzinfo=datetime.UTC)
    return max(0.0, (when - now).total_seconds())


def _text(content: Any) -> str:
    """A message's text; some servers send a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _count(value: Any) -> int | None:
    return value if type(value) is int and abs(value) < 2**63 else None
