"""What a process appends during a run: the calls it makes, and every answer.

A line counts once its line break is written. `rank-000.sent` has a line for each question that was
handed to the model; one without a line in `rank-000.jsonl` under the same number was in flight when
a process stopped.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from otoscope.atomic import naming_disk_errors
from otoscope.audits.runs import RunError
from otoscope.claims import agreed, locked
from otoscope.errors import short
from otoscope.models.base import Answer

SYNC_S = 1.0


class Journal:
    """Appends the calls and answers of one rank to its files; see `open_journal`."""

    def __init__(self, answers: BinaryIO, sent: BinaryIO) -> None:
        self.answers, self.sent = answers, sent
        self.synced = time.monotonic()

    def send(self, question_id: str, attempt: int) -> None:
        """Records that a model is about to be given a question."""
        _append(self.sent, [question_id, attempt])

    def append(
        self, question_id: str, attempt: int, answer: Answer, *, cached: bool = False
    ) -> None:
        """Writes one answer; it is flushed to the disk within a second or so."""
        line = {"question_id": question_id, "attempt": attempt, **vars(answer), "cached": cached}
        line["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        _append(self.answers, line)
        if time.monotonic() - self.synced > SYNC_S:
            os.fsync(self.answers.fileno())
            self.synced = time.monotonic()


def _append(file: BinaryIO, content: Any) -> None:
    text = json.dumps(content, ensure_ascii=False, default=as_plain)
    file.write(text.encode("utf-8", "replace") + b"\n")  # half a surrogate pair becomes "?"
    file.flush()


def as_plain(value: Any) -> Any:
    """Scalars of NumPy and torch, mappings that are no dict."""
    return value.item() if hasattr(value, "item") else dict(value)


@contextmanager
def open_journal(run: Path, rank: int = 0, world: int = 1) -> Iterator[Journal]:
    """A rank's journal, without torn last lines; flushed to the disk in the end.

    Raises:
        RunError: Another process writes it, or processes of another number are at work.
    """
    folder = run / "answers"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rank-{rank:03d}.jsonl"
    busy = RunError(f"{path}: another process is at work on this run")
    # processes at work at once divide the plan alike, or they would send requests twice
    with agreed(folder / "world.lock", str(world)) as others:
        if others != str(world):
            raise RunError(
                f"{run}: processes are at work that are {others} in all, and this one is of "
                f"{world}; wait for them, or stop them"
            )
        with (
            naming_disk_errors(path),
            locked(path, busy),
            path.open("ab+") as answers,
            path.with_suffix(".sent").open("ab+") as sent,
        ):
            for file in (answers, sent):
                file.seek(0)
                file.truncate(sum(len(line) for line in file if line.endswith(b"\n")))
                file.seek(0, os.SEEK_END)
            try:
                yield Journal(answers, sent)
            finally:
                os.fsync(answers.fileno())


def sent_calls(run: Path) -> Iterator[tuple[str, int]]:
    """Question and number of every call that any rank made.

    Raises:
        RunError: A line is damaged; it is named.
    """
    for path in sorted((run / "answers").glob("rank-*.sent")):
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    try:
                        question_id, attempt = json.loads(line)
                        call = str(question_id), int(attempt)
                    except (ValueError, TypeError, RecursionError) as error:
                        raise RunError(
                            f"{path}, line {number}: damaged ({short(error)}); remove the line and "
                            "run again"
                        ) from error
                    yield call


def lost_calls(
    calls: Iterable[tuple[str, int]], lines: Iterable[dict[str, Any]]
) -> set[tuple[str, int]]:
    """Calls whose answer was never written."""
    return set(calls) - {(line["question_id"], line["attempt"]) for line in lines}
