"""Responses of a chat server: an answer, or why there is none.

Servers differ, so a response is read as plain JSON with every field optional. Why an answer ended
has many names: what is known to be an end is one, what is not is an error that names it.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from otoscope.models.answer_fields import INT64
from otoscope.models.base import Answer, Status
from otoscope.models.server_errors import http_status_of, is_filtered, message_of

Ending = Literal["end", "cut", "filtered", "refused", "broken", "unknown"]
ENDINGS: dict[Ending, re.Pattern[str]] = {
    "filtered": re.compile(
        r"filter|safety|prohibit|block|spii|recitation|guardrail|moderation|policy|sensitive"
        r"|armor|inspection|jailbreak"
    ),
    "refused": re.compile(r"refus|declin"),
    "broken": re.compile(
        r"error|fail|abort|cancel|time_?d?_?out|malformed|unavailable|insufficient|interrupt"
        r"|disconnect|overload|rate_?limit|unspecified|^other$"
    ),
    "cut": re.compile(r"length|max_|limit|context_window|incomplete|truncat"),
    "end": re.compile(
        r"^(?:null|none)?$|stop|^end|_end$|(?:^|_)eo[st]|complete|finish|done|success|tool|function"
    ),
}
"""Words in a reason to end, in lower case; the first kind that fits."""

THOUGHT = re.compile(r"reason|think|thought", re.IGNORECASE)
"""In the names of fields and of types of parts that hold what a model wrote before its answer."""

REASONS = (
    *("finish_reason", "finishReason", "finish_details", "stop_reason", "stopReason"),
    "done_reason",
)
TEXTS = ("text", "transcript", "content", "value", "thinking", "reasoning", "summary")
"""Fields in which a part's text may lie."""


class ResponseError(ValueError):
    """A response without an answer; the message says why.

    Attributes:
        may_pass: Another attempt may succeed.
        body: The error that the server put into it, or None.
        is_filtered: A filter is why there is none.
    """

    def __init__(
        self, message: str, *, may_pass: bool = False, body: Any = None, is_filtered: bool = False
    ) -> None:
        super().__init__(message)
        self.may_pass, self.body, self.is_filtered = may_pass, body, is_filtered


class Content(NamedTuple):
    """A message's parts: its text, what was thought before, what it says in place of an answer."""

    text: str
    reasoning: str
    refusal: str


def parse_response(content: bytes) -> dict[str, Any]:
    """A response's JSON object.

    Raises:
        ResponseError: It is none.
    """
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        start = content[:60].decode("utf-8", errors="replace")
        raise ResponseError(f"the server's reply is not JSON: {start!r}") from None
    if not isinstance(reply, dict):
        raise ResponseError(f"the server's reply is a JSON {type(reply).__name__}, not an object")
    return reply


def answer_from(reply: Mapping[str, Any]) -> Answer:
    """The answer that a chat completion carries, its text as it is.

    A refusal and a filtered answer keep their text if there is any. An answer without text is an
    empty text: the model generated nothing. Where the text is spoken only, its transcript is the
    text.

    Raises:
        ResponseError: There is no choice or no message, the server lost the answer on the way, or
            it says that the answer ended in a way that is not known.
    """
    choice = _choice(reply)
    error = choice.get("error") or reply.get("error")
    reason = _reason(choice)
    ending = _ending(choice, reason, error)
    if ending == "broken":
        because = f": {message_of(error)}" if error else ""
        raise ResponseError(
            f"the server lost the answer (finish_reason {reason!r}){because}",
            may_pass=True, body=error,
        )  # fmt: skip
    if ending == "unknown":
        raise ResponseError(f"finish_reason {reason!r} is not known to end an answer")
    message = choice.get("message")
    if not isinstance(message, dict):
        if ending != "filtered":
            raise ResponseError("the server's reply has a choice without a message")
        message = {}
    text, reasoning, refusal = _content(message)
    if ending == "end" and not (text or refusal) and _is_prompt_filtered(reply):
        ending = "filtered"
    status = Status.OK
    if ending == "filtered":
        status = Status.FILTERED
    elif ending == "refused" or refusal:
        status, text = Status.REFUSED, text or refusal
    usage = usage_of(reply)
    return Answer(
        text if text or status is Status.OK else None,
        status,
        text_truncated=ending == "cut",
        n_tokens_in=count_in(usage, "prompt_tokens"),
        n_tokens_out=count_in(usage, "completion_tokens"),
        detail=_detail(status, reason),
        reasoning=reasoning or None,
    )


def _detail(status: Status, reason: str) -> str:
    """Why there is no answer: the reason that the server gives, or the kind of its message."""
    if status is Status.OK:
        return ""
    if ending_of(reason) == status.value:
        return f"finish_reason {reason}"
    return "refusal" if status is Status.REFUSED else "content filter"


def usage_of(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Token counts of the server; empty where it gives none."""
    usage = reply.get("usage")
    return usage if isinstance(usage, dict) else {}


def count_in(usage: Mapping[str, Any], name: str) -> int | None:
    """A count that is a whole number and can be stored, or None."""
    value = usage.get(name)
    return value if type(value) is int and 0 <= value < INT64 else None


def _choice(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The first choice.

    Raises:
        ResponseError: There is none; a filter or an error of a gateway may be why.
    """
    choices = reply.get("choices")
    # some gateways have the error's fields at the top
    named = ("error", "errors", "detail", "message")
    error = next((reply[k] if k != "message" else dict(reply) for k in named if reply.get(k)), None)
    if isinstance(choices, list) and choices:
        return choices[0] if isinstance(choices[0], dict) else {}
    blocked = next((reply[k] for k in ("prompt_feedback", "promptFeedback") if reply.get(k)), None)
    if is_filtered({"error": error}) or (isinstance(blocked, dict) and blocked):
        what = message_of(error) if error else json.dumps(blocked)
        raise ResponseError(what, body=error, is_filtered=True)
    status = http_status_of(error) or 0
    raise ResponseError(
        f"the server's reply holds no choice{f': {message_of(error)}' if error else ''}",
        may_pass=status in (408, 429) or status >= 500, body=error,
    )  # fmt: skip


def _reason(choice: Mapping[str, Any]) -> str:
    """Why the answer ended, by any name that the field has."""
    found = next((choice[name] for name in REASONS if choice.get(name) is not None), "")
    found = found.get("type", "") if isinstance(found, dict) else found
    # vLLM has a `stop_reason` of its own: the number of a token
    return str(found) if isinstance(found, str) or choice.get("finish_reason") else ""


def _ending(choice: Mapping[str, Any], reason_given: str, error: Any) -> Ending:
    """How an answer ended; a filter or an error counts wherever the choice names it.

    A gateway may call every end a stop and keep the reason of the server behind it in another
    field.
    """
    reason = ending_of(reason_given)
    if reason in ("end", "unknown"):
        native = ending_of(choice.get("native_finish_reason"))
        reason = native if native not in ("end", "unknown") else reason
    results = choice.get("content_filter_results") or choice.get("content_filter_result")
    if is_filtered(error) or (reason == "end" and _is_result_filtered(results)):
        return "filtered"
    return "broken" if error and reason in ("end", "unknown", "cut") else reason


def ending_of(reason: Any) -> Ending:
    """How an answer ended, by the name that a server gives the reason.

    >>> ending_of("MAX_TOKENS"), ending_of("content_filter: RECITATION"), ending_of(None)
    ('cut', 'filtered', 'end')
    """
    name = str("" if reason is None else reason).strip().lower().replace("-", "_")
    return next((kind for kind, words in ENDINGS.items() if words.search(name)), "unknown")


def _is_result_filtered(results: Any) -> bool:
    found = results.values() if isinstance(results, dict) else ()
    return any(isinstance(each, dict) and each.get("filtered") is True for each in found)


def _is_prompt_filtered(reply: Mapping[str, Any]) -> bool:
    """Whether the request itself was filtered, which Azure tells beside the choices."""
    prompts = reply.get("prompt_filter_results")
    return isinstance(prompts, list) and any(
        isinstance(each, dict) and _is_result_filtered(each.get("content_filter_results"))
        for each in prompts
    )


def _content(message: Mapping[str, Any]) -> Content:
    """Text, reasoning and refusal, from one text or from parts of several types.

    Raises:
        ResponseError: There are parts, of kinds that are not known, and no text.
    """
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts, thoughts, refusals, others = [], [], [], []
    for part in parts:
        if not isinstance(part, dict):
            texts.append("" if part is None else str(part))
        elif _is_thought(str(part.get("type") or "")) or part.get("thought") is True:
            thoughts.append(_flat(part))
        elif part.get("refusal"):
            refusals.append(str(part["refusal"]))
        else:
            texts.append(_flat(part))
            others += [] if any(n in part for n in (*TEXTS, "audio")) else [str(part.get("type"))]
    thoughts += [_flat(value) for name, value in message.items() if _is_thought(name)]
    audio = message.get("audio")
    spoken = audio.get("transcript") if isinstance(audio, dict) else None
    refusals += [str(message["refusal"])] if message.get("refusal") else []
    text = "".join(texts) or ("" if spoken is None else str(spoken))
    if others and not text and not refusals:
        raise ResponseError(f"no text is known in a part of type {others[0]!r}")
    return Content(
        text,
        "\n".join(dict.fromkeys(filter(None, thoughts))),
        "".join(refusals),
    )


def _is_thought(name: str) -> bool:
    return bool(THOUGHT.search(name)) and "signature" not in name.lower()


def _flat(value: Any) -> str:
    """The text in a part, whichever of its fields it lies in."""
    if isinstance(value, list):
        return "".join(map(_flat, value))
    if isinstance(value, dict):
        if isinstance(value.get("audio"), dict):
            value = value["audio"]
        return next((_flat(value[name]) for name in TEXTS if value.get(name)), "")
    return value if isinstance(value, str) else ""
