"""When memory runs out: noticed, made free again, and answered with smaller batches."""

import gc
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

LOG = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")
NO_ROOM = re.compile(r"out of memory|can't allocate memory|not enough memory", re.IGNORECASE)


@dataclass
class Room:
    """How many questions fit into memory at once; models that share weights share it."""

    batch_size: int
    told: bool = False

    def halve(self, tried: int) -> None:
        """Half of what was tried from now on; said the first time."""
        self.batch_size = max(1, tried // 2)
        if not self.told:
            LOG.warning(
                "out of memory with %d questions at once; going on with %d, and with half of that "
                "again wherever it must be",
                tried,
                self.batch_size,
            )
        self.told = True


def in_room(
    room: Room, things: Sequence[T], work: Callable[[Sequence[T]], R], *, alone: bool = False
) -> Iterator[tuple[Sequence[T], R | None]]:
    """Works through things in batches that fit.

    Args:
        room: How many at once; it shrinks when memory runs out.
        things: In order.
        work: Called with a batch.
        alone: One at a time, whatever the room.

    Yields:
        A batch and what came of it, or None when one thing alone does not fit.
    """
    done = 0
    while done < len(things):
        batch = things[done : done + (1 if alone else room.batch_size)]
        made = _if_it_fits(work, batch)
        if made is None and len(batch) > 1:
            room.halve(len(batch))
            continue
        yield batch, made
        done += len(batch)


def _if_it_fits(work: Callable[[Sequence[T]], R], batch: Sequence[T]) -> R | None:
    """None when memory ran out; by then, what was allocated is free again."""
    try:
        return work(batch)
    except (RuntimeError, MemoryError) as error:
        if not ran_out(error):
            raise
    free()
    return None


def ran_out(error: BaseException) -> bool:
    """Whether an error says that there was no memory left, on whatever device."""
    return isinstance(error, MemoryError) or NO_ROOM.search(str(error)) is not None


def free() -> None:
    """Gives back what a failed batch left behind. Call it outside the `except` that caught it."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
