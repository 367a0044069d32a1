"""When an answer is requested again: three rules, one policy.

- Retry on error: `timeout` and `error` are not final; the next start of a run requests them again.
- Retry on status: other statuses that the user names, such as `refused`, likewise.
- Retry on parse failure: an answer that its parser finds no label in is requested once more, at
  once, with a higher limit on tokens. Both texts are kept and both calls are paid.

The attempts of one call to a server (429, 5xx, broken connections) are no retry in this sense; they
are in `otoscope.models.server_calls`.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from otoscope.models.base import Answer, ModelError, Request, Status
from otoscope.registry import Registry
from otoscope.responses import PARSERS

NOT_FINAL = frozenset({Status.TIMEOUT.value, Status.ERROR.value})
STATUSES: Registry[Status] = Registry("status", {status.value: status for status in Status})

PUBLISHED_MAX_NEW_TOKENS = 256
"""The limit of the published retry on parse failure."""


@dataclass(frozen=True)
class RetryPolicy:
    """Which answers a run requests again, beside `NOT_FINAL` ones.

    Attributes:
        on_status: Final statuses to request again when the run is started again.
        on_parse_failure: The limit on new tokens of the retry on parse failure; None for no retry.

    Raises:
        UnknownName: There is no such status.
    """

    on_status: Collection[str] = ()
    on_parse_failure: int | None = None

    def __post_init__(self) -> None:
        """Checks the statuses."""
        object.__setattr__(self, "on_status", frozenset(STATUSES[name] for name in self.on_status))

    @property
    def recorded(self) -> bool | int:
        """The retry on parse failure in run.json and cache keys: whether, or an own limit."""
        limit = self.on_parse_failure
        return True if limit == PUBLISHED_MAX_NEW_TOKENS else limit or False

    def is_open(self, status: str) -> bool:
        """Whether a question whose deciding attempt has this status is requested again."""
        return status in NOT_FINAL or status in self.on_status

    def prepare(self, model: Any) -> Any:
        """The model to run; one with `with_retry` makes the retry on parse failure itself.

        Raises:
            ModelError: It has neither `with_retry` nor `with_settings`.
        """
        if self.on_parse_failure is None:
            return model
        if hasattr(model, "with_retry"):
            return model.with_retry(self)
        if hasattr(model, "with_settings"):
            return model
        raise ModelError("retry on parse failure: this model has no limit on tokens to raise")

    def failed(self, parser: str, answer: Answer) -> bool:
        """Whether an answer is to be requested once more because it could not be parsed."""
        wanted = self.on_parse_failure is not None and answer.status is Status.OK
        return wanted and bool(parser) and PARSERS[parser](answer.text).label is None

    def settled(self, model: Any, request: Request, answer: Answer) -> Answer:
        """The answer, or the one that replaces it."""
        if not hasattr(model, "with_settings") or not self.failed(request.question.parser, answer):
            return answer
        longer = model.with_settings(max_new_tokens=self.on_parse_failure)
        return replaced(answer, longer.answer([request])[0])


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
