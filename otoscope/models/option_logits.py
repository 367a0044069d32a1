"""Answers by the next-token logits of lettered options, without generation.

An option is a space and a letter, which must be one token. Of equal logits the earliest option
counts.

Source: VocalGrad, appendix C.13.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from otoscope.models.base import Answer, ModelError, Request, batch_size_of, description_of


@runtime_checkable
class GivesOptionLogits(Protocol):
    """A model that gives next-token logits."""

    def option_logits(
        self, questions: Sequence[Request], options: Sequence[str]
    ) -> Float[np.ndarray, "n_questions n_options"]:
        """The logit of each option's one token behind each question."""


class OptionLogitsModel:
    """Answers closed questions with the likeliest of their labels.

    An answer's `logprobs` are the logarithm of the softmax over the labels alone.
    """

    def __init__(self, model: Any) -> None:
        """Wraps a model.

        Raises:
            ModelError: It gives no logits.
        """
        if not isinstance(model, GivesOptionLogits):
            raise ModelError(
                f"{description_of(model).get('kind', type(model).__name__)} gives no logits, by "
                "which options are compared; use transformers:PATH_OR_ID@REVISION, or your own "
                "model with `option_logits(questions, options)`"
            )
        self.model: Any = model
        self.batch_size = batch_size_of(model)
        self.sampling_rate: int | None = getattr(model, "sampling_rate", None)
        self.max_audio_s: float | None = getattr(model, "max_audio_s", None)

    @property
    def description(self) -> dict[str, Any]:
        """The model's, and how it answers."""
        return {**description_of(self.model), "answers_by": "logits of ' A', ' B' …"}

    def answer(self, questions: Sequence[Request]) -> list[Answer]:
        """A label each, and the log-probability of each label.

        Raises:
            ModelError: A question has no labels, or one of them is not one token.
        """
        by_labels: dict[tuple[str, ...], list[int]] = {}
        for n, request in enumerate(questions):
            by_labels.setdefault(request.question.labels, []).append(n)
        answers: dict[int, Answer] = {}
        for labels, numbers in by_labels.items():
            if not labels:
                name = questions[numbers[0]].question.question_id
                raise ModelError(f"question {name!r} offers no options")
            logits = self.model.option_logits(
                [questions[n] for n in numbers], [f" {label}" for label in labels]
            )
            for n, row in zip(numbers, np.asarray(logits, np.float64), strict=True):
                answers[n] = likeliest(labels, row)
        return [answers[n] for n in range(len(questions))]


def likeliest(labels: Sequence[str], logits: Float[np.ndarray, " n_labels"]) -> Answer:
    """The label with the greatest logit; of equal ones the earliest.

    >>> likeliest("AB", np.array([1.0, 1.0])).text
    'A'

    Raises:
        ModelError: A logit is not finite.
    """
    if not np.isfinite(logits).all():
        raise ModelError(f"the logits of {', '.join(labels)} are not all finite: {logits.tolist()}")
    below = logits - logits.max()
    log_probabilities = below - np.log(np.exp(below).sum())
    scores: Mapping[str, float] = dict(zip(labels, log_probabilities.tolist(), strict=True))
    return Answer(labels[int(logits.argmax())], logprobs=scores)


def single_tokens(tokenizer: Any, options: Sequence[str]) -> list[int]:
    """The one token of each option.

    Raises:
        ModelError: One has none or several, or two have the same; the tokens are named.
    """
    found = [tokenizer.encode(option, add_special_tokens=False) for option in options]
    for option, tokens in zip(options, found, strict=True):
        if len(tokens) != 1:
            raise ModelError(
                f"the option {option!r} is {len(tokens)} tokens of this tokenizer, {tokens}; "
                "options are compared by one token each"
            )
    tokens = [row[0] for row in found]
    if len(set(tokens)) < len(tokens):
        raise ModelError(f"the options {', '.join(map(repr, options))} share tokens: {tokens}")
    return tokens
