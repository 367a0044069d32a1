"""Dropout whose masks belong to an item and an epoch: neither to a process nor to an order.

So an item is learnt from in the same way whoever takes it, whatever came before, and whether its
states come from the model or from a file.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch


def generator_for(*keys: Any, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator fixed by its keys alone.

    >>> a, b = (torch.rand(1, generator=generator_for(1234, "item", 0)) for _ in range(2))
    >>> bool(a == b)
    True
    """
    digest = hashlib.sha256("\x1f".join(map(str, keys)).encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8], "big") >> 1)


class DropoutContext:
    """Whose states pass through the layers now; nobody's while nothing is being taught.

    Attributes:
        seed: Of all masks.
        epoch: Of the masks drawn now.
        items: Id of each item and the number of its states that enter an output layer, in order.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.epoch = 0
        self.items: tuple[tuple[str, int], ...] = ()

    @contextmanager
    def of(self, epoch: int, items: Sequence[tuple[str, int]]) -> Iterator[None]:
        """Inside, masks are those of these items."""
        self.epoch, self.items = epoch, tuple(items)
        try:
            yield
        finally:
            self.items = ()


class ItemDropout(torch.nn.Module):
    """Takes a share of the numbers away, and scales the others up.

    Args:
        share: What is taken away, above 0 and below 1.
        module: Name of the layer whose input this is.
        passing: Says whose states they are.
        on_cpu: Draw where the result does not depend on the kind of device. For the few states of
            an output layer; elsewhere drawing on the device is much faster.
    """

    def __init__(
        self, share: float, module: str, dropout_context: DropoutContext, *, on_cpu: bool
    ) -> None:
        super().__init__()
        self.share, self.module, self.dropout_context, self.on_cpu = (
            share,
            module,
            dropout_context,
            on_cpu,
        )

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """States of the same shape; as they are while nothing is being taught."""
        dropout_context = self.dropout_context
        if not dropout_context.items:
            return states
        if len(dropout_context.items) == 1:
            return states * self._mask(dropout_context.items[0][0], states.shape, states)
        masks = [
            self._mask(name, (n, states.shape[-1]), states) for name, n in dropout_context.items
        ]
        return states * torch.cat(masks)

    def _mask(self, item: str, shape: Sequence[int], like: torch.Tensor) -> torch.Tensor:
        device = torch.device("cpu") if self.on_cpu else like.device
        key = (self.dropout_context.seed, item, self.dropout_context.epoch, self.module)
        mask = torch.empty(tuple(shape), dtype=like.dtype, device=device)
        mask.bernoulli_(1 - self.share, generator=generator_for(*key, device=device))
        return mask.to(like.device).div_(1 - self.share)
