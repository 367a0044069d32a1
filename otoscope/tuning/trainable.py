"""What is asked of whatever holds the weights that learn, and how an answer is judged."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import peft
import torch


class ClipScore(NamedTuple):
    """How a clip's right answer fares.

    Attributes:
        loss: Mean over its tokens of what they cost, in nats.
        said: Each of its tokens is the likeliest of all, so that it is what would be said.
        preferred: It is likelier than any other answer offered, where they first differ.
    """

    loss: float
    said: bool
    preferred: bool


@runtime_checkable
class Trainable(Protocol):
    """Something that learns from clips, named by their places in the examples.

    Attributes:
        tuned: The model with its addition.
        at_once: Most clips that are learnt from together; None: any number.
    """

    tuned: peft.PeftModel
    micro_batch_size: int | None

    def backward(self, places: Sequence[int], epoch: int) -> list[float]:
        """Each clip's mean loss over its target tokens; gradients of their sum are left behind."""

    def evaluate(self, places: Sequence[int]) -> list[ClipScore]:
        """How each clip's answer fares, nothing being taught."""


def score_clip(
    logits: torch.Tensor, targets: Sequence[int], others: Sequence[tuple[int, int]]
) -> ClipScore:
    """Judges one clip.

    Args:
        logits: Where the tokens of the right answer are predicted, `(n_targets, n_tokens)`.
        targets: These tokens.
        others: Place and token at which each other answer first differs.
    """
    right = torch.tensor(targets, device=logits.device)
    loss = torch.nn.functional.cross_entropy(logits.float(), right)
    likeliest = logits.argmax(dim=1) == right
    rivals = [logits[place, targets[place]] > logits[place, token] for place, token in others]
    return ClipScore(float(loss), bool(likeliest.all()), all(map(bool, rivals)))
