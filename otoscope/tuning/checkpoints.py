"""Where training stands, on disk: whole or not there, and nothing else than it was begun with.

ADAPTER/
  .training/begun.json                 what is trained, on what, and how
  .training/step-00000200-SHA256.pt    weights, moments, random states and history after that step,
                                       named by its content too
"""

import hashlib
import os
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from otoscope.claims import FolderKind, locked
from otoscope.tuning.config import TuningError

MAX_CHECKPOINTS = 2
"""So many checkpoints stay: where the last one is spoilt, the one before goes on."""

ADAPTERS = FolderKind(
    "adapter", ".training/begun.json", TuningError, (".training",), frozenset({"dataset"})
)
"""Where the dataset lies changes no weight; the hash of its clips is compared."""


class Checkpoints:
    """The checkpoints of one adapter.

    Args:
        folder: Of the adapter.
        say: Called with a note, such as that a spoilt checkpoint was passed over.
    """

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self.folder, self.say = folder / ".training", say

    def begin(self, begun: Mapping[str, Any]) -> None:
        """Takes the folder for what is to be trained.

        Raises:
            TuningError: Another adapter was begun there; what differs is named.
        """
        ADAPTERS.claim(self.folder.parent, begun)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """While no other run trains the same adapter.

        Raises:
            TuningError: One does.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        busy = TuningError(f"{self.folder.parent} is being trained by another run")
        with locked(self.folder, busy):
            yield

    def save(self, state: Mapping[str, Any]) -> None:
        """Keeps a state, and no more than the `MAX_CHECKPOINTS` latest."""
        name = f"step-{state['step']:08d}"
        partial = self.folder / f"{name}.partial"
        with partial.open("wb") as file:
            torch.save(dict(state), file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.folder / f"{name}-{_sha256(partial)}.pt")
        for old in self._paths()[MAX_CHECKPOINTS:]:
            old.unlink()

    def latest(self) -> dict[str, Any] | None:
        """The latest state that is whole; None where there is none."""
        for left in self.folder.glob("*.partial"):
            self.say(f"{left.name} was being written when training ended; it is left out")
            left.unlink(missing_ok=True)
        for path in self._paths():
            if path.stem.endswith(_sha256(path)):
                return dict(torch.load(path, map_location="cpu", weights_only=True))
            self.say(f"{path.name} is spoilt and is left out")
        return None

    def clear(self) -> None:
        """Takes all of it away once the adapter is there."""
        shutil.rmtree(self.folder)

    def _paths(self) -> list[Path]:
        """The newest first."""
        return sorted(self.folder.glob("step-*.pt"), reverse=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def random_states() -> dict[str, Any]:
    """Those of Python, NumPy and torch, as plain data."""
    kind, keys, *rest = np.random.get_state(legacy=True)
    version, numbers, gauss = random.getstate()
    return {
        "python": [version, list(numbers), gauss],
        "numpy": [str(kind), torch.from_numpy(np.asarray(keys, np.int64)), *rest],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def restore_random_states(states: Mapping[str, Any]) -> None:
    """Puts them back; those of GPUs where there are as many."""
    version, numbers, gauss = states["python"]
    random.setstate((version, tuple(numbers), gauss))
    kind, keys, *rest = states["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(states["torch"])
    if torch.cuda.is_available() and len(states["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(states["cuda"])
