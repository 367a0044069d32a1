"""Error bodies of chat servers: what went wrong, and how long to wait.

Gateways put the body of the server behind them into their own: an error may be an object, a text or
a list, and its code may stand under several names. A body is therefore read as plain JSON, every
field optional.
"""

import datetime
import email.utils
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

CODES = ("code", "type", "status", "reason", "error_code")
NESTED = ("error", "errors", "innererror", "metadata", "details", "detail")
FILTERING = re.compile(
    r"content[ _]?filter|content[ _](?:management[ _])?policy|ResponsibleAI|moderation|guardrail"
    r"|data_?inspection_?failed|prohibited_?content|\bflagged\b|\bblock_?reason\b|safety[ _]system",
    re.IGNORECASE,
)
KEY_REJECTED = re.compile(
    r"invalid_api_key|api_key_invalid|unauthenticated|invalid_authentication|authentication_error"
    r"|api[ _-]?key (?:is )?(?:not valid|invalid|incorrect|expired|missing|not found)"
    r"|(?:invalid|incorrect|expired|missing|no) api[ _-]?key",
    re.IGNORECASE,
)
NOTHING_TO_PAY_WITH = re.compile(
    r"insufficient[ _](?:quota|balance|credits?|funds)|billing_(?:hard_limit|not_active)",
    re.IGNORECASE,
)
NO_MODEL = re.compile(
    r"model_not_found|not a valid model|\bmodel\b.{0,80}(?:does not exist|not found)", re.IGNORECASE
)
NOT_TAKEN = re.compile(
    r"unsupported|not supported|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed"
    r"|extra_forbidden|instead|not compatible",
    re.IGNORECASE,
)
WAITS = ("retry_after", "retryafter", "retry-after", "retry_after_seconds", "retrydelay")
IN_WORDS = re.compile(
    r"\b(?:try|retry)(?: again| your request)?,? (?:in|after)\s+((?:\d+(?:\.\d+)?\s*[a-z]*\s*)+)",
    re.IGNORECASE,
)
PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
SECONDS = {"": 1.0, "d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3}


def message_of(body: Any) -> str:
    """The message in an error's body, whichever shape it has."""
    error = _unwrapped(body)
    if isinstance(error, dict):
        return str(error.get("message") or error.get("detail") or json.dumps(error))
    return "" if error is None else str(error)


def code_of(body: Any) -> str:
    """The error code in a body, or nothing."""
    error = _unwrapped(body)
    if not isinstance(error, dict):
        return ""
    return next((str(error[name]) for name in CODES if error.get(name)), "")


def http_status_of(body: Any) -> int | None:
    """The status of HTTP that a gateway names within an error, or None."""
    error = _unwrapped(body)
    code = error.get("code") if isinstance(error, dict) else None
    number = int(code) if isinstance(code, str) and re.fullmatch(r"[45]\d\d", code) else code
    return number if type(number) is int and 400 <= number < 600 else None


def is_filtered(body: Any) -> bool:
    """Whether an error says that a filter, not the server, stopped the request."""
    return any(
        FILTERING.search(value) if name in (*CODES, "message") else name == "reasons"
        for name, value in _texts(body)
    )


def is_key_rejected(body: Any) -> bool:
    """Whether an error says that the key is not accepted, whatever its status."""
    return _any_text(body, KEY_REJECTED)


def is_unpaid(body: Any) -> bool:
    """Whether an error says that there is no money left, which no waiting mends."""
    return _any_text(body, NOTHING_TO_PAY_WITH)


def is_model_missing(body: Any) -> bool:
    """Whether an error says that there is no such model."""
    return _any_text(body, NO_MODEL)


def is_not_taken(body: Any, field: str) -> bool:
    """Whether an error says that the server does not take this field of a request."""
    return is_about(body, field) and _any_text(body, NOT_TAKEN)


def is_about(body: Any, field: str) -> bool:
    """Whether an error names a field of a request."""
    return _any_text(body, re.compile(rf"\b{field}\b"))


def wait_of(headers: Mapping[str, str], body: Any) -> float | None:
    """Seconds to wait, as headers or body say, or None."""
    given = retry_after(headers)
    return wait_in(body) if given is None else given


def wait_in(body: Any) -> float | None:
    """Seconds that an error's body says to wait: in a field, or in the words of its message.

    >>> wait_in({"error": {"details": [{"retryDelay": "0.3s"}]}})
    0.3
    >>> wait_in({"error": {"message": "Rate limit reached. Please try again in 1m2.5s."}})
    62.5
    """
    for name, value in _leaves(body):
        if name.lower() in WAITS and (wait := _duration(value)) is not None:
            return wait
        if name.lower() in ("retry_after_ms", "retry-after-ms") and _is_number(value):
            return max(0.0, float(value) / 1000)
    for _, text in _texts(body):
        if (words := IN_WORDS.search(text)) and (wait := _duration(words[1])) is not None:
            return wait
    return None


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


def _unwrapped(body: Any) -> Any:
    """The error itself: out of a list of one, out of a field `error`."""
    while True:
        if isinstance(body, list) and body:
            body = body[0]
        elif isinstance(body, dict) and body.get("error"):
            body = body["error"]
        else:
            return body


def _leaves(body: Any, depth: int = 6) -> Iterator[tuple[str, Any]]:
    """Every named value of an error, whatever it lies in; lists give the name they have."""
    if depth == 0:
        return
    for part in body if isinstance(body, list) else [body]:
        if isinstance(part, dict):
            for name, value in part.items():
                yield name, value
                if isinstance(value, dict | list) and name in (*NESTED, "headers"):
                    yield from _leaves(value, depth - 1)
        elif isinstance(part, list):
            yield from _leaves(part, depth - 1)


def _texts(body: Any) -> Iterator[tuple[str, str]]:
    """Names and texts of an error; a bare text is its message, a list counts as its JSON."""
    if isinstance(body, str):
        yield "message", body
    for name, value in _leaves(body):
        if isinstance(value, str) or (name in ("reasons", "loc") and value):
            yield name, value if isinstance(value, str) else json.dumps(value)


def _any_text(body: Any, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(text) for _, text in _texts(body))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _duration(value: Any) -> float | None:
    """Seconds of a number, of texts such as `1.5s`, `1m20s`, `300ms`, `6 seconds`, or of a dict."""
    if _is_number(value):
        return max(0.0, float(value))
    if isinstance(value, dict) and "seconds" in value:
        return _duration(str(value["seconds"]))
    total, known = 0.0, False
    for number, unit in PART.findall(value) if isinstance(value, str) else ():
        short = unit.lower()
        short = "ms" if short.startswith(("ms", "milli")) else short[:1]
        if short not in SECONDS:
            break
        total, known = total + float(number) * SECONDS[short], True
    return total if known else None
