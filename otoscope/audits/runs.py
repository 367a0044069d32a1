"""The run folder: what was planned, what was answered, and the one reader of both.

    RUN/run.json                what was asked of whom; everything that changes the result
    RUN/plan.parquet            a row a question, fixed before the first answer
    RUN/answers/rank-000.jsonl  append only, a line an attempt
    RUN/answers/rank-000.sent   append only, a line whenever a model is given a question
    RUN/report/                 derived

An answer counts from the moment its line is whole. A process that is killed loses at most what
was in flight; nothing is ever counted twice, because a question's deciding attempt is chosen on
reading.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

from otoscope.errors import InputError
from otoscope.models.base import Status

SCHEMA = 1
ASKED_AGAIN = frozenset({Status.TIMEOUT.value, Status.ERROR.value})
NOT_COMPARED = {"dataset", "hearing"}
"""What run.json says that changes no answer; the plan has the hash of every clip."""

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
        "cached": pa.bool_(),
        "time": pa.string(),
    }
)


class RunError(InputError, RuntimeError):
    """A run folder that cannot be used as asked; the message says why and what to do."""


def write_plan(run: Path, rows: list[dict[str, Any]], about: Mapping[str, Any]) -> None:
    """Writes plan and run.json, or checks that a folder's own are the same.

    Several processes may do so at once; one writes and the others check.

    Raises:
        RunError: The folder holds another run; what differs is named.
    """
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps([row.get(name) for name in PLAN_SCHEMA.names]).encode())
    described = {"schema": SCHEMA, **about, "plan_sha256": digest.hexdigest()}
    try:
        text = json.dumps(described, indent=1, sort_keys=True) + "\n"
    except TypeError as error:
        raise RunError(
            f"what the model says of itself cannot be put in run.json: {error}"
        ) from None
    _refuse_foreign(run)
    (run / "answers").mkdir(parents=True, exist_ok=True)
    with (run / "answers" / "plan.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (run / "run.json").exists():
            _refuse_another(run, json.loads(text), rows)
            return
        if any(path.stat().st_size for path in (run / "answers").glob("rank-*.jsonl")):
            raise RunError(f"{run} holds answers but no run.json; choose another --out")
        plan = pa.Table.from_pylist(rows, schema=PLAN_SCHEMA)
        _put_whole(run / "plan.parquet", lambda partial: pq.write_table(plan, partial))
        _put_whole(run / "run.json", lambda partial: partial.write_text(text))


def _refuse_foreign(run: Path) -> None:
    """A folder that is neither empty nor a run, or begun as one, is left as it is."""
    if not run.is_dir() or (run / "run.json").exists():
        return
    begun = {"plan.parquet", "answers", "run.json.partial", "plan.parquet.partial"}
    if not {path.name for path in run.iterdir()} <= begun:
        raise RunError(f"{run} holds something that is not a run; choose another --out")


def _refuse_another(run: Path, described: Mapping[str, Any], rows: list[dict[str, Any]]) -> None:
    before = read_about(run)
    different = sorted(
        key
        for key in before.keys() | described.keys()
        if key not in NOT_COMPARED and _said(before.get(key)) != _said(described.get(key))
    )
    if different:
        told = [
            _plan_difference(read_plan(run), rows) if key == "plan_sha256" else key
            for key in different
        ]
        raise RunError(
            f"{run} holds another run, not equal in {', '.join(told)}; choose another --out"
        )


def _said(value: Any) -> str:
    return json.dumps(value, sort_keys=True)  # NaN equals NaN


def _plan_difference(before: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
    old, new = ({row["question_id"]: row for row in plan} for plan in (before, rows))
    for question_id in [known for known in old if known in new]:
        columns = [n for n in PLAN_SCHEMA.names if old[question_id][n] != new[question_id].get(n)]
        if columns:
            return f"the plan ({question_id!r} has another {', '.join(columns)})"
    gone, come = len(old.keys() - new.keys()), len(new.keys() - old.keys())
    if not gone and not come:
        return "the plan (its questions stand in another order)"
    return f"the plan ({gone} questions of it are gone, {come} are new)"


def _put_whole(path: Path, write: Callable[[Path], object]) -> None:
    """A file that is there whole or not at all, also after the power is cut."""
    partial = path.with_name(path.name + ".partial")
    write(partial)
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(partial, path)


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
    schema = about.get("schema") if isinstance(about, dict) else None
    if schema != SCHEMA:
        raise RunError(
            f"{run}/run.json: schema {schema!r}, and this version reads {SCHEMA}; use the "
            "version of otoscope that wrote it"
        )
    return dict(about)


def read_plan(run: Path) -> list[dict[str, Any]]:
    """The planned questions, in order."""
    rows: list[dict[str, Any]] = _plan_table(run).to_pylist()
    return rows


def _plan_table(run: Path) -> pa.Table:
    try:
        return pq.read_table(run / "plan.parquet")
    except (OSError, pa.ArrowInvalid) as error:
        raise RunError(f"{run}/plan.parquet: not readable ({error})") from error


def attempts(run: Path) -> Iterator[dict[str, Any]]:
    """Every whole line of every rank, in order within each; a torn last line is passed over.

    Raises:
        RunError: A line is damaged; it is named.
    """
    for path in sorted((run / "answers").glob("rank-*.jsonl")):
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    try:
                        yield json.loads(line)
                    except ValueError as error:
                        raise RunError(
                            f"{path}, line {number}: damaged ({error}); remove the line and run "
                            "again: its question is asked again"
                        ) from error


def deciding(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """For each question the attempt that counts: the last final one, else the last of all.

    Attempts are numbered over all ranks, so it does not matter which wrote which.
    """
    chosen: dict[str, Mapping[str, Any]] = {}
    for line in lines:
        before = chosen.get(line["question_id"])
        if before is None or _weight(line) >= _weight(before):
            chosen[line["question_id"]] = line
    return {question_id: dict(line) for question_id, line in chosen.items()}


def _weight(line: Mapping[str, Any]) -> tuple[bool, int]:
    return line["status"] not in ASKED_AGAIN, line["attempt"]


def load_run(run: Path | str) -> datasets.Dataset:
    """The plan with the deciding attempt of each question, as one dataset.

    Every planned question has a row; `status` is null where it was never answered.

    Raises:
        RunError: Not a run, or of another schema.
    """
    run = Path(run)
    read_about(run)
    plan = _plan_table(run)
    answers = deciding(attempts(run))
    empty: dict[str, Any] = dict.fromkeys(ANSWER_SCHEMA.names)
    rows = [
        {name: answers.get(question_id, empty).get(name) for name in ANSWER_SCHEMA.names}
        for question_id in plan["question_id"].to_pylist()
    ]
    for row in rows:
        if row["logprobs"] is not None:
            row["logprobs"] = json.dumps(row["logprobs"])
        row["cached"] = None if row["status"] is None else bool(row["cached"])
    joined = plan
    answered = pa.Table.from_pylist(rows, schema=ANSWER_SCHEMA)
    for name in ANSWER_SCHEMA.names:
        joined = joined.append_column(ANSWER_SCHEMA.field(name), answered[name])
    return datasets.Dataset(joined.replace_schema_metadata(None))
