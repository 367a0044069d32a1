"""Checkpoints of a training: written atomically, verified by content, resumed under one config.

ADAPTER/
  .training/begun.json                 model, data and config of the training
  .training/step-00000200-SHA256.pt    weights, optimizer and history after that step; the
                                       hash is of its content
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from otoscope.atomic import file_sha256, naming_disk_errors
from otoscope.claims import FolderKind, locked
from otoscope.tuning.config import TuningError

MAX_CHECKPOINTS = 2
"""Where the latest is corrupt, training resumes from the one before."""

ADAPTERS = FolderKind(
    "adapter", ".training/begun.json", TuningError, (".training",), frozenset({"dataset"})
)
"""Where the dataset lies changes no weight; the hash of its clips is compared."""


class Checkpoints:
    """The checkpoints of one adapter.

    Args:
        folder: Of the adapter.
        notify: Called with a message, such as that a corrupt checkpoint was skipped.
    """

    def __init__(self, folder: Path, notify: Callable[[str], None]) -> None:
        self.folder, self.notify = folder / ".training", notify

    def begin(self, begun: Mapping[str, Any]) -> None:
        """Claims the folder for a training.

        Raises:
            TuningError: It holds another training; what differs is named.
        """
        ADAPTERS.claim(self.folder.parent, begun)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Holds the folder among processes.

        Raises:
            TuningError: Another one trains the same adapter.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        busy = TuningError(f"{self.folder.parent} is being trained by another run")
        with locked(self.folder, busy):
            yield

    def save(self, state: Mapping[str, Any]) -> None:
        """Writes a state, and deletes all but the `MAX_CHECKPOINTS` latest."""
        name = f"step-{state['step']:08d}"
        partial = self.folder / f"{name}.partial"
        with naming_disk_errors(partial), partial.open("wb") as file:
            torch.save(dict(state), file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.folder / f"{name}-{file_sha256(partial)}.pt")
        for old in self._paths()[MAX_CHECKPOINTS:]:
            old.unlink()

    def latest(self) -> dict[str, Any] | None:
        """The latest state that is not corrupt; None where there is none."""
        for partial in self.folder.glob("*.partial"):
            self.notify(f"{partial.name} is incomplete and is skipped")
            partial.unlink(missing_ok=True)
        for path in self._paths():
            if path.stem.endswith(file_sha256(path)):
                return dict(torch.load(path, map_location="cpu", weights_only=True))
            self.notify(f"{path.name} is corrupt and is skipped")
        return None

    def clear(self) -> None:
        """Deletes them, once the adapter is written."""
        shutil.rmtree(self.folder)

    def _paths(self) -> list[Path]:
        """The newest first."""
        return sorted(self.folder.glob("step-*.pt"), reverse=True)
