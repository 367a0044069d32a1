"""Everything that decides the weights of an adapter. The defaults are the published ones.

Source: VocalGrad, appendix B.5; clipping and the constant rate are in its authors' code.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from otoscope.errors import InputError
from otoscope.tuning.scopes import SCOPES


class TuningError(InputError, ValueError):
    """An adapter that cannot be trained as requested; the message says why, and the way out."""


@dataclass(frozen=True)
class TrainingConfig:
    """How an adapter is trained.

    Attributes:
        scope: A name in `SCOPES`.
        rank, alpha: Of LoRA; its output is scaled by `alpha / rank`.
        dropout: Of the adapter's input, 0 to below 1.
        learning_rate, weight_decay: Of AdamW; the rate is constant.
        batch_size: Clips in an optimizer step, over all processes.
        epochs: Passes over the clips; the last step's weights are the result.
        max_norm: Longer gradients are clipped to it.
        seed: Of first weights, dropout, order and validation split.
        reproducible: Whether weights are bitwise equal for any number of processes. Then each
            forward pass has one clip; otherwise a batch.
    """

    scope: str = "lm_head"
    rank: int = 8
    alpha: int = 16
    dropout: float = 0.05
    learning_rate: float = 2e-4
    weight_decay: float = 0.0
    batch_size: int = 16
    epochs: int = 1
    max_norm: float = 1.0
    seed: int = 1234
    reproducible: bool = True

    def __post_init__(self) -> None:
        """Validates every value.

        Raises:
            TuningError: Names the option and its value.
        """
        if self.scope not in SCOPES:
            raise TuningError(f"no scope named {self.scope!r}; there are {', '.join(SCOPES)}")
        for name in ("rank", "alpha", "batch_size", "epochs"):
            if getattr(self, name) < 1:
                raise TuningError(f"{name} must be 1 or more, not {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise TuningError(f"dropout is a share below 1, not {self.dropout}")
        for name in ("learning_rate", "max_norm"):
            value = getattr(self, name)
            if not (value > 0 and math.isfinite(value)):
                raise TuningError(f"{name} must be a number above 0, not {value}")
        if not (self.weight_decay >= 0 and math.isfinite(self.weight_decay)):
            raise TuningError(f"weight_decay must be 0 or more, not {self.weight_decay}")

    def record(self) -> dict[str, Any]:
        """As it is stored; records without `reproducible` are of version 0.1, and are."""
        stored = asdict(self)
        if self.reproducible:
            del stored["reproducible"]
        return stored

    def clips_per_process(self, n_processes: int) -> int:
        """Clips of a step in each process.

        >>> TrainingConfig().clips_per_process(2), TrainingConfig().clips_per_process(16)
        (8, 1)

        Raises:
            TuningError: The number of processes does not divide the batch size.
        """
        if self.batch_size % n_processes:
            fit = [n for n in range(1, self.batch_size + 1) if self.batch_size % n == 0]
            raise TuningError(
                f"{self.batch_size} clips a step cannot be shared out to {n_processes} processes; "
                f"start {', '.join(map(str, fit[:-1]))} or {fit[-1]} of them, or choose a "
                "--train-batch-size that they divide"
            )
        return self.batch_size // n_processes
