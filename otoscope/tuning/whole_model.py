"""Learning with the whole model: a clip is heard, asked about and answered, one at a time.

One clip a pass, as published. What a clip teaches then depends on nothing that passes with it, no
padding among it, so any number of processes learns the same.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import peft
import torch

from otoscope.models.base import Request
from otoscope.models.batching import is_out_of_memory
from otoscope.models.transformers_models import TransformersModel
from otoscope.tuning.config import TuningError
from otoscope.tuning.dropout import DropoutContext
from otoscope.tuning.examples import TrainingExamples
from otoscope.tuning.trainable import ClipScore, score_clip


class TrainableModel:
    """A model that learns from clips.

    Args:
        model: As it is asked.
        tuned: Its network with an addition, from `add_adapter`.
        examples: Clips and answers.
        fill: Question's id to the question with its sound.
        passing: That of `add_adapter`.
        checkpointing: Keep only what enters each layer, and compute the rest again: less memory,
            more time, the same weights.
    """

    micro_batch_size: int | None = 1

    def __init__(
        self,
        model: TransformersModel,
        tuned: peft.PeftModel,
        examples: TrainingExamples,
        fill: Callable[[str], Request],
        dropout_context: DropoutContext,
        *,
        checkpointing: bool = False,
    ) -> None:
        self.model, self.tuned, self.examples = model, tuned, examples
        self.fill, self.dropout_context = fill, dropout_context
        if checkpointing:
            _recompute(tuned.get_base_model())

    def backward(self, places: Sequence[int], epoch: int) -> list[float]:
        """See `Trainable`.

        Raises:
            TuningError: A clip does not fit into memory.
        """
        try:
            return [self._learnt(place, epoch) for place in places]
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            raise TuningError(
                "out of memory with one clip a pass; try --gradient-checkpointing, --dtype "
                "bfloat16, a smaller --scope, or --scope lm_head with --features"
            ) from error

    def _learnt(self, place: int, epoch: int) -> float:
        """A clip's loss. Masks are drawn on the way back too, where layers are computed again."""
        answer = self.examples.targets[place]
        with self.dropout_context.of(epoch, [(str(self.examples.rows["id"][place]), len(answer))]):
            logits = self._logits(place)
            right = torch.tensor(answer, device=logits.device)
            loss = torch.nn.functional.cross_entropy(logits, right)
            loss.backward()
        return float(loss.detach())

    def evaluate(self, places: Sequence[int]) -> list[ClipScore]:
        """See `Trainable`."""
        made = []
        for place in places:
            with torch.inference_mode():
                logits = self._logits(place)
            answer, others = self.examples.targets[place], self.examples.others[place]
            made.append(score_clip(logits, answer, others))
        return made

    def _logits(self, place: int) -> torch.Tensor:
        """Where the tokens of the right answer are predicted, `(n_targets, n_tokens)`, float32."""
        asked = self.fill(str(self.examples.rows["question_id"][place]))
        inputs, answer = self.model.encode([asked]).inputs, self.examples.targets[place]
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        longer = dict(inputs) | {
            "input_ids": torch.cat([ids, ids.new_tensor([answer])], dim=1),
            "attention_mask": torch.cat([mask, mask.new_ones(1, len(answer))], dim=1),
        }
        with self._head_sees_only(len(answer)):
            return self.tuned(**longer, use_cache=False).logits[0].float()

    @contextmanager
    def _head_sees_only(self, n_targets: int) -> Iterator[None]:
        """The output layer gets the states that predict the answer: others are not learnt from."""

        def those(module: Any, given: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            return (given[0][:, -n_targets - 1 : -1], *given[1:])

        base: Any = self.tuned.get_base_model()
        head = base.get_output_embeddings()
        handle = head.register_forward_pre_hook(those)
        try:
            yield
        finally:
            handle.remove()


def _recompute(model: Any) -> None:
    """Turns activation checkpointing on, in the parts of the model that can do it.

    Layers do it only in training mode, so they are put into it; what is in them stays as it is, and
    their own dropout is off.
    """
    from transformers.modeling_layers import GradientCheckpointingLayer

    parts = [model] if model.supports_gradient_checkpointing else model.modules()
    for part in parts:
        if getattr(part, "supports_gradient_checkpointing", False):
            part.activation_checkpointing_enable()
    for layer in model.modules():
        if not isinstance(layer, GradientCheckpointingLayer):
            continue
        layer.training = True
        for name, value in vars(layer).items():
            if "dropout" in name and isinstance(value, float):
                setattr(layer, name, 0.0)
