"""Everything that decides what an adapter learns. The defaults are the published ones.

Source: VocalGrad, appendix on fine-tuning; clipping and the constant rate are in its authors' code.
"""

import math
from dataclasses import dataclass

from otoscope.errors import InputError

SCOPES = {
    "lm_head": "the output layer",
    "decoder": "every linear layer of the language model below the output layer",
    "all_linear": "every linear layer of decoder, output layer, audio tower and projector",
}


class TuningError(InputError, ValueError):
    """An adapter that cannot be trained as asked; the message says why, and the way out."""


@dataclass(frozen=True)
class TrainingConfig:
    """How an adapter is trained.

    Attributes:
        scope: What is adapted, a name in `SCOPES`.
        rank, alpha: Of the addition; it is scaled by `alpha / rank`.
        dropout: Share of an adapted layer's inputs that its addition does not see, 0 to below 1.
        learning_rate, weight_decay: Of AdamW; the rate stays what it is.
        batch_size: Clips a step, over all processes.
        epochs: Turns through the clips; the last step's weights are the result.
        max_norm: Gradients longer than this are shortened to it.
        seed: Of first weights, masks and order.
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

    def __post_init__(self) -> None:
        """Refuses what cannot be.

        Raises:
            TuningError: Names the setting and its value.
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

    def share(self, n_processes: int) -> int:
        """Clips a step that each process takes.

        >>> TrainingConfig().share(2), TrainingConfig().share(16)
        (8, 1)

        Raises:
            TuningError: They cannot be shared out evenly.
        """
        if self.batch_size % n_processes:
            fit = [n for n in range(1, self.batch_size + 1) if self.batch_size % n == 0]
            raise TuningError(
                f"{self.batch_size} clips a step cannot be shared out to {n_processes} processes; "
                f"start {', '.join(map(str, fit[:-1]))} or {fit[-1]} of them, or choose a "
                "--train-batch-size that they divide"
            )
        return self.batch_size // n_processes
