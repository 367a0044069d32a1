"""The loop: shares a step out, adds up what each clip teaches, and takes the step.

What clips teach is added up in pairs, in an order that does not depend on who computed it. So
several processes take the very step that one takes, to the last bit, as long as each takes a power
of two of the clips and computes a clip alike (same device, same number of threads).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from accelerate.utils import set_seed

from otoscope.progress import Progress
from otoscope.statistics.intervals import Interval, clustered_interval
from otoscope.tuning.adapter import trainable_parameters
from otoscope.tuning.checkpoints import Checkpoints, random_states, restore_random_states
from otoscope.tuning.config import TrainingConfig, TuningError
from otoscope.tuning.examples import TrainingExamples
from otoscope.tuning.trainable import ClipScore, Trainable

NAMED = 3
"""So many clips are named in a message."""


@runtime_checkable
class ProcessGroup(Protocol):
    """What is asked of `accelerate.Accelerator`."""

    num_processes: int
    process_index: int

    def gather(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensors of all processes, one after the other."""


class SingleProcess:
    """A team of one."""

    num_processes = 1
    process_index = 0

    def gather(self, tensor: torch.Tensor) -> torch.Tensor:
        """What is given."""
        return tensor


class ValidationResult(NamedTuple):
    """How the clips that did not teach fare, after some steps.

    Attributes:
        step: After so many.
        n_clips, n_sources: Of these clips.
        loss: Mean.
        said: Share whose right answer is what would be said, with its interval by source.
        preferred: Share whose right answer is likelier than the other answers offered.
    """

    step: int
    n_clips: int
    n_sources: int
    loss: float
    said: Interval
    preferred: Interval


@dataclass
class TrainingHistory:
    """What happened: the mean loss and the gradient's length at each step, and validations."""

    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    validations: list[ValidationResult] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """Ready for JSON."""
        told = [v._asdict() | {"said": list(v.said), "preferred": list(v.preferred)}
                for v in self.validations]  # fmt: skip
        return {"losses": self.losses, "norms": self.norms, "validations": told}

    @classmethod
    def from_plain(cls, told: Any) -> "TrainingHistory":
        """The other way."""
        validations = [
            ValidationResult(**{**v, "said": Interval(*v["said"]),
                          "preferred": Interval(*v["preferred"])})
            for v in told["validations"]
        ]  # fmt: skip
        return cls(list(told["losses"]), list(told["norms"]), validations)


def steps_per_epoch(n_clips: int, settings: TrainingConfig) -> int:
    """Steps an epoch; the last one may be of fewer clips.

    >>> steps_per_epoch(10_800, TrainingConfig()), steps_per_epoch(17, TrainingConfig())
    (675, 2)
    """
    return -(-n_clips // settings.batch_size)


def epoch_order(places: Sequence[int], epoch: int, seed: int) -> list[int]:
    """The order of an epoch, counted from 0: as published, `Random(seed + epoch)` shuffles."""
    shuffled = list(places)
    Random(seed + epoch).shuffle(shuffled)
    return shuffled


def train(
    trainable: Trainable,
    examples: TrainingExamples,
    settings: TrainingConfig,
    checkpoints: Checkpoints,
    *,
    team: ProcessGroup | None = None,
    progress: Progress | None = None,
    every: int = 50,
) -> TrainingHistory:
    """Trains to the end, from the latest checkpoint if there is one.

    Args:
        learner: What learns.
        examples: Clips, answers, and which of them teach.
        settings: Everything else that decides the weights.
        checkpoints: Where training stands.
        team: The processes; one when None.
        progress: Shows how far it is.
        every: Steps from one checkpoint to the next.

    Raises:
        TuningError: A loss is not finite; the clips are named, and the last checkpoint is kept.
    """
    team, progress = team or SingleProcess(), progress or Progress()
    loop = _Loop(trainable, examples, settings, checkpoints, team, progress)
    an_epoch = steps_per_epoch(len(examples.parts.train), settings)
    last = an_epoch * settings.epochs
    loop.resume()
    for epoch in range(loop.step // an_epoch, settings.epochs):
        if loop.step == epoch * an_epoch:
            loop.validate()
        clips = epoch_order(examples.parts.train, epoch, settings.seed)
        with progress.bar(f"Epoch {epoch + 1} of {settings.epochs}", an_epoch) as step:
            step(loop.step - epoch * an_epoch, total=True)
            while loop.step < (epoch + 1) * an_epoch:
                first = (loop.step - epoch * an_epoch) * settings.batch_size
                loss = loop.take(clips[first : first + settings.batch_size], epoch)
                step(note=f"loss {loss:.3f}")
                if loop.step % every == 0 or loop.step == last:
                    loop.save()
    loop.validate()
    return loop.history


class _Loop:
    """What changes from step to step."""

    def __init__(
        self,
        trainable: Trainable,
        examples: TrainingExamples,
        settings: TrainingConfig,
        checkpoints: Checkpoints,
        team: ProcessGroup,
        progress: Progress,
    ) -> None:
        self.trainable, self.examples, self.settings = trainable, examples, settings
        self.checkpoints, self.team, self.progress = checkpoints, team, progress
        self.weights = trainable_parameters(trainable.tuned)
        self.share = settings.share(team.num_processes)
        self.optimizer = torch.optim.AdamW(
            self.weights.values(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self.home = next(iter(self.weights.values())).device
        self.step, self.history = 0, TrainingHistory()
        set_seed(settings.seed)

    def resume(self) -> None:
        """Goes where the latest checkpoint stands, in all processes alike."""
        state = self.checkpoints.latest()
        if state is None:
            return
        with torch.no_grad():
            for name, weight in self.weights.items():
                weight.copy_(state["weights"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        restore_random_states(state["random"])
        self.step, self.history = state["step"], TrainingHistory.from_plain(state["history"])

    def save(self) -> None:
        """Leaves a checkpoint, by the first process."""
        if self.team.process_index:
            return
        self.checkpoints.save(
            {
                "step": self.step,
                "weights": {name: weight.detach().cpu() for name, weight in self.weights.items()},
                "optimizer": self.optimizer.state_dict(),
                "random": random_states(),
                "history": self.history.plain(),
            }
        )

    def take(self, clips: Sequence[int], epoch: int) -> float:
        """One step on these clips; their mean loss.

        Raises:
            TuningError: It is not finite.
        """
        first = self.team.process_index * self.share
        own = list(clips[first : first + self.share])
        tiny_job, losses = self._taught(own, epoch)
        losses = np.concatenate([losses, np.full(self.share - len(losses), np.nan)])
        sent = torch.cat([tiny_job, tiny_job.new_tensor(losses)])
        got = self.team.gather(sent[None]).reshape(self.team.num_processes, -1)
        each = got[:, -self.share :].flatten()[: len(clips)].tolist()
        self._check(each, clips)
        whole = _added(len(got), lambda n: got[n, : -self.share])
        self._put(whole / len(clips))
        norm = torch.nn.utils.clip_grad_norm_(self.weights.values(), self.settings.max_norm)
        if not torch.isfinite(norm):
            raise TuningError(
                f"the gradient of step {self.step + 1} is not finite, while the loss is; {WAYS_OUT}"
            )
        self.optimizer.step()
        self.step += 1
        self.history.losses.append(float(np.mean(each)))
        self.history.norms.append(float(norm))
        return self.history.losses[-1]

    def _taught(self, clips: Sequence[int], epoch: int) -> tuple[torch.Tensor, np.ndarray]:
        """The sum of the clips' gradients as one long row, and their losses."""
        micro_batch_size = self.trainable.micro_batch_size or self.settings.batch_size
        losses: list[float] = []

        def leaf(n: int) -> torch.Tensor | None:
            part = clips[n * micro_batch_size : (n + 1) * micro_batch_size]
            if not part:
                return None
            for weight in self.weights.values():
                weight.grad = None
            losses.extend(self.trainable.backward(part, epoch))
            return torch.cat([self._gradient(weight) for weight in self.weights.values()])

        total = _added(-(-self.share // micro_batch_size), leaf)
        if total is None:
            total = torch.zeros(sum(w.numel() for w in self.weights.values()), device=self.home)
        return total, np.array(losses)

    def _put(self, tiny_job: torch.Tensor) -> None:
        parts = tiny_job.split([weight.numel() for weight in self.weights.values()])
        for weight, part in zip(self.weights.values(), parts, strict=True):
            weight.grad = part.reshape(weight.shape).to(weight.device, copy=True)

    def _gradient(self, weight: torch.nn.Parameter) -> torch.Tensor:
        """As a row, where all rows are put together; zeros where nothing came through."""
        made = torch.zeros_like(weight) if weight.grad is None else weight.grad
        return made.flatten().to(self.home)

    def _check(self, losses: Sequence[float], clips: Sequence[int]) -> None:
        bad = [clip for clip, loss in zip(clips, losses, strict=True) if not np.isfinite(loss)]
        if bad:
            named = ", ".join(map(repr, self.examples.column("id", bad)[:NAMED]))
            raise TuningError(
                f"the loss of {len(bad)} clip(s) is not finite in step {self.step + 1}, {named}; "
                f"{WAYS_OUT}"
            )

    def validate(self) -> None:
        """Judges the clips that do not teach, unless that was done after this very step."""
        if any(done.step == self.step for done in self.history.validations):
            return
        places = self.examples.parts.validation
        rank, world = self.team.process_index, self.team.num_processes
        own = places[rank::world]
        with self.progress.bar("Validating", len(own)) as step:
            score_clip = [self._judge(part, step) for part in _portions(own)]
        told = self._gathered([one for part in score_clip for one in part], len(places))
        sources = np.array(self.examples.column("source_id", places), str)
        said, preferred = told[:, 1] > 0, told[:, 2] > 0
        self.history.validations.append(
            ValidationResult(
                self.step,
                len(places),
                len(np.unique(sources)),
                float(told[:, 0].mean()),
                clustered_interval(said, sources),
                clustered_interval(preferred, sources),
            )
        )
        self.save()

    def _judge(self, places: Sequence[int], step: Callable[..., None]) -> list[ClipScore]:
        made = self.trainable.evaluate(places)
        step(len(places))
        return made

    def _gathered(self, own: Sequence[ClipScore], n: int) -> np.ndarray:
        """What all processes judged, `(n, 3)`, in the order of the clips."""
        world = self.team.num_processes
        sent = torch.zeros(-(-n // world), 3, device=self.home)
        for place, one in enumerate(own):
            sent[place] = sent.new_tensor([one.loss, one.said, one.preferred])
        got = self.team.gather(sent[None]).reshape(world, -1, 3)
        return got.transpose(0, 1).reshape(-1, 3)[:n].cpu().double().numpy()


WAYS_OUT = (
    "the last checkpoint is kept, but the same command would come to the same end: start anew in "
    "another --out with a lower --learning-rate, or with --dtype float32 or bfloat16"
)


def _added(n: int, leaf: Callable[[int], torch.Tensor | None]) -> Any:
    """The sum of `n` leaves, pair by pair; those that are None count as nothing.

    Halves are powers of two, so the sums of any such number of neighbours are sums on the way.
    """
    if n <= 1:
        return leaf(0)
    half = 1 << ((n - 1).bit_length() - 1)
    first = _added(half, leaf)
    second = _added(n - half, lambda place: leaf(half + place))
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _portions(places: Sequence[int], size: int = 16) -> list[Sequence[int]]:
    return [places[n : n + size] for n in range(0, len(places), size)]
