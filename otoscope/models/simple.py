"""Models that need nothing: one fixed answer, a fair coin, and a listener that only measures.

They are what an audit is calibrated by: a constant answer shows what the label counts alone are
worth, chance shows the width of the intervals, and the observer shows that the answer is in the
sound.
"""

import hashlib
import random
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import numpy as np

from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.observers import SlopeObserver, fit_slope_observer
from otoscope.acoustics.spans import Span, decide
from otoscope.models.base import Answer, AudioInput, ModelError, Request, Status

DIRECTIONS = ("increase", "decrease")


class Constant:
    """Says the same to everything."""

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def description(self) -> dict[str, Any]:
        """What is said."""
        return {"kind": "constant", "text": self.text}

    def answer(self, questions: Sequence[Request]) -> list[Answer]:
        """The one text, whatever is asked."""
        return [Answer(self.text) for _ in questions]


class RandomChoice:
    """Draws among a question's labels, each question for itself.

    The draw depends on the seed and the question's id alone, so neither the order of questions nor
    the number of workers changes it.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    @property
    def description(self) -> dict[str, Any]:
        """The seed."""
        return {"kind": "random", "seed": self.seed}

    def answer(self, questions: Sequence[Request]) -> list[Answer]:
        """One of the labels each; a question that offers none is refused."""
        return [self._draw(request) for request in questions]

    def _draw(self, request: Request) -> Answer:
        question = request.question
        if not question.labels:
            return Answer(None, Status.REFUSED, detail="the question offers no labels to draw from")
        key = f"{self.seed}\x1f{question.question_id}".encode()
        rng = random.Random(int.from_bytes(hashlib.sha256(key).digest(), "big"))
        return Answer(rng.choice(question.labels))


class Observer:
    """Answers from the slope of the asked attribute's cue, see `otoscope.acoustics.observers`.

    It hears the clip asked about and no other. `fit` gives it what unmodified speech does; without
    that its constants are 0, which its description says.
    """

    def __init__(self) -> None:
        self.observer = SlopeObserver(dict.fromkeys(GRADIENTS, 0.0))
        self.n_sources = 0

    def fit(self, sources: Iterable[AudioInput]) -> None:
        """Takes each category's constant from the median of unmodified sources.

        Sources without a span of speech are passed over; with none left nothing changes.
        """
        usable = [
            (audio.samples, audio.sampling_rate, span)
            for audio in sources
            if (span := span_of(audio)) is not None
        ]
        if usable:
            self.observer, self.n_sources = fit_slope_observer(usable), len(usable)

    @property
    def description(self) -> dict[str, Any]:
        """The constants, and how many sources they come from; 0 means that they are not fitted."""
        constants = {  # NaN is no JSON
            name: value if value == value else None
            for name, value in self.observer.constants.items()
        }
        return {"kind": "observer", "n_sources": self.n_sources, "constants": constants}

    def answer(self, questions: Sequence[Request]) -> list[Answer]:
        """`increase` or `decrease`; refuses what it cannot measure and what asks otherwise."""
        return [self._listen(request) for request in questions]

    def input_fingerprint(self, request: Request) -> bytes:
        """The samples of the clip asked about, and its span."""
        return observer_input(request)

    def _listen(self, request: Request) -> Answer:
        return listen(request, GRADIENTS, self.observer.answer)


def observer_input(request: Request) -> bytes:
    """All that an observer is given of a question: the samples of its clip, and their span."""
    audio = _clip_asked_about(request)
    if audio is None:
        return b""
    return f"{audio.sampling_rate} {span_of(audio)} ".encode() + audio.samples.tobytes()


def listen(
    request: Request,
    known: Container[str],
    hear: Callable[[np.ndarray, int, Span, str], str | None],
) -> Answer:
    """What an observer answers about the asked attribute's cue; refuses what it cannot measure.

    Args:
        asked: A question about one clip.
        known: Categories that it has an ear for.
        hear: `(samples, sampling_rate, span, category)` to a direction, or None.
    """
    question = request.question
    category = question.attribute.replace(" ", "_")
    if category not in GRADIENTS:
        return _refused(f"there is no measure for {question.attribute!r}")
    if category not in known:
        return _refused(f"it has not learned {category}")
    if not set(DIRECTIONS) <= set(question.labels):
        return _refused(f"it tells increase from decrease, not {' from '.join(question.labels)}")
    audio = _clip_asked_about(request)
    if audio is None:
        return _refused("the question has no clip")
    span = span_of(audio)
    if span is None:
        return _refused(f"no speech found in {audio.id!r}")
    direction = hear(audio.samples, audio.sampling_rate, span, category)
    if direction is None:
        return _refused(f"the cue of {category} cannot be measured in {audio.id!r}")
    return Answer(direction)


def span_of(audio: AudioInput) -> Span | None:
    """Where speech is, in samples: as the row says, else as detected; None where there is none."""
    if audio.span_s is None:
        return decide(audio.samples[None], audio.sampling_rate).span
    start, end = (round(second * audio.sampling_rate) for second in audio.span_s)
    return Span(start, min(end, len(audio.samples)))


def _clip_asked_about(request: Request) -> AudioInput | None:
    """The row's own clip, or the last one: examples come before the query."""
    own = [audio for audio in request.audio_inputs if audio.id == request.question.id]
    candidates = own or request.audio_inputs
    return candidates[-1] if candidates else None


def _refused(reason: str) -> Answer:
    return Answer(None, Status.REFUSED, detail=reason)


def open_constant(name: str | None, revision: str | None = None) -> Constant:
    """`constant:TEXT`."""
    if not name or revision is not None:
        raise ModelError("constant: say what it answers, as in constant:increase")
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
