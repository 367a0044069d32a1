"""Training through the whole model: question and audio, with the right answer appended.

Reproducible training has one clip in a forward pass, as published: the gradient of a clip then
depends on no other clip, and on no padding. Otherwise clips share a batch.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import peft
import torch

from otoscope.models.base import Request
from otoscope.models.batching import BatchSize, in_batches
from otoscope.models.decoding import append_tokens
from otoscope.models.transformers_models import TransformersModel
from otoscope.tuning.adapter import trainable_parameters
from otoscope.tuning.config import TuningError
from otoscope.tuning.dropout import DropoutContext
from otoscope.tuning.examples import TrainingExamples
from otoscope.tuning.trainable import ClipScore, score_clip


class TrainableModel:
    """A model with an adapter, and the clips it is trained on.

    Args:
        model, tuned, dropout: With its processor; its network with an adapter, and the dropout of
            `add_adapter`.
        examples: Clips and answers.
        fill: Question's id to the question with its audio.
        clips_per_pass: Most clips in a forward pass when training is not reproducible; halved when
            memory runs out.
        checkpointing: Store only the input of each layer, and compute the rest again: less memory,
            more time, the same weights.
    """

    def __init__(
        self,
        model: TransformersModel,
        tuned: peft.PeftModel,
        examples: TrainingExamples,
        fill: Callable[[str], Request],
        dropout: DropoutContext,
        *,
        clips_per_pass: int = 16,
        checkpointing: bool = False,
    ) -> None:
        self.model, self.tuned, self.examples = model, tuned, examples
        self.fill, self.dropout = fill, dropout
        self.weights = list(trainable_parameters(tuned).values())
        one_by_one = dropout.reproducible or not model.loaded.family.batched
        self.max_clips = 1 if dropout.reproducible else None
        self.batch_size = BatchSize(1 if one_by_one else clips_per_pass)
        if checkpointing:
            _recompute_activations(tuned.get_base_model())

    def backward(self, indices: Sequence[int], epoch: int) -> list[float]:
        """See `Trainable`.

        Raises:
            TuningError: A clip does not fit into memory.
        """
        return self._by_batch(indices, lambda own: self._backward(own, epoch))

    def evaluate(self, indices: Sequence[int]) -> list[ClipScore]:
        """See `Trainable`."""
        return self._by_batch(indices, self._evaluate)

    def _by_batch(
        self, indices: Sequence[int], process: Callable[[Sequence[int]], list[Any]]
    ) -> list[Any]:
        results: list[Any] = []
        for _, batch in in_batches(self.batch_size, indices, process):
            if batch is None:
                raise TuningError(
                    "out of memory with one clip a pass; try --gradient-checkpointing, --dtype "
                    "bfloat16, a smaller --scope, or --scope lm_head with --features"
                )
            results += batch
        return results

    def _backward(self, indices: Sequence[int], epoch: int) -> list[float]:
        """Losses of one batch. Where memory runs out, gradients are what they were before."""
        before = [None if w.grad is None else w.grad.clone() for w in self.weights]
        targets = [self.examples.targets[n] for n in indices]
        names = self.examples.column("id", indices)
        items = [(name, len(target)) for name, target in zip(names, targets, strict=True)]
        try:
            # dropout is drawn in the backward pass too, where activations are recomputed
            with self.dropout.of(epoch, items):
                losses = [
                    torch.nn.functional.cross_entropy(own, torch.tensor(target, device=own.device))
                    for own, target in zip(self._logits(indices), targets, strict=True)
                ]
                torch.stack(losses).sum().backward()
        except RuntimeError:
            for weight, gradient in zip(self.weights, before, strict=True):
                weight.grad = gradient
            raise
        return [float(loss.detach()) for loss in losses]

    def _evaluate(self, indices: Sequence[int]) -> list[ClipScore]:
        with torch.inference_mode():
            logits = self._logits(indices)
        return [
            score_clip(own, self.examples.targets[n], self.examples.alternatives[n])
            for n, own in zip(indices, logits, strict=True)
        ]

    def _logits(self, indices: Sequence[int]) -> list[torch.Tensor]:
        """For each clip the float32 logits of its answer's positions, `(n_targets, n_tokens)`."""
        requests = [self.fill(name) for name in self.examples.column("question_id", indices)]
        targets = [self.examples.targets[n] for n in indices]
        tokenizer = self.model.loaded.processor.tokenizer
        inputs = append_tokens(self.model.encode(requests).inputs, targets, tokenizer)
        with self._head_on_answers(max(map(len, targets))):
            logits = self.tuned(**inputs, use_cache=False).logits
        return [own[: len(t)].float() for own, t in zip(logits, targets, strict=True)]

    @contextmanager
    def _head_on_answers(self, n_targets: int) -> Iterator[None]:
        """The output layer gets only the hidden states that predict the last tokens."""

        def select(module: Any, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            return (args[0][:, -n_targets - 1 : -1], *args[1:])

        base: Any = self.tuned.get_base_model()
        handle = base.get_output_embeddings().register_forward_pre_hook(select)
        try:
            yield
        finally:
            handle.remove()


def _recompute_activations(model: Any) -> None:
    """Turns activation checkpointing on, in the parts of the model that can do it.

    Layers do it only in training mode, so they are put into it, with their own dropout off; their
    children stay in evaluation mode.
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
