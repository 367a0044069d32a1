"""What a stream of calls to a chat server needs to know: the server, its model, the requests."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from otoscope.models.label_scores import MOST_TOKENS
from otoscope.models.prices import Price
from otoscope.models.retrying import ON_ERROR, RetryPolicy
from otoscope.models.server_errors import is_about, is_not_taken

LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
"""What servers call the limit on an answer's tokens; some take one of them only."""

SCORE_FIELDS = {"logprobs": True, "top_logprobs": MOST_TOKENS}
"""Fields of a request that asks for the log-probabilities of tokens."""


@dataclass(frozen=True)
class Server:
    """A server, its model and the settings of requests; documented in `open_openai`.

    Attributes:
        fields: Of every request, besides model and messages.
        price: Of the model there, if known.
        server_models: The model's names in the server's responses.
        label_scores: Ask for the log-probabilities of the tokens of lettered answers.
        sent_as: Other names of fields, once the server has said that it takes those only.
        not_taken: Fields of `label_scores` that the server has said it does not take.
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
    sent_as: dict[str, str] = field(default_factory=dict)
    not_taken: set[str] = field(default_factory=set)
    label_scores: bool = False
    retry: RetryPolicy = ON_ERROR

    @property
    def limit_field(self) -> str:
        """Name of the limit on an answer's tokens in a request."""
        old, new = LIMIT_NAMES
        return new if new in self.fields and old not in self.fields else old

    def body(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a request under the names that the server takes."""
        return {
            self.sent_as.get(name, name): value
            for name, value in fields.items()
            if name not in self.not_taken
        }

    def is_renamed(self, sent: Mapping[str, Any], error: Any) -> bool:
        """Whether the limit has another name from now on, as an error of the server says."""
        name = next((name for name in LIMIT_NAMES if name in sent), None)
        if name is None or not is_not_taken(error, name):
            return False
        (other,) = set(LIMIT_NAMES) - {name}
        self.sent_as[self.limit_field] = other
        return True

    def is_without_scores(self, sent: Mapping[str, Any], error: Any) -> bool:
        """Whether log-probabilities are left out from now on, as an error of the server says."""
        if any(name in sent and is_about(error, name) for name in SCORE_FIELDS):
            self.not_taken.update(SCORE_FIELDS)
            return True
        return False

    def key(self) -> str | None:
        """The key, read from the environment at the time."""
        return os.environ.get(self.key_env) or None


@dataclass(frozen=True)
class ChatRequest:
    """The messages of a question, and what its answer is completed with.

    `letters` are those of its labels whose scores are wanted.
    """

    messages: list[dict[str, Any]] = field(repr=False)
    audio_s: float
    n_clipped: int
    parser: str
    letters: Mapping[str, str] = field(default_factory=dict)
