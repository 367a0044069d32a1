"""One forward pass of a model of transformers, and what is asked for of it.

Hidden states are pooled in the hook that meets them, so nothing larger than the answer is held; the
deepest layer that is asked for ends the pass.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from otoscope.models.base import ModelError, Request
from otoscope.models.decoding import append_tokens
from otoscope.models.families import module_at
from otoscope.models.transformers_models import TransformersModel
from otoscope.prompts.questions import answer_word
from otoscope.representations.hidden_states import HiddenStates
from otoscope.representations.pooling import N_SEGMENTS, weights_of
from otoscope.representations.sites import QUERY_POSITIONS, Site, site_names, site_of
from otoscope.representations.token_positions import (
    TokenPositions,
    locate_clip,
    locate_question_words,
)

ANSWER = "answer"
ANSWER_ONLY_KEYS = ("decoding", "device", "device_map", "generation", "logprobs")
"""What a model says of itself that changes answers but no state before them."""


@dataclass(frozen=True)
class TransformersExtractor:
    """A model of transformers, given exactly what `otoscope run` gives it."""

    model: TransformersModel

    @cached_property
    def decoder(self) -> Any:
        """The module with `layers` and `norm`."""
        loaded = self.model.loaded
        return module_at(loaded.model, loaded.family.decoder)

    @cached_property
    def widths(self) -> Mapping[str, int]:
        """Of every site but `mel`; of `answer`, that of one token's state."""
        words = self.model.loaded.model.config.get_text_config(decoder=True)
        return {
            name: words.hidden_size * (N_SEGMENTS if _is_pooled(site_of(name)) else 1)
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
        return {name: told for name, told in described.items() if name not in ANSWER_ONLY_KEYS}

    def extract(self, questions: Sequence[Request], sites: Sequence[str]) -> HiddenStates:
        """One forward pass a batch, no deeper than the deepest site.

        Raises:
            ModelError: A question cannot be put to this model, has no clip or several, or does not
                fit into memory even alone.
        """
        seen = self.model.in_batches(questions, lambda batch: self._extract(batch, sites))
        states = {
            site: np.concatenate([one.states[site] for one in seen])
            for site in sites
            if site != ANSWER
        }
        return HiddenStates(states, [answer for one in seen for answer in one.answers])

    def _extract(self, batch: Sequence[Request], sites: Sequence[str]) -> HiddenStates:
        import torch

        inputs = self.model.encode(batch).inputs
        positions = self._positions(batch, inputs, sites)
        targets: list[list[int]] = []
        if ANSWER in sites:
            targets = [self._target(request) for request in batch]
            inputs = append_tokens(inputs, targets, self.model.loaded.processor.tokenizer)
        collector = _Collector(positions, targets)
        with torch.inference_mode(), ExitStack() as hooks:
            self._hook(hooks, collector, sites)
            with suppress(_AllCollected):
                self.model.loaded.model(**inputs, use_cache=False)
        answers = zip((states.cpu().numpy() for states in collector.answers), targets, strict=True)
        return HiddenStates(
            {site: states.cpu().numpy() for site, states in collector.taken.items()},
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
        """Lets each layer that is asked for leave its part, and the deepest one end the pass."""
        n_layers = len(self.decoder.layers)
        wanted: dict[int, list[str]] = {}
        for name in sites:
            site = site_of(name)
            layer = {"pre_llm": 0, ANSWER: n_layers}.get(site.kind, site.layer)
            wanted.setdefault(layer or 0, []).append(name)

        def take(layer: int, states: Any) -> None:
            for name in wanted[layer]:
                collector.take(name, states)
            if layer == max(wanted):
                raise _AllCollected

        for layer in wanted:
            if layer < n_layers:
                handle = self.decoder.layers[layer].register_forward_pre_hook(
                    _on_entering(layer, take), with_kwargs=True
                )
            else:
                handle = self.decoder.norm.register_forward_hook(
                    lambda _, given, made, layer=layer: take(layer, made)
                )
            hooks.callback(handle.remove)


class _AllCollected(Exception):
    """All that was asked for is there."""


def _on_entering(layer: int, take: Callable[[int, Any], None]) -> Callable[..., None]:
    def hook(module: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        take(layer, given[0] if given else named["hidden_states"])

    return hook


class _Collector:
    """Takes what sites ask for from hidden states `(n_questions, n_tokens, width)`, in float32.

    Attributes:
        taken: Site to `(n_questions, width)`.
        answers: For each question `(n_targets, width)`, once `answer` was taken.
    """

    def __init__(
        self, positions: Sequence[TokenPositions], targets: Sequence[Sequence[int]]
    ) -> None:
        import torch

        self.taken: dict[str, Any] = {}
        self.answers: list[Any] = []
        self._positions, self._targets = positions, targets
        n_frames = max(len(at.clip) for at in positions)
        filled = [[*at.clip, *at.clip[-1:].repeat(n_frames - len(at.clip))] for at in positions]
        self._frames = torch.tensor(np.array(filled))
        self._weights = torch.zeros(len(positions), N_SEGMENTS, n_frames)
        for weights, at in zip(self._weights, positions, strict=True):
            weights[:, : len(at.clip)] = torch.from_numpy(weights_of(len(at.clip)))

    def take(self, name: str, states: Any) -> None:
        """Takes copies: a view would keep all of `states`."""
        import torch

        site = site_of(name)
        if site.kind == ANSWER:
            rows = zip(states, self._positions, self._targets, strict=True)
            self.answers = [
                row[at.end : at.end + len(ids)].to(torch.float32, copy=True)
                for row, at, ids in rows
            ]
        elif _is_pooled(site):
            self.taken[name] = self._segments(states)
        else:
            self.taken[name] = self._at(states, site)

    def _segments(self, states: Any) -> Any:
        import torch

        self._frames = self._frames.to(states.device)
        self._weights = self._weights.to(states.device)
        rows = torch.arange(len(self._positions), device=states.device)[:, None]
        return (self._weights @ states[rows, self._frames].float()).flatten(1)

    def _at(self, states: Any, site: Site) -> Any:
        import torch

        columns = [at.at[site.position or "o"] for at in self._positions]
        return states[torch.arange(len(columns)), columns].float()


def _is_pooled(site: Site) -> bool:
    return site.kind in ("pre_llm", "audio") and site.position is None
