"""Requests, answers and models: the interface between an audit and any model.

A model gets requests, which are questions with their audio in memory, and returns an answer for
each. Nothing here imports torch; adapters import what they need when they are opened.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, islice
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from otoscope.errors import InputError, first_line
from otoscope.models.answer_fields import validate_fields
from otoscope.prompts.parts import Question, Role, Text


@dataclass(frozen=True)
class AudioInput:
    """One clip, before the adapter resamples it.

    Attributes:
        id: Of the dataset row it comes from.
        samples: Mono, float32 in [-1, 1), `(n_samples,)`.
        sampling_rate: In Hz.
        sha256: Of the row's audio bytes; part of the key of the answer cache.
        span_s: Start and end of speech in seconds, or None where the row does not say.
        attenuation_db: By how much the clip was turned down as a whole, because its codec decodes
            it to more than full scale; 0 for most.
    """

    id: str
    samples: Float[np.ndarray, " n_samples"]
    sampling_rate: int
    sha256: str
    span_s: tuple[float, float] | None = None
    attenuation_db: float = 0.0

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.sampling_rate


@dataclass(frozen=True)
class Request:
    """A question with its audio: `parts` has clips where the question names them."""

    question: Question
    parts: tuple[Text | AudioInput, ...]

    def __getattr__(self, name: str) -> Any:
        new = "; since version 0.2 they are its `audio_inputs`" if name == "sounds" else ""
        raise AttributeError(f"a Request has no attribute {name!r}{new}", name=name, obj=self)

    @property
    def audio_inputs(self) -> tuple[AudioInput, ...]:
        """The clips, in order."""
        return tuple(part for part in self.parts if isinstance(part, AudioInput))

    @property
    def messages(self) -> list[tuple[Role, list[Text | AudioInput]]]:
        """Consecutive parts of one role; clips are the user's."""

        def role_of(part: Text | AudioInput) -> Role:
            return part.role if isinstance(part, Text) else "user"

        return [(role, list(parts)) for role, parts in groupby(self.parts, role_of)]


class Status(StrEnum):
    """How a call ended. Only `timeout` and `error` are requested again by default."""

    OK = "ok"
    REFUSED = "refused"
    FILTERED = "filtered"
    TIMEOUT = "timeout"
    ERROR = "error"


@dataclass(frozen=True)
class Answer:
    """A model's answer to one request.

    Attributes:
        text: Raw, or None where there is none.
        status: How the call ended.
        audio_truncated: A clip's end was left out.
        text_truncated: The answer was cut at the limit of tokens.
        n_tokens_in, n_tokens_out: As the model counts them, or None.
        wall_s: Seconds the call took; a batch shares its time evenly.
        logprobs: Label to log-probability, or None.
        cost: In the currency of the price table, or None where unknown.
        detail: An error's message without keys; empty otherwise.
        first_text: The answer that a retry replaced, or None (the published second try).
        reasoning: What the model wrote before its answer, where that is given apart; never parsed.
    """

    text: str | None
    status: Status = Status.OK
    audio_truncated: bool = False
    text_truncated: bool = False
    n_tokens_in: int | None = None
    n_tokens_out: int | None = None
    wall_s: float = 0.0
    logprobs: Mapping[str, float] | None = None
    cost: float | None = None
    detail: str = ""
    first_text: str | None = None
    reasoning: str | None = None

    def __post_init__(self) -> None:
        """Takes a status by its name too.

        Raises:
            TypeError: A field has a value of another type; scalars of NumPy and torch count.
            ValueError: There is no such status.
        """
        validate_fields(vars(self))
        if not isinstance(self.status, Status):
            if self.status not in list(Status):
                raise ValueError(
                    f"no status named {self.status!r}; there are {[*map(str, Status)]}"
                )
            object.__setattr__(self, "status", Status(self.status))


@runtime_checkable
class Model(Protocol):
    """Any model. Only `answer` is required.

    Optional, used when present:

    - `description`: a dict, ready for JSON, of everything that changes the result (name, revision,
      adapter, dtype, generation settings); part of the run and of the answer cache.
    - `batch_size`: requests in one call of `answer`; 1 when absent.
    - `sampling_rate`: of its audio input in Hz; content above half of it is lost.
    - `max_audio_s`: the longest clip that it takes.
    - `input_fingerprint(request) -> bytes`: the audio as the model gets it, for the audio-input
      check.
    - `check_rows(rows)`: gets the rows of a plan before anything is requested; raises `ModelError`
      for those that it must not be evaluated on, such as its training rows.
    - `check_questions(questions, whole=…)`: gets the questions of a plan before anything is
      requested, and whether they cover the dataset; raises `ModelError` for those it cannot answer.
    - `with_settings(max_new_tokens=…)`: the same model with another limit, for the retry on parse
      failure; or `with_retry(policy)` to make that retry itself, see `otoscope.models.retrying`.
    - `price_is_known`: False where answers will have no `cost`, so that no limit on cost can hold.
    - `stream(request) -> iterator of (index, answer)`: answers in the order in which they arrive.
    """

    def answer(self, questions: Sequence[Request]) -> list[Answer]:
        """One answer a question, in order."""


@runtime_checkable
class Streams(Protocol):
    """A model that gives answers as they arrive."""

    def stream(self, questions: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        """Yields each question's index, as counted from 0 in `questions`, and its answer."""


@runtime_checkable
class FingerprintsInput(Protocol):
    """A model that can show its audio input, for the audio-input check."""

    def input_fingerprint(self, request: Request) -> bytes:
        """Bytes that change whenever the model's input does."""


class ModelError(InputError, RuntimeError):
    """A model that cannot be used as requested; the message names the cause and the way out."""


RENAMED_METHODS = {"heard": "input_fingerprint"}
"""Optional methods of a user's class that version 0.1 called by another name."""


def validate_method_names(model: Any) -> None:
    """Rejects an object or a class whose methods have names of version 0.1.

    Raises:
        ModelError: One has; it would never be called.
    """
    for old, new in RENAMED_METHODS.items():
        if callable(getattr(model, old, None)) and not hasattr(model, new):
            name = getattr(model, "__qualname__", type(model).__qualname__)
            raise ModelError(f"{name}.{old}: this method is called {new!r} now; rename it")


@contextmanager
def calling(model: Any, method: str) -> Iterator[None]:
    """Names class and method where a user's own model raises; our own errors stay as they are.

    Raises:
        ModelError: The method raised something else than an `InputError`.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if type(model).__module__.startswith("otoscope."):
            raise
        raise ModelError(
            f"{type(model).__name__}.{method} raised {type(error).__name__}: {first_line(error)}; "
            "OTOSCOPE_DEBUG=1 shows where"
        ) from error


def description_of(model: Any) -> dict[str, Any]:
    """A model's own description, or the name of its class.

    Raises:
        ModelError: The description is no mapping.
    """
    name = f"{type(model).__module__}:{type(model).__qualname__}"
    described = getattr(model, "description", None)
    if described is None:
        return {"kind": name}
    found = described() if callable(described) else described
    if not isinstance(found, Mapping):
        raise ModelError(f"{name}: its `description` is a dict, not a {type(found).__name__}")
    return dict(found)


def batch_size_of(model: Any) -> int:
    """Requests in one call of a model, at least 1."""
    return max(1, int(getattr(model, "batch_size", 1)))


def stream(model: Any, questions: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
    """Answers of any model as they arrive, each with its question's index.

    Raises:
        ModelError: The model returned another number of answers than it got questions.
    """
    if isinstance(model, Streams):
        yield from model.stream(questions)
        return
    size, rest, n_answered = batch_size_of(model), iter(questions), 0
    while batch := list(islice(rest, size)):
        answers = model.answer(batch)
        if len(answers) != len(batch):
            raise ModelError(f"the model returned {len(answers)} answers to {len(batch)} questions")
        yield from enumerate(answers, start=n_answered)
        n_answered += len(batch)
