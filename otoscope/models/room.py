"""When memory runs out: noticed, made free again, and answered with smaller batches."""

import gc
import logging
import re
from dataclasses import dataclass

LOG = logging.getLogger(__name__)
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


def ran_out(error: BaseException) -> bool:
    """Whether an error says that there was no memory left, on whatever device."""
    return isinstance(error, MemoryError) or NO_ROOM.search(str(error)) is not None


def free() -> None:
    """Gives back what a failed batch left behind. Call it outside the `except` that caught it."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
