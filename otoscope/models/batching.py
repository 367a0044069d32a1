"""Batch-size back-off: a batch that does not fit into memory is tried again in halves.

Detection and release are accelerate's. Its `find_executable_batch_size` collects garbage on every
call (0.2 s beside a loaded model), so the loop around batches is ours.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from otoscope.models.base import Request

LOG = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")


@dataclass
class BatchSize:
    """Questions in one batch, halved when memory runs out; models that share weights share it."""

    size: int
    reduced: bool = False

    def halve(self, tried: int) -> None:
        """Half of what was tried from now on; logged the first time."""
        self.size = max(1, tried // 2)
        if not self.reduced:
            LOG.warning(
                "out of memory with %d questions at once; going on with %d, and with half of that "
                "again wherever it must be",
                tried,
                self.size,
            )
        self.reduced = True


def in_batches(
    limit: BatchSize, items: Sequence[T], work: Callable[[Sequence[T]], R], *, alone: bool = False
) -> Iterator[tuple[Sequence[T], R | None]]:
    """Applies a function to items in batches that fit into memory.

    Args:
        limit: The size of a batch; it shrinks when memory runs out.
        items: In order.
        work: Called with a batch.
        alone: Batches of one, whatever the limit.

    Yields:
        A batch and its result, or None where one item alone does not fit.
    """
    done = 0
    while done < len(items):
        batch = items[done : done + (1 if alone else limit.size)]
        result = _unless_out_of_memory(work, batch)
        if result is None and len(batch) > 1:
            limit.halve(len(batch))
            continue
        yield batch, result
        done += len(batch)


def with_and_without_clips(questions: Sequence[Request]) -> tuple[list[int], list[int]]:
    """Numbers of the questions with clips and of those without: they share no batch."""
    numbers: tuple[list[int], list[int]] = ([], [])
    for n, request in enumerate(questions):
        numbers[0 if request.audio_inputs else 1].append(n)
    return numbers


def _unless_out_of_memory(work: Callable[[Sequence[T]], R], batch: Sequence[T]) -> R | None:
    try:
        return work(batch)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    free_memory()
    return None


def free_memory() -> None:
    """Releases what a failed batch allocated; not within `except`, whose traceback holds it."""
    from accelerate.utils.memory import release_memory

    release_memory()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out, on whatever device."""
    from accelerate.utils.memory import should_reduce_batch_size

    if isinstance(error, MemoryError) or "CUDA error: out of memory" in str(error):
        return True  # the driver's own message, which accelerate does not know
    return isinstance(error, Exception) and should_reduce_batch_size(error)
