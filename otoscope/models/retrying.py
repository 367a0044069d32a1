"""When an answer is requested again: three rules, one policy.

- Retry on error: `timeout` and `error` are not final; the next start of a run requests them again.
- Retry on status: other statuses that the user names, such as `refused`, likewise.
- Retry on parse failure: an answer that its parser finds no label in is requested once more, at
  once, with a higher limit on tokens. Both texts are kept and both calls are paid.

The attempts of one call to a server (429, 5xx, broken connections) are no retry in this sense; they
are in `otoscope.models.server_calls`.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields, replace
from typing import Any

from otoscope.models.base import Answer, ModelError, Request, Status, calling
from otoscope.registry import Registry
from otoscope.responses import open_parser

NOT_FINAL = frozenset({Status.TIMEOUT.value, Status.ERROR.value})
STATUSES: Registry[Status] = Registry("status", {status.value: status for status in Status})

PUBLISHED_MAX_NEW_TOKENS = 256
"""The limit of the published retry on parse failure."""


def _unparsed(parser: str, answer: Answer) -> bool:
    return bool(parser) and open_parser(parser)(answer.text).label is None


def immediate_retry(applies: Callable[[str, Answer], bool]) -> Any:
    """A rule that requests an answer once more at once; its field is the limit on new tokens.

    Args:
        applies: From the name of a parser and an answer of status `ok`.
    """
    return field(default=None, metadata={"applies": applies})


@dataclass(frozen=True)
class RetryPolicy:
    """Which answers a run requests again, beside `NOT_FINAL` ones, and with which limit on tokens.

    Another rule that requests again at once is one more `immediate_retry` field; what is
    requested, described and stored follows from it.

    Attributes:
        on_status: Final statuses to request again when the run is started again.
        on_parse_failure: The limit on new tokens of the retry on parse failure; None for no retry.

    Raises:
        UnknownName: There is no such status.
    """

    on_status: Collection[str] = ()
    on_parse_failure: int | None = immediate_retry(_unparsed)

    def __post_init__(self) -> None:
        """Checks the statuses."""
        object.__setattr__(self, "on_status", frozenset(STATUSES[name] for name in self.on_status))

    @property
    def _limits(self) -> dict[str, int]:
        """The limit of every rule that requests again at once and is in use, by its field."""
        rules = {rule.name: getattr(self, rule.name) for rule in fields(self) if rule.metadata}
        return {name: limit for name, limit in rules.items() if limit is not None}

    @property
    def max_tokens(self) -> int | dict[str, int] | None:
        """In descriptions of models: the limit of the retry on parse failure, or of each rule."""
        limits = self._limits
        return limits if limits.keys() - {"on_parse_failure"} else self.on_parse_failure

    @property
    def recorded(self) -> bool | int | dict[str, int]:
        """In run.json and cache keys: whether there is a retry at once, or limits of one's own."""
        limit = self.max_tokens
        return True if limit == PUBLISHED_MAX_NEW_TOKENS else limit or False

    def is_open(self, status: str) -> bool:
        """Whether a question whose deciding attempt has this status is requested again."""
        return status in NOT_FINAL or status in self.on_status

    def prepare(self, model: Any) -> Any:
        """The model to run; one with `with_retry` makes the retry at once itself.

        Raises:
            ModelError: It has neither `with_retry` nor `with_settings`.
        """
        limits = self._limits
        if limits and hasattr(model, "with_retry"):
            return model.with_retry(self)
        if limits and not hasattr(model, "with_settings"):
            rules = " and ".join(name.replace("_", " ") for name in limits)
            raise ModelError(f"retry {rules}: this model has no limit on tokens to raise")
        return model

    def new_limit(self, parser: str, answer: Answer) -> int | None:
        """The limit on new tokens of the retry of an answer; None where it is not retried."""
        if answer.status is not Status.OK:
            return None
        limits, rules = self._limits, {rule.name: rule.metadata for rule in fields(self)}
        applying = [n for name, n in limits.items() if rules[name]["applies"](parser, answer)]
        return max(applying, default=None)

    def settled(self, model: Any, request: Request, answer: Answer) -> Answer:
        """The answer, or the one that replaces it."""
        limit = self.new_limit(request.question.parser, answer)
        if limit is None or not hasattr(model, "with_settings"):
            return answer
        with calling(model, "with_settings"):
            again = model.with_settings(max_new_tokens=limit)
        if not callable(getattr(again, "answer", None)):
            raise ModelError(
                f"{type(model).__name__}.with_settings returns a {type(again).__name__}, "
                "not a model"
            )
        with calling(again, "answer"):
            return replaced(answer, again.answer([request])[0])


ON_ERROR = RetryPolicy()
"""Retry on error alone."""


def replaced(first: Answer, second: Answer) -> Answer:
    """The second answer with the first one's text, and the time and cost of both."""
    costs = [answer.cost for answer in (first, second) if answer.cost is not None]
    return replace(
        second,
        first_text=first.text,
        wall_s=first.wall_s + second.wall_s,
        cost=sum(costs) if costs else None,
    )
