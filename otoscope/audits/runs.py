"""The run folder: what was planned, what was answered, and the one reader of both.

    RUN/run.json                what was asked of whom; everything that changes the result
    RUN/plan.parquet            a row a question, fixed before the first answer
    RUN/answers/rank-000.jsonl  append only, a line an attempt
    RUN/report/                 derived

An answer counts from the moment its line is whole. A process that is killed loses at most what
was in flight; nothing is ever counted twice, because a question's deciding attempt is chosen on
reading.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

from otoscope.models.base import Answer, Status

SCHEMA = 1
ASKED_AGAIN = frozenset({Status.TIMEOUT.value, Status.ERROR.value})
SYNC_S = 1.0

PLAN_SCHEMA = pa.schema(
    {
        "question_id": pa.string(),
        "id": pa.string(),
        "category": pa.string(),
        "attribute": pa.string(),
        "label": pa.string(),
        "labels": pa.list_(pa.string()),
        "parser": pa.string(),
        "prompt_name": pa.string(),
        "prompt": pa.string(),
        "audio_ids": pa.list_(pa.string()),
        "audio_sha256": pa.list_(pa.string()),
        "audio_s": pa.float64(),
        **dict.fromkeys(
            ("config", "profile", "direction", "curve", "tier", "source_id", "speaker_id"),
            pa.string(),
        ),
        "no_effect": pa.bool_(),
    }
)
"""Columns of a plan; those a dataset lacks are null."""

ANSWER_SCHEMA = pa.schema(
    {
        "attempt": pa.int64(),
        "text": pa.string(),
        "status": pa.string(),
        "audio_truncated": pa.bool_(),
        "text_truncated": pa.bool_(),
        "n_tokens_in": pa.int64(),
        "n_tokens_out": pa.int64(),
        "wall_s": pa.float64(),
        "logprobs": pa.string(),
        "cost": pa.float64(),
        "detail": pa.string(),
        "first_text": pa.string(),
        "time": pa.string(),
    }
)


class RunError(RuntimeError):
    """A run folder that cannot be used as asked; the message says why and what to do."""


def write_plan(run: Path, rows: list[dict[str, Any]], about: Mapping[str, Any]) -> None:
    """Writes plan and run.json, or checks that a folder's own are the same.

    Raises:
        RunError: The folder holds another run; what differs is named.
    """
    described = {"schema": SCHEMA, **about}
    if (run / "run.json").exists():
        before = read_about(run)
        different = sorted(
            key
            for key in before.keys() | described.keys()
            if key != "created" and before.get(key) != described.get(key)
        )
        if different:
            raise RunError(
                f"{run} holds another run: {', '.join(different)} differ; choose another --out"
            )
        return
    if run.exists() and any(run.iterdir()):
        names = {path.name for path in run.iterdir()}
        if not names <= {"plan.parquet", "answers", "run.json.partial", "plan.parquet.partial"}:
            raise RunError(f"{run} holds something that is not a run; choose another --out")
    (run / "answers").mkdir(parents=True, exist_ok=True)
    partial = run / "plan.parquet.partial"
    pq.write_table(pa.Table.from_pylist(rows, schema=PLAN_SCHEMA), partial)
    os.replace(partial, run / "plan.parquet")
    partial = run / "run.json.partial"
    partial.write_text(json.dumps(described, indent=1, sort_keys=True) + "\n")
    os.replace(partial, run / "run.json")


def read_about(run: Path) -> dict[str, Any]:
    """What run.json says.

    Raises:
        RunError: There is no run, or its schema is another.
    """
    try:
        about = json.loads((run / "run.json").read_text())
    except OSError as error:
        raise RunError(f"{run}: not a run ({error.strerror}: run.json)") from error
    except ValueError as error:
        raise RunError(f"{run}/run.json: not JSON ({error})") from error
    if about.get("schema") != SCHEMA:
        raise RunError(
            f"{run}: schema {about.get('schema')!r}, and this version reads {SCHEMA}; use the "
            "version of otoscope that wrote it"
        )
    return about


def read_plan(run: Path) -> list[dict[str, Any]]:
    """The planned questions, in order."""
    return pq.read_table(run / "plan.parquet").to_pylist()


def attempts(run: Path) -> Iterator[dict[str, Any]]:
    """Every whole line of every rank, in order within each; a torn last line is passed over."""
    for path in sorted((run / "answers").glob("rank-*.jsonl")):
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield json.loads(line)


def deciding(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """For each question the attempt that counts: the last final one, else the last of all."""
    chosen: dict[str, dict[str, Any]] = {}
    for line in lines:
        before = chosen.get(line["question_id"])
        if before is None or line["status"] not in ASKED_AGAIN or before["status"] in ASKED_AGAIN:
            chosen[line["question_id"]] = dict(line)
    return chosen


def load_run(run: Path | str) -> datasets.Dataset:
    """The plan with the deciding attempt of each question, as one dataset.

    Every planned question has a row; `status` is null where it was never answered.

    Raises:
        RunError: Not a run, or of another schema.
    """
    run = Path(run)
    read_about(run)
    plan = pq.read_table(run / "plan.parquet")
    answers = deciding(attempts(run))
    empty: dict[str, Any] = dict.fromkeys(ANSWER_SCHEMA.names)
    rows = [
        {name: answers.get(question_id, empty).get(name) for name in ANSWER_SCHEMA.names}
        for question_id in plan["question_id"].to_pylist()
    ]
    for row in rows:
        if row["logprobs"] is not None:
            row["logprobs"] = json.dumps(row["logprobs"])
    joined = plan
    answered = pa.Table.from_pylist(rows, schema=ANSWER_SCHEMA)
    for name in ANSWER_SCHEMA.names:
        joined = joined.append_column(ANSWER_SCHEMA.field(name), answered[name])
    return datasets.Dataset(joined.replace_schema_metadata(None))


class Journal:
    """Appends answers of one rank, each whole or not at all, and remembers what is in flight."""

    def __init__(self, run: Path, rank: int) -> None:
        """Opens the rank's file, and drops a torn last line.

        Raises:
            RunError: Another process is writing it.
        """
        self.path = run / "answers" / f"rank-{rank:03d}.jsonl"
        self.flying = run / "answers" / f"rank-{rank:03d}.flying"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file = self.path.open("ab+")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise RunError(f"{self.path}: another process is at work on this run") from None
        self._drop_torn_line()
        self.synced = time.monotonic()

    def _drop_torn_line(self) -> None:
        self.file.seek(0)
        whole = 0
        for line in self.file:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
        self.file.truncate(whole)
        self.file.seek(0, os.SEEK_END)

    def were_flying(self) -> set[str]:
        """Questions that had been sent when the last process stopped."""
        try:
            return set(json.loads(self.flying.read_text()))
        except (OSError, ValueError):
            return set()

    def send(self, question_ids: Iterable[str]) -> None:
        """Notes what is being asked now."""
        self.flying.write_text(json.dumps(list(question_ids)))

    def append(self, question_id: str, attempt: int, answer: Answer) -> None:
        """One line, handed to the system at once and to the disk within a second or so."""
        line = {"question_id": question_id, "attempt": attempt, **_plain(answer)}
        line["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self.file.flush()
        if time.monotonic() - self.synced > SYNC_S:
            os.fsync(self.file.fileno())
            self.synced = time.monotonic()

    def close(self) -> None:
        """Everything is on disk and nothing is in flight."""
        os.fsync(self.file.fileno())
        self.file.close()
        self.flying.unlink(missing_ok=True)


def _plain(answer: Answer) -> dict[str, Any]:
    plain = asdict(answer)
    plain["status"] = str(answer.status.value)
    return {f.name: plain[f.name] for f in fields(Answer)}


@contextmanager
def journal(run: Path, rank: int) -> Iterator[Journal]:
    """A rank's journal, closed in the end; what is in flight stays noted if things go wrong."""
    opened = Journal(run, rank)
    try:
        yield opened
    except BaseException:
        os.fsync(opened.file.fileno())
        opened.file.close()
        raise
    opened.close()
