"""Models that need no weights: a fixed answer, a random choice, and a measurement of the clip.

They calibrate an audit: a constant answer shows what the label counts alone are worth, a random one
shows the width of the intervals, and the observer shows that the answer is in the audio.
"""

import hashlib
import random
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from otoscope.acoustics.design import PUBLISHED_CATEGORIES
from otoscope.acoustics.fitted import FittedObserver
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.observers import SlopeObserver, fit_slope_observer
from otoscope.acoustics.spans import Span, decide
from otoscope.models.base import Answer, AudioInput, ModelError, Request, Status
from otoscope.prompts.parts import Question

DIRECTIONS = ("increase", "decrease")


class Constant:
    """The same answer to every question."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.description: dict[str, Any] = {"kind": "constant", "text": text}

    def answer(self, questions: Sequence[Request]) -> list[Answer]:
        """The one text."""
        return [Answer(self.text) for _ in questions]


class RandomChoice:
    """Draws among a question's labels.

    The draw depends on the seed and the question's id alone, so neither the order of questions nor
    the number of processes changes it.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.description: dict[str, Any] = {"kind": "random", "seed": seed}

    def answer(self, questions: Sequence[Request]) -> list[Answer]:
        """One of the labels each; a question without labels has no answer."""
        return [self._draw(request) for request in questions]

    def _draw(self, request: Request) -> Answer:
        question = request.question
        if not question.labels:
            return _not_applicable("the question offers no labels to draw from")
        key = f"{self.seed}\x1f{question.question_id}".encode()
        rng = random.Random(int.from_bytes(hashlib.sha256(key).digest(), "big"))
        return Answer(rng.choice(question.labels))


class MeasurementModel:
    """Answers `increase` or `decrease` from what an observer measures on a question's clip.

    Where the observer is not applicable, the answer's status is `refused` and its detail says why.
    """

    observer: SlopeObserver | FittedObserver

    @property
    def categories(self) -> Container[str]:
        """Those that the observer has constants or weights for."""
        return GRADIENTS

    def check_questions(self, questions: Sequence[Question], *, whole: bool) -> None:
        """Rejects questions of which it can answer none.

        Raises:
            ModelError: None is about increase or decrease of an attribute that it measures.
        """
        reasons = [self._no_measure(question) for question in questions]
        if reasons and all(reasons):
            raise ModelError(
                f"the observer can answer none of {len(questions):,} questions: in "
                f"{questions[0].question_id!r}, {reasons[0]}; it is for `otoscope run perception`"
            )

    def answer(self, questions: Sequence[Request]) -> list[Answer]:
        """About the attribute that each question names."""
        return [self._measured(request) for request in questions]

    def input_fingerprint(self, request: Request) -> bytes:
        """All that the observer measures: the samples of the question's clip, and their span."""
        audio = _own_clip(request)
        if audio is None:
            return b""
        return f"{audio.sampling_rate} {span_of(audio)} ".encode() + audio.samples.tobytes()

    def _measured(self, request: Request) -> Answer:
        if reason := self._no_measure(request.question):
            return _not_applicable(reason)
        audio = _own_clip(request)
        if audio is None:
            return _not_applicable("the question has no clip")
        span = span_of(audio)
        if span is None:
            return _not_applicable(f"no speech found in {audio.id!r}")
        category = _category(request.question)
        direction = self.observer.answer(audio.samples, audio.sampling_rate, span, category)
        if direction is None:
            return _not_applicable(f"the cue of {category} cannot be measured in {audio.id!r}")
        return Answer(direction)

    def _no_measure(self, question: Question) -> str:
        """Why a question is not for it; empty where it is."""
        category = _category(question)
        if not set(DIRECTIONS) <= set(question.labels):
            labels = " from ".join(question.labels)
            return f"it tells increase from decrease, not {labels}"
        if category not in GRADIENTS:
            return f"there is no measure for {question.attribute!r}"
        return "" if category in self.categories else f"it has not learned {category}"


class Observer(MeasurementModel):
    """Answers from the slope of the named attribute's cue, see `otoscope.acoustics.observers`.

    `fit` takes constants from unmodified speech; without it they are 0, as its description says.
    """

    def __init__(self) -> None:
        self.observer: SlopeObserver = SlopeObserver(dict.fromkeys(PUBLISHED_CATEGORIES, 0.0))
        self.n_sources = 0

    @property
    def categories(self) -> Container[str]:
        """The published ones, and those of the rows."""
        return self.observer.constants.keys()

    def check_rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Adds the rows' categories, where these are not published ones; to call before `fit`."""
        named = {row.get("category") for row in rows}
        added = {name: 0.0 for name in GRADIENTS if name in named - self.observer.constants.keys()}
        self.observer = SlopeObserver({**self.observer.constants, **added})

    def fit(self, sources: Iterable[AudioInput]) -> None:
        """Takes each category's constant from the median of unmodified sources.

        Sources without a span of speech do not count; with none left nothing changes.
        """
        usable = [
            (audio.samples, audio.sampling_rate, span)
            for audio in sources
            if (span := span_of(audio)) is not None
        ]
        if usable:
            self.observer = fit_slope_observer(usable, self.observer.constants)
            self.n_sources = len(usable)

    @property
    def description(self) -> dict[str, Any]:
        """The constants, and from how many sources they are; 0 where `fit` was not called."""
        constants = {  # NaN is no JSON
            name: value if value == value else None
            for name, value in self.observer.constants.items()
        }
        return {"kind": "observer", "n_sources": self.n_sources, "constants": constants}


def span_of(audio: AudioInput) -> Span | None:
    """Where speech is, in samples: as the row says, else as detected; None where there is none."""
    if audio.span_s is None:
        return decide(audio.samples[None], audio.sampling_rate).span
    start, end = (round(second * audio.sampling_rate) for second in audio.span_s)
    return Span(start, min(end, len(audio.samples)))


def _category(question: Question) -> str:
    return question.attribute.replace(" ", "_")


def _own_clip(request: Request) -> AudioInput | None:
    """The row's own clip, or the last one: examples come before the query."""
    own = [audio for audio in request.audio_inputs if audio.id == request.question.id]
    candidates = own or request.audio_inputs
    return candidates[-1] if candidates else None


def _not_applicable(reason: str) -> Answer:
    return Answer(None, Status.REFUSED, detail=reason)


def open_constant(name: str | None, revision: str | None = None) -> Constant:
    """`constant:TEXT`."""
    if not name or revision is not None:
        raise ModelError("constant: name the answer, as in constant:increase")
    return Constant(name)


def open_random(name: str | None, revision: str | None = None) -> RandomChoice:
    """`random:SEED`."""
    try:
        if revision is not None:
            raise ValueError
        return RandomChoice(int(name or ""))
    except ValueError:
        raise ModelError(
            f"random: needs a whole number as seed, as in random:0, not {name!r}"
        ) from None


def open_observer(name: str | None, revision: str | None = None) -> Observer:
    """`observer`."""
    if name or revision:
        raise ModelError(f"observer: takes no name and no revision, got {name or revision!r}")
    return Observer()
