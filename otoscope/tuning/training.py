"""The training loop: each process computes the gradients of its clips, and all take the same step.

Reproducible training adds gradients pair by pair, in an order that does not depend on the
processes. Several processes then take the step of one bit for bit, as long as each has a power of
two of the clips and computes a clip alike (same kind of device, same number of threads). Otherwise
gradients are accumulated and reduced as accelerate does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from accelerate.utils import set_seed

from otoscope.progress import Progress
from otoscope.statistics.intervals import clustered_interval
from otoscope.tuning.adapter import trainable_parameters
from otoscope.tuning.checkpoints import Checkpoints
from otoscope.tuning.config import TrainingConfig, TuningError
from otoscope.tuning.examples import TrainingExamples
from otoscope.tuning.history import TrainingHistory, ValidationResult
from otoscope.tuning.trainable import ClipScore, Trainable

CLIPS_NAMED = 3
VALIDATION_BATCH = 16
WAYS_OUT = (
    "the last checkpoint is kept, but the same command would end the same way: start again in "
    "another --out with a lower --learning-rate, or with --dtype float32 or bfloat16"
)


@runtime_checkable
class ProcessGroup(Protocol):
    """The part of `accelerate.Accelerator` that the loop uses."""

    num_processes: int
    process_index: int

    def gather(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensors of all processes, concatenated."""

    def reduce(self, tensor: torch.Tensor, reduction: str = "mean") -> torch.Tensor:
        """Sum (`reduction="sum"`) or mean of the tensors of all processes."""


class SingleProcess:
    """A group of one."""

    num_processes = 1
    process_index = 0

    def gather(self, tensor: torch.Tensor) -> torch.Tensor:
        """The same tensor."""
        return tensor

    def reduce(self, tensor: torch.Tensor, reduction: str = "mean") -> torch.Tensor:
        """The same tensor."""
        return tensor


def steps_per_epoch(n_clips: int, config: TrainingConfig) -> int:
    """Steps in an epoch; the last one may have fewer clips.

    >>> steps_per_epoch(10_800, TrainingConfig()), steps_per_epoch(17, TrainingConfig())
    (675, 2)
    """
    return -(-n_clips // config.batch_size)


def epoch_order(indices: Sequence[int], epoch: int, seed: int) -> list[int]:
    """The order of an epoch, counted from 0: as published, `Random(seed + epoch)` shuffles."""
    shuffled = list(indices)
    Random(seed + epoch).shuffle(shuffled)
    return shuffled


def train(
    trainable: Trainable,
    examples: TrainingExamples,
    config: TrainingConfig,
    checkpoints: Checkpoints,
    *,
    group: ProcessGroup | None = None,
    progress: Progress | None = None,
    every: int = 50,
) -> TrainingHistory:
    """Trains to the end, from the latest checkpoint if there is one.

    Args:
        trainable, examples, config, checkpoints: What is trained, on what, how, and from where.
        group: The processes; one when None.
        progress: Of the steps.
        every: Steps from one checkpoint to the next.

    Raises:
        TuningError: A loss is not finite; the clips are named, and the last checkpoint is kept.
    """
    group, progress = group or SingleProcess(), progress or Progress()
    loop = _Loop(trainable, examples, config, checkpoints, group, progress)
    n_steps = steps_per_epoch(len(examples.split.train), config)
    last = n_steps * config.epochs
    loop.resume()
    for epoch in range(loop.step // n_steps, config.epochs):
        if loop.step == epoch * n_steps:
            loop.validate()
        clips = epoch_order(examples.split.train, epoch, config.seed)
        with progress.bar(f"Epoch {epoch + 1} of {config.epochs}", n_steps) as step:
            step(loop.step - epoch * n_steps, total=True)
            while loop.step < (epoch + 1) * n_steps:
                first = (loop.step - epoch * n_steps) * config.batch_size
                loss = loop.take(clips[first : first + config.batch_size], epoch)
                step(note=f"loss {loss:.3f}")
                if loop.step % every == 0 or loop.step == last:
                    loop.save()
    loop.validate()
    return loop.history


@dataclass
class _Loop:
    """What changes from step to step."""

    trainable: Trainable
    examples: TrainingExamples
    config: TrainingConfig
    checkpoints: Checkpoints
    group: ProcessGroup
    progress: Progress

    def __post_init__(self) -> None:
        config = self.config
        self.weights = trainable_parameters(self.trainable.tuned)
        self.share = config.clips_per_process(self.group.num_processes)
        self.optimizer = torch.optim.AdamW(
            self.weights.values(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.device = next(iter(self.weights.values())).device
        self.step, self.history = 0, TrainingHistory()

    def resume(self) -> None:
        """Continues from the latest checkpoint, in all processes alike."""
        state = self.checkpoints.latest()
        if state is None:
            return
        with torch.no_grad():
            for name, weight in self.weights.items():
                weight.copy_(state["weights"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.history = state["step"], TrainingHistory.from_plain(state["history"])

    def save(self) -> None:
        """Writes a checkpoint, in the first process."""
        if self.group.process_index:
            return
        self.checkpoints.save(
            {
                "step": self.step,
                "weights": {name: weight.detach().cpu() for name, weight in self.weights.items()},
                "optimizer": self.optimizer.state_dict(),
                "history": self.history.plain(),
            }
        )

    def take(self, clips: Sequence[int], epoch: int) -> float:
        """One optimizer step on these clips; their mean loss.

        Raises:
            TuningError: It is not finite.
        """
        rank, world = self.group.process_index, self.group.num_processes
        own = clips[rank * self.share : (rank + 1) * self.share]
        if not self.config.reproducible:  # dropout differs between steps and between processes
            set_seed(self.config.seed + self.step * world + rank)
        gradient, losses = self._gradient(own, epoch)
        padded = gradient.new_tensor(losses + [float("nan")] * (self.share - len(losses)))
        if self.config.reproducible:
            sent = torch.cat([gradient, padded])
            gathered = self.group.gather(sent[None]).reshape(world, -1)
            total = _pairwise_sum(world, lambda n: gathered[n, : -self.share])
            gathered = gathered[:, -self.share :]
        else:
            total = self.group.reduce(gradient, reduction="sum")
            gathered = self.group.gather(padded)
        all_losses = gathered.flatten()[: len(clips)].tolist()
        self._validate_finite(all_losses, clips)
        self._set_gradient(total / len(clips))
        norm = torch.nn.utils.clip_grad_norm_(self.weights.values(), self.config.max_norm)
        if not torch.isfinite(norm):
            raise TuningError(
                f"the gradient of step {self.step + 1} is not finite, while the loss is; {WAYS_OUT}"
            )
        self.optimizer.step()
        self.step += 1
        self.history.losses.append(float(np.mean(all_losses)))
        self.history.norms.append(float(norm))
        return self.history.losses[-1]

    def _gradient(self, clips: Sequence[int], epoch: int) -> tuple[torch.Tensor, list[float]]:
        """The sum of the clips' gradients as one long row, and their losses."""
        at_once = self.trainable.max_clips or self.config.batch_size
        losses: list[float] = []

        def leaf(n: int) -> torch.Tensor | None:
            batch = clips[n * at_once : (n + 1) * at_once]
            if not batch:
                return None
            for weight in self.weights.values():
                weight.grad = None
            losses.extend(self.trainable.backward(batch, epoch))
            return torch.cat([self._flat_gradient(weight) for weight in self.weights.values()])

        total = _pairwise_sum(-(-self.share // at_once), leaf)
        if total is None:
            total = torch.zeros(sum(w.numel() for w in self.weights.values()), device=self.device)
        return total, losses

    def _set_gradient(self, row: torch.Tensor) -> None:
        pieces = row.split([weight.numel() for weight in self.weights.values()])
        for weight, piece in zip(self.weights.values(), pieces, strict=True):
            weight.grad = piece.reshape(weight.shape).to(weight.device, copy=True)

    def _flat_gradient(self, weight: torch.nn.Parameter) -> torch.Tensor:
        """As a row, on the device of all rows; zeros where there is no gradient."""
        gradient = torch.zeros_like(weight) if weight.grad is None else weight.grad
        return gradient.flatten().to(self.device)

    def _validate_finite(self, losses: Sequence[float], clips: Sequence[int]) -> None:
        bad = [clip for clip, loss in zip(clips, losses, strict=True) if not np.isfinite(loss)]
        if bad:
            named = ", ".join(map(repr, self.examples.column("id", bad)[:CLIPS_NAMED]))
            raise TuningError(
                f"the loss of {len(bad)} clip(s) is not finite in step {self.step + 1}, {named}; "
                f"{WAYS_OUT}"
            )

    def validate(self) -> None:
        """Scores the validation clips, unless that was done after this very step."""
        if any(done.step == self.step for done in self.history.validations):
            return
        clips = self.examples.split.validation
        own = clips[self.group.process_index :: self.group.num_processes]
        scores: list[ClipScore] = []
        with self.progress.bar("Validating", len(own)) as step:
            for first in range(0, len(own), VALIDATION_BATCH):
                batch = own[first : first + VALIDATION_BATCH]
                scores += self.trainable.evaluate(batch)
                step(len(batch))
        table = self._gather_scores(scores, len(clips))
        sources = np.array(self.examples.column("source_id", clips), str)
        self.history.validations.append(
            ValidationResult(
                self.step,
                len(clips),
                len(np.unique(sources)),
                float(table[:, 0].mean()),
                clustered_interval(table[:, 1] > 0, sources),
                clustered_interval(table[:, 2] > 0, sources),
            )
        )
        self.save()

    def _gather_scores(self, own: Sequence[ClipScore], n: int) -> np.ndarray:
        """Scores of all processes, `(n, 3)`, in the order of the clips."""
        world = self.group.num_processes
        sent = torch.zeros(-(-n // world), len(ClipScore._fields), device=self.device)
        sent[: len(own)] = sent.new_tensor(own).reshape(-1, sent.shape[1])
        gathered = self.group.gather(sent[None]).reshape(world, *sent.shape)
        return gathered.transpose(0, 1).flatten(0, 1)[:n].cpu().double().numpy()


def _pairwise_sum(n: int, leaf: Callable[[int], torch.Tensor | None]) -> Any:
    """The sum of `n` leaves, pair by pair; None leaves are skipped.

    The first half is always a power of two. So the sum of any aligned power of two of neighbours is
    one of the partial sums, whichever process computes it.
    """
    if n <= 1:
        return leaf(0)
    half = 1 << ((n - 1).bit_length() - 1)
    first = _pairwise_sum(half, leaf)
    second = _pairwise_sum(n - half, lambda index: leaf(half + index))
    if first is None or second is None:
        return second if first is None else first
    return first + second
