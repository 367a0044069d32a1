"""Hidden states of a model of transformers, from one forward pass with hooks.

Hooks pool hidden states where they arise, so that nothing larger than the result is kept; the pass
ends at the deepest requested layer.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from otoscope.models.base import ModelError, Request
from otoscope.models.decoding import append_tokens
from otoscope.models.families import module_at
from otoscope.models.transformers_models import TransformersModel
from otoscope.prompts.questions import answer_word
from otoscope.representations.hidden_states import HiddenStateExtractor, HiddenStates
from otoscope.representations.pooling import N_SEGMENTS, weights_of
from otoscope.representations.sites import QUERY_POSITIONS, site_names, site_of
from otoscope.representations.token_positions import (
    TokenPositions,
    locate_clip,
    locate_question_words,
)

ANSWER = "answer"
ANSWER_ONLY_KEYS = ("decoding", "device", "device_map", "generation", "logprobs")
"""Parts of a model's description that change answers, but no hidden state before them."""


@dataclass(frozen=True)
class TransformersExtractor(HiddenStateExtractor):
    """Of a model of transformers, with the inputs that `otoscope run` gives it."""

    model: TransformersModel

    @cached_property
    def decoder(self) -> Any:
        """The module with `layers` and `norm`."""
        loaded = self.model.loaded
        return module_at(loaded.model, loaded.family.decoder)

    @cached_property
    def model_widths(self) -> Mapping[str, int]:
        """Of every built-in site of the decoder; of `answer`, that of one token's state."""
        width = self.model.loaded.model.config.get_text_config(decoder=True).hidden_size
        return {
            name: width * (N_SEGMENTS if site_of(name).read == "segments" else 1)
            for name in site_names(len(self.decoder.layers))
            if name != "mel"
        }

    @property
    def batch_size(self) -> int:
        """Questions in one forward pass; fewer once memory ran out."""
        return self.model.batch_size

    @property
    def description(self) -> Mapping[str, Any]:
        """The model's own, without what only answers depend on."""
        described = self.model.description()
        return {name: value for name, value in described.items() if name not in ANSWER_ONLY_KEYS}

    def extract_from_model(self, requests: Sequence[Request], sites: Sequence[str]) -> HiddenStates:
        """One forward pass a batch, no deeper than the deepest site.

        Raises:
            ModelError: The model does not take a question; it has no clip or several, or does not
                fit into memory even alone.
        """
        batches = self.model.in_batches(requests, lambda batch: self._extract(batch, sites))
        states = {
            site: np.concatenate([batch.states[site] for batch in batches])
            for site in sites
            if site != ANSWER
        }
        return HiddenStates(states, [answer for batch in batches for answer in batch.answers])

    def _extract(self, batch: Sequence[Request], sites: Sequence[str]) -> HiddenStates:
        import torch

        inputs = self.model.encode(batch).inputs
        positions = self._positions(batch, inputs, sites)
        targets: list[list[int]] = []
        if ANSWER in sites:
            targets = [self._target(request) for request in batch]
            inputs = append_tokens(inputs, targets, self.model.loaded.processor.tokenizer)
        collector = _Collector(positions, targets, inputs["input_ids"].shape[1])
        with torch.inference_mode(), ExitStack() as hooks:
            self._hook(hooks, collector, sites)
            with suppress(_AllCollected):
                self.model.loaded.model(**inputs, use_cache=False)
        answers = zip((states.cpu().numpy() for states in collector.answers), targets, strict=True)
        return HiddenStates(
            {site: states.cpu().numpy() for site, states in collector.states.items()},
            [(states, np.array(ids)) for states, ids in answers],
        )

    def _positions(
        self, batch: Sequence[Request], inputs: Any, sites: Sequence[str]
    ) -> list[TokenPositions]:
        processor = self.model.loaded.processor
        audio_token = processor.tokenizer.convert_tokens_to_ids(processor.audio_token)
        ids = inputs["input_ids"].cpu().numpy()
        real = inputs["attention_mask"].cpu().numpy().astype(bool)
        found = [
            locate_clip(request, row, mask, audio_token)
            for request, row, mask in zip(batch, ids, real, strict=True)
        ]
        if any(site_of(site).position in QUERY_POSITIONS for site in sites):
            for request, row, positions in zip(batch, ids, found, strict=True):
                positions.at.update(locate_question_words(request, row, self._tokens_of))
        return found

    def _tokens_of(self, text: str) -> list[int]:
        tokenizer = self.model.loaded.processor.tokenizer
        return list(tokenizer.encode(text, add_special_tokens=False))

    def _target(self, request: Request) -> list[int]:
        word = answer_word(request.question)
        if word is None:
            raise ModelError(
                f"question {request.question.question_id!r} has no right answer, so no states that "
                "predict it; leave out the site 'answer'"
            )
        return self.model.encoder.answer_tokens(request, word)

    def _hook(self, hooks: ExitStack, collector: "_Collector", sites: Sequence[str]) -> None:
        """Collects from each requested layer, and ends the pass at the deepest."""
        layers, norm = self.decoder.layers, self.decoder.norm
        wanted: dict[int, list[str]] = {}
        for name in sites:
            wanted.setdefault(site_of(name).hidden_state(len(layers)), []).append(name)

        def collect(number: int, states: Any) -> None:
            for name in wanted[number]:
                collector.collect(name, states)
            if number == max(wanted):
                raise _AllCollected

        def on_entering(number: int, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            collect(number, args[0] if args else kwargs["hidden_states"])

        def on_leaving(number: int, _: Any, args: tuple[Any, ...], output: Any) -> None:
            collect(number, output)

        for number in wanted:
            # hidden state k enters layer k; the last one leaves the final norm
            if number < len(layers):
                hook = partial(on_entering, number)
                handle = layers[number].register_forward_pre_hook(hook, with_kwargs=True)
            else:
                handle = norm.register_forward_hook(partial(on_leaving, number))
            hooks.callback(handle.remove)


class _AllCollected(Exception):
    """Ends the forward pass."""


class _Collector:
    """Reads sites from hidden states `(n_questions, n_tokens, width)`, in float32.

    Attributes:
        states: Site to `(n_questions, width)`.
        answers: For each question `(n_targets, width)`, once `answer` was read.
    """

    def __init__(
        self,
        positions: Sequence[TokenPositions],
        targets: Sequence[Sequence[int]],
        n_tokens: int,
    ) -> None:
        import torch

        self.states: dict[str, Any] = {}
        self.answers: list[Any] = []
        self._positions, self._targets, self._n_tokens = positions, targets, n_tokens
        # clips have different numbers of tokens: shorter ones repeat their last token, at weight 0
        n_frames = max(len(row.clip) for row in positions)
        padded = [[*row.clip, *row.clip[-1:].repeat(n_frames - len(row.clip))] for row in positions]
        self._frames = torch.tensor(np.array(padded))
        self._weights = torch.zeros(len(positions), N_SEGMENTS, n_frames)
        for weights, row in zip(self._weights, positions, strict=True):
            weights[:, : len(row.clip)] = torch.from_numpy(weights_of(len(row.clip)))

    def collect(self, name: str, states: Any) -> None:
        """Copies what a site reads: a view would keep all of `states` in memory.

        Raises:
            ModelError: There are more or fewer states than tokens of the prompt, so that
                positions of tokens are not positions of states.
        """
        import torch

        if states.shape[1] != self._n_tokens:
            raise ModelError(
                f"the model has {states.shape[1]} hidden states for a prompt of {self._n_tokens} "
                "tokens, so no state belongs to one token; an adapter that puts tokens before "
                "the prompt (prompt tuning) does that: extract without it"
            )
        site = site_of(name)
        if site.read == "targets":
            rows = zip(states, self._positions, self._targets, strict=True)
            self.answers = [
                row[at.end : at.end + len(ids)].to(torch.float32, copy=True)
                for row, at, ids in rows
            ]
        elif site.read == "segments":
            self.states[name] = self._segments(states)
        else:
            columns = [at.at[site.position or "o"] for at in self._positions]
            self.states[name] = states[torch.arange(len(columns)), columns].float()

    def _segments(self, states: Any) -> Any:
        import torch

        self._frames = self._frames.to(states.device)
        self._weights = self._weights.to(states.device)
        rows = torch.arange(len(self._positions), device=states.device)[:, None]
        return (self._weights @ states[rows, self._frames].float()).flatten(1)
