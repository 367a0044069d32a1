"""What the training loop needs of a model, and how the answer to a clip is scored."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import peft
import torch


class ClipScore(NamedTuple):
    """Scores of a clip's right answer.

    Attributes:
        loss: Mean over its tokens, in nats.
        generated: Each of its tokens is the most likely, so that greedy decoding generates it.
        preferred: It is more likely than any other answer, where they first differ.
    """

    loss: float
    generated: bool
    preferred: bool


@runtime_checkable
class Trainable(Protocol):
    """A model with an adapter. Clips are given by their indices in the examples.

    Attributes:
        tuned: The model with its adapter.
        max_clips: Most clips of one call of `backward`; None for any number.
    """

    tuned: peft.PeftModel
    max_clips: int | None

    def backward(self, indices: Sequence[int], epoch: int) -> list[float]:
        """Each clip's mean loss over its target tokens; adds the gradients of their sum."""

    def evaluate(self, indices: Sequence[int]) -> list[ClipScore]:
        """Scores of each clip, outside of training."""


def score_clip(
    logits: torch.Tensor, targets: Sequence[int], alternatives: Sequence[tuple[int, int]]
) -> ClipScore:
    """Scores one clip.

    Args:
        logits: For the positions of the right answer, `(n_targets, n_tokens)`.
        targets: Its tokens.
        alternatives: Position and token at which each other answer first differs.
    """
    right = torch.tensor(targets, device=logits.device)
    loss = torch.nn.functional.cross_entropy(logits.float(), right)
    most_likely = logits.argmax(dim=1) == right
    wins = [logits[at, targets[at]] > logits[at, token] for at, token in alternatives]
    return ClipScore(float(loss), bool(most_likely.all()), all(map(bool, wins)))
