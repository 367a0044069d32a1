"""Audio language models of transformers: `--model transformers:PATH_OR_ID@REVISION`.

Families differ in one table, `families.py`.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from otoscope.models.audio import RESAMPLER, STORED_ON_LONG, OnLong, validate_on_long
from otoscope.models.base import Answer, ModelError, Request, Status
from otoscope.models.batching import BatchSize, in_batches, with_and_without_clips
from otoscope.models.decoding import (
    GenerationSettings,
    generate,
    generation_config,
    label_log_probabilities,
)
from otoscope.models.encoding import EncodedBatch, RequestEncoder
from otoscope.models.label_scores import answer_words, by_label
from otoscope.models.loading import LoadedModel, load
from otoscope.models.option_logits import single_tokens
from otoscope.models.presets import PRESETS

R = TypeVar("R")
IGNORED_KEYS = {
    "_from_model_config",
    "output_attentions",
    "output_hidden_states",
    "transformers_version",
    "use_cache",
}


@dataclass(frozen=True)
class TransformersModel:
    """A loaded model and its generation settings. Made by `open_transformers`.

    Attributes:
        loaded: Weights and processor.
        encoder: Turns requests into inputs.
        settings: How answers are generated.
        limit: The size of a batch, which shrinks when memory runs out.
    """

    loaded: LoadedModel
    encoder: RequestEncoder
    settings: GenerationSettings
    limit: BatchSize

    @property
    def batch_size(self) -> int:
        """Questions in one batch."""
        return self.limit.size

    @property
    def sampling_rate(self) -> int:
        """Of its audio input, in Hz."""
        return self.loaded.sampling_rate

    @property
    def max_audio_s(self) -> float | None:
        """The longest clip in seconds, or None where there is no limit."""
        return self.loaded.window_s

    def description(self) -> dict[str, Any]:
        """Everything that changes an answer, ready for JSON; the batch size does not."""
        generation = self._generation.to_diff_dict()
        return {
            "kind": "transformers",
            **self.loaded.described,
            **self.encoder.template_description(),
            "part_order": "as asked" if self.encoder.keeps_order() else "set by the chat template",
            "sampling_rate": self.sampling_rate,
            "max_audio_s": self.max_audio_s,
            "on_long": STORED_ON_LONG[self.encoder.on_long],
            "resampler": RESAMPLER,
            "decoding": self.settings.preset.described(),
            "generation": {k: v for k, v in generation.items() if k not in IGNORED_KEYS},
            "logprobs": self.settings.logprobs,
        }

    def with_settings(
        self,
        *,
        max_new_tokens: int | None = None,
        logprobs: bool | None = None,
        preset: str | None = None,
    ) -> "TransformersModel":
        """The same weights with other generation settings; what is None stays."""
        new: dict[str, Any] = {"max_new_tokens": max_new_tokens, "logprobs": logprobs}
        new["preset"] = None if preset is None else PRESETS[preset]
        changed = {name: value for name, value in new.items() if value is not None}
        return replace(self, settings=replace(self.settings, **changed))

    def input_fingerprint(self, request: Request) -> bytes:
        """The audio features that the processor makes, as bytes."""
        return self.encoder.input_fingerprint(request)

    def encode(self, batch: Sequence[Request]) -> EncodedBatch:
        """Inputs on the model's device, for questions that all have clips or all have none.

        Raises:
            ModelError: See `RequestEncoder.encode`.
        """
        model = self.loaded.model
        inputs, truncated = self.encoder.encode(batch)
        return EncodedBatch(inputs.to(device=model.device, dtype=model.dtype), truncated)

    def option_logits(
        self, questions: Sequence[Request], options: Sequence[str]
    ) -> Float[np.ndarray, "n_questions n_options"]:
        """The next-token logit of each option's one token behind each question.

        Args:
            questions: With or without clips.
            options: Texts, each of which is one token.

        Raises:
            ModelError: An option is not one token, or the model does not take a question.
        """
        tokens = single_tokens(self.loaded.processor.tokenizer, options)

        def logits(batch: Sequence[Request]) -> np.ndarray:
            import torch

            with torch.inference_mode():
                found = self.loaded.model(**self.encode(batch).inputs, use_cache=False).logits
            return found[:, -1, tokens].float().cpu().numpy()  # padded on the left

        rows = np.empty((len(questions), len(tokens)), np.float32)
        for numbers in with_and_without_clips(questions):
            if numbers:
                batches = self.in_batches([questions[n] for n in numbers], logits)
                rows[numbers] = np.concatenate(batches)
        return rows

    def in_batches(
        self, questions: Sequence[Request], work: Callable[[Sequence[Request]], R]
    ) -> list[R]:
        """The results of a function that is applied to batches that fit into memory.

        Raises:
            ModelError: A question does not fit even alone.
        """
        results: list[R] = []
        alone = not self.loaded.family.batched
        for batch, result in in_batches(self.limit, questions, work, alone=alone):
            if result is None:
                name = batch[0].question.question_id
                raise ModelError(f"out of memory with question {name!r} alone")
            results.append(result)
        return results

    def answer(self, questions: Sequence[Request]) -> list[Answer]:
        """One answer a question, in order.

        Sampled answers are generated one by one, so that they do not depend on one another.

        Raises:
            ModelError: The model does not take a question: a clip is longer than its window (with
                `on_long="reject"`), there are too many clips, or a role that it lacks.
        """
        answers: dict[int, Answer] = {}
        alone = self._generation.do_sample or not self.loaded.family.batched

        def work(numbers: Sequence[int]) -> list[Answer]:
            return self._answered([questions[n] for n in numbers])

        for numbers in with_and_without_clips(questions):
            for batch, result in in_batches(self.limit, numbers, work, alone=alone):
                answers |= zip(batch, result or [_out_of_memory(questions[batch[0]])], strict=True)
        return [answers[n] for n in range(len(questions))]

    def _answered(self, batch: Sequence[Request]) -> list[Answer]:
        started = time.perf_counter()
        inputs, truncated = self.encode(batch)
        n_in = inputs["attention_mask"].sum(dim=1).tolist()
        longest = self._longest_question()
        if max(n_in) > longest:
            return self._without_too_long(batch, n_in, longest)
        model, tokenizer = self.loaded.model, self.loaded.processor.tokenizer
        seed = self.settings.preset.seed
        generations = generate(model, tokenizer, inputs, self._generation, seed)
        scores: list[dict[str, float] | None] = [None] * len(batch)
        if self.settings.logprobs:
            words = [answer_words(request.question) for request in batch]
            offered = [tuple(row.values()) for row in words]
            found = label_log_probabilities(model, tokenizer, inputs, offered)
            scores = list(map(by_label, found, words))
        wall_s = (time.perf_counter() - started) / len(batch)
        return [
            Answer(
                generation.text,
                audio_truncated=truncated[n],
                text_truncated=generation.truncated,
                n_tokens_in=n_in[n],
                n_tokens_out=generation.n_tokens,
                wall_s=wall_s,
                logprobs=scores[n],
            )
            for n, generation in enumerate(generations)
        ]

    def _without_too_long(
        self, batch: Sequence[Request], n_in: list[int], longest: int
    ) -> list[Answer]:
        """Answers to the questions within the context length, errors for the others."""
        fitting = [request for request, n in zip(batch, n_in, strict=True) if n <= longest]
        rest = iter(self._answered(fitting) if fitting else [])
        too_long = "the question takes {} tokens; this model has room for {} beside an answer"
        return [
            next(rest)
            if n <= longest
            else Answer(None, Status.ERROR, n_tokens_in=n, detail=too_long.format(n, longest))
            for n in n_in
        ]

    def _longest_question(self) -> int:
        """In tokens: the context length less the longest answer."""
        config = self.loaded.model.config.get_text_config(decoder=True)
        limit = getattr(config, "max_position_embeddings", None)
        return sys.maxsize if limit is None else limit - self.settings.max_new_tokens

    @cached_property
    def _generation(self) -> Any:
        return generation_config(
            self.settings, self.loaded.own_generation, self.loaded.processor.tokenizer
        )


def _out_of_memory(request: Request) -> Answer:
    seconds = sum(audio.duration_s for audio in request.audio_inputs)
    detail = f"out of memory with this question alone ({seconds:.1f} s of sound)"
    return Answer(None, Status.ERROR, detail=detail)


def open_transformers(
    name: str | None,
    revision: str | None = None,
    *,
    adapter: str | None = None,
    dtype: str = "auto",
    device_map: Any = None,
    batch_size: int = 8,
    max_new_tokens: int | None = None,
    preset: str | None = None,
    label_scores: bool = False,
    on_long: OnLong = "reject",
    trust_remote_code: bool = False,
) -> TransformersModel:
    """An audio language model of transformers, loaded.

    Args:
        name: A local folder or a Hub repository.
        revision: Branch, tag or commit of the repository; the commit it stood for is recorded.
        adapter: A PEFT adapter to load on top: a folder, or a repository with `@REVISION`.
        dtype: Of the weights; `auto` takes that of the checkpoint.
        device_map: As transformers takes it, such as `auto`. None puts all on one device: the GPU
            of this rank if there is one, else the CPU.
        batch_size: Questions in one batch; halved whenever memory runs out.
        max_new_tokens: Most tokens of an answer; None takes what the preset says.
        preset: A name in `PRESETS`; None is `greedy`.
        label_scores: Give each label's log-probability (or its letter's), a forward pass each.
        on_long: `reject` a clip longer than the model's window, or `flag` it and give its start.
        trust_remote_code: Run code that comes with the checkpoint.

    Raises:
        ModelError: The model cannot be used; says why, and the way out.
        LookupError: No such preset.
        InvalidValue: `on_long` is none of these, or the preset has settings of another interface.
    """
    validate_on_long(on_long)
    if name is None:
        raise ModelError("name a checkpoint: `--model transformers:PATH_OR_ID@REVISION`")
    if batch_size < 1:
        raise ModelError(f"batch_size must be 1 or more, not {batch_size}")
    chosen = PRESETS[preset or "greedy"]
    settings = GenerationSettings(chosen, max_new_tokens or chosen.max_new_tokens, label_scores)
    loaded = load(
        name,
        revision,
        adapter=adapter,
        dtype=dtype,
        device_map=device_map,
        trust_remote_code=trust_remote_code,
    )
    encoder = RequestEncoder(
        loaded.processor, loaded.family, loaded.sampling_rate, loaded.window_s, on_long
    )
    return TransformersModel(loaded, encoder, settings, BatchSize(batch_size))
