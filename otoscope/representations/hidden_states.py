"""Hidden states of a model at named sites.

`hooks` extracts them from models of transformers. A user's own model takes part when it has
`sites`, a mapping of names to widths, and `states(requests, sites)`, which returns
`{site: (n_questions, width)}`. The mel spectrogram needs no model.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from otoscope.models.base import (
    AudioInput,
    ModelError,
    Request,
    batch_size_of,
    calling,
    description_of,
)
from otoscope.models.transformers_models import TransformersModel
from otoscope.representations import mel

RESERVED = {"mel", "answer", "answer_tokens"}
"""Names that a user's own model cannot give to its sites."""


class HiddenStates(NamedTuple):
    """Activations of some questions.

    Attributes:
        states: Site to `(n_questions, width)` float32; `answer` is not among them.
        answers: For each question the states `(n_targets, width)` that predict its gold answer and
            the ids `(n_targets,)` of these tokens; empty unless `answer` was requested.
    """

    states: dict[str, np.ndarray]
    answers: list[tuple[np.ndarray, np.ndarray]]


class HiddenStateExtractor(ABC):
    """Extracts hidden states of a model, and the mel spectrogram beside them."""

    @property
    @abstractmethod
    def model_widths(self) -> Mapping[str, int]:
        """The model's sites in order, and their widths; `answer`: of one token."""

    @property
    @abstractmethod
    def batch_size(self) -> int:
        """Questions in one call of `extract`."""

    @property
    @abstractmethod
    def description(self) -> Mapping[str, Any]:
        """Everything about the model that changes a number, ready for JSON."""

    @abstractmethod
    def extract_from_model(self, requests: Sequence[Request], sites: Sequence[str]) -> HiddenStates:
        """Activations at sites of the model."""

    @property
    def widths(self) -> Mapping[str, int]:
        """`mel` and the model's sites."""
        return {"mel": mel.WIDTH, **self.model_widths}

    def extract(self, requests: Sequence[Request], sites: Sequence[str]) -> HiddenStates:
        """Activations at these sites; for `mel` alone the model does not run."""
        rest = [site for site in sites if site != "mel"]
        found = self.extract_from_model(requests, rest) if rest else HiddenStates({}, [])
        if "mel" in sites:
            pooled = [mel.mel_features(only_clip(request)) for request in requests]
            found.states["mel"] = np.stack(pooled).astype(np.float32)
        return found


def extractor_for(model: Any) -> HiddenStateExtractor:
    """The extractor of a model from `open_model`.

    Raises:
        ModelError: This version of transformers builds the model from other modules.
    """
    if isinstance(model, TransformersModel):
        from otoscope.representations.hooks import TransformersExtractor

        return TransformersExtractor(model)
    return CustomModelExtractor(model)


@dataclass(frozen=True)
class CustomModelExtractor(HiddenStateExtractor):
    """Of a user's own model."""

    model: Any

    @property
    def model_widths(self) -> Mapping[str, int]:
        """As the model declares them; none if it does not.

        Raises:
            ModelError: A name is reserved, or these are no names with their widths.
        """
        with calling(self.model, "sites"):
            declared = dict(getattr(self.model, "sites", {}))
        for site, width in declared.items():
            if not isinstance(site, str) or not isinstance(width, Integral) or width < 1:
                raise ModelError(
                    f"{type(self.model).__name__}.sites: {site!r}: {width!r} is no name with "
                    "a width"
                )
        if reserved := sorted(declared.keys() & RESERVED):
            raise ModelError(
                f"{type(self.model).__name__}.sites: {reserved[0]!r} is a built-in site; give it "
                "another name"
            )
        return declared

    @property
    def batch_size(self) -> int:
        """As the model declares it, or 1."""
        return batch_size_of(self.model)

    @property
    def description(self) -> Mapping[str, Any]:
        """As the model describes itself."""
        return description_of(self.model)

    def extract_from_model(self, requests: Sequence[Request], sites: Sequence[str]) -> HiddenStates:
        """What the model's `states` returns.

        Raises:
            ModelError: A site is missing or has another shape than declared.
        """
        with calling(self.model, "states"):
            found = self.model.states(requests, sites)
        if not isinstance(found, Mapping):
            raise ModelError(
                f"{type(self.model).__name__}.states returns a {type(found).__name__}, not a "
                "mapping of sites to arrays"
            )
        states = {}
        for site in sites:
            shape = len(requests), self.model_widths[site]
            array: Any = found.get(site)
            with calling(self.model, "states"):
                given = np.shape(array)
            if array is None or given != shape:
                what = "nothing" if array is None else f"shape {given}"
                raise ModelError(
                    f"{type(self.model).__name__}.states gives {what} for {site!r}, not {shape}"
                )
            with calling(self.model, "states"):
                states[site] = np.asarray(array, np.float32)
        return HiddenStates(states, [])


def only_clip(request: Request) -> AudioInput:
    """The one clip of a question.

    Raises:
        ModelError: It has none, or several.
    """
    if len(request.audio_inputs) != 1:
        raise ModelError(
            f"question {request.question.question_id!r} has {len(request.audio_inputs)} clips; "
            "hidden states are extracted for questions with one"
        )
    return request.audio_inputs[0]
