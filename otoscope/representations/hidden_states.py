"""What a model holds at named sites for some questions.

Models of transformers are looked into by `hooks`. A model of one's own takes part when it has
`sites`, a mapping of names to widths, and `states(questions, sites)`, which returns
`{site: (n_questions, width)}`. The mel spectrogram needs no model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from otoscope.models.base import ModelError, Request, description_of
from otoscope.models.transformers_models import TransformersModel
from otoscope.representations import mel

TAKEN = {"mel", "answer", "answer_tokens"}
"""Names that a model of one's own cannot give to its sites."""


class HiddenStates(NamedTuple):
    """What was found in some questions.

    Attributes:
        states: Site to `(n_questions, width)` float32; `answer` is not among them.
        answers: For each question the states `(n_targets, width)` that predict its gold answer and
            the ids `(n_targets,)` of these tokens; empty unless asked for.
    """

    states: dict[str, np.ndarray]
    answers: list[tuple[np.ndarray, np.ndarray]]


@runtime_checkable
class HiddenStateExtractor(Protocol):
    """Something that can be looked into."""

    @property
    def widths(self) -> Mapping[str, int]:
        """Every site there is, in order, and how many numbers it has; `answer`: a token."""

    @property
    def batch_size(self) -> int:
        """Questions to hand over at once."""

    @property
    def description(self) -> Mapping[str, Any]:
        """Everything about the model that changes a number, ready for JSON."""

    def extract(self, questions: Sequence[Request], sites: Sequence[str]) -> HiddenStates:
        """What these sites hold for these questions."""


def extractor_for(model: Any) -> HiddenStateExtractor:
    """A way to look into a model, and into the sound itself.

    Args:
        model: From `open_model`.

    Raises:
        ModelError: This version of transformers has the model in other parts.
    """
    if isinstance(model, TransformersModel):
        from otoscope.representations.hooks import TransformersExtractor

        return WithMel(TransformersExtractor(model))
    return WithMel(CustomModelExtractor(model))


@dataclass(frozen=True)
class WithMel:
    """Adds the site `mel` to a model's own."""

    inner: HiddenStateExtractor

    @property
    def widths(self) -> Mapping[str, int]:
        """`mel` and the model's."""
        return {"mel": mel.WIDTH, **self.inner.widths}

    @property
    def batch_size(self) -> int:
        """The model's."""
        return self.inner.batch_size

    @property
    def description(self) -> Mapping[str, Any]:
        """The model's."""
        return self.inner.description

    def extract(self, questions: Sequence[Request], sites: Sequence[str]) -> HiddenStates:
        """The model is left alone where only `mel` is asked for."""
        rest = [site for site in sites if site != "mel"]
        seen = self.inner.extract(questions, rest) if rest else HiddenStates({}, [])
        if "mel" in sites:
            pooled = [mel.mel_features(only_clip(request)) for request in questions]
            seen.states["mel"] = np.stack(pooled).astype(np.float32)
        return seen


@dataclass(frozen=True)
class CustomModelExtractor:
    """A model of one's own that says what can be seen of it."""

    model: Any

    @property
    def widths(self) -> Mapping[str, int]:
        """As the model declares them; none if it does not.

        Raises:
            ModelError: A name is taken.
        """
        declared = dict(getattr(self.model, "sites", {}))
        if taken := sorted(declared.keys() & TAKEN):
            raise ModelError(
                f"{type(self.model).__name__}.sites: {taken[0]!r} has a meaning of its own here; "
                "give it another name"
            )
        return declared

    @property
    def batch_size(self) -> int:
        """As the model declares it, or 1."""
        return max(1, int(getattr(self.model, "batch_size", 1)))

    @property
    def description(self) -> Mapping[str, Any]:
        """As the model describes itself."""
        return description_of(self.model)

    def extract(self, questions: Sequence[Request], sites: Sequence[str]) -> HiddenStates:
        """What the model's `states` gives.

        Raises:
            ModelError: A site is missing or has another shape than declared.
        """
        found = self.model.states(questions, sites)
        states = {}
        for site in sites:
            shape, made = (len(questions), self.widths[site]), found.get(site)
            if made is None or np.shape(made) != shape:
                what = "nothing" if made is None else f"shape {np.shape(made)}"
                raise ModelError(
                    f"{type(self.model).__name__}.states gives {what} for {site!r}, not {shape}"
                )
            states[site] = np.asarray(made, np.float32)
        return HiddenStates(states, [])


def only_clip(request: Request) -> Any:
    """The one clip of a question.

    Raises:
        ModelError: It has none, or several.
    """
    if len(request.audio_inputs) != 1:
        raise ModelError(
            f"question {request.question.question_id!r} has {len(request.audio_inputs)} clips; "
            "representations are those of one"
        )
    return request.audio_inputs[0]
