"""Dropout of adapter inputs. Reproducible masks depend on seed, item, epoch and layer alone.

So an item has the same mask in any process and any order, and whether its hidden states are
computed or cached.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch


def generator_for(*keys: Any, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator that depends on its keys alone.

    >>> a, b = (torch.rand(1, generator=generator_for(1234, "item", 0)) for _ in range(2))
    >>> bool(a == b)
    True
    """
    digest = hashlib.sha256("\x1f".join(map(str, keys)).encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8], "big") >> 1)


class DropoutContext:
    """The items of the current forward pass; none outside of training, when nothing is dropped.

    Attributes:
        seed: Of all masks.
        reproducible: Whether masks belong to items; otherwise they come from torch's own generator.
        epoch: Of the current masks.
        items: Id of each item and the number of its states that enter an output layer, in order.
    """

    def __init__(self, seed: int, *, reproducible: bool = True) -> None:
        self.seed, self.reproducible = seed, reproducible
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
    """Sets a share of the numbers to zero, and scales the others up.

    Args:
        share: Above 0 and below 1.
        module: Name of the layer whose input this is.
        context: The items of the forward pass.
        on_cpu: Draw where the result does not depend on the kind of device. For the few states of
            an output layer; elsewhere drawing on the device is much faster.
    """

    def __init__(self, share: float, module: str, context: DropoutContext, *, on_cpu: bool) -> None:
        super().__init__()
        self.share, self.module, self.context, self.on_cpu = share, module, context, on_cpu

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """States of the same shape; unchanged outside of training."""
        items = self.context.items
        if not items:
            return states
        if not self.context.reproducible:
            return torch.nn.functional.dropout(states, self.share)
        if len(items) == 1:
            return states * self._mask(items[0][0], states.shape, states)
        masks = [self._mask(name, (n, states.shape[-1]), states) for name, n in items]
        return states * torch.cat(masks)

    def _mask(self, item: str, shape: Sequence[int], like: torch.Tensor) -> torch.Tensor:
        device = torch.device("cpu") if self.on_cpu else like.device
        key = (self.context.seed, item, self.context.epoch, self.module)
        mask = torch.empty(tuple(shape), dtype=like.dtype, device=device)
        mask.bernoulli_(1 - self.share, generator=generator_for(*key, device=device))
        return mask.to(like.device).div_(1 - self.share)
