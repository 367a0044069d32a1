"""The run folder: what was planned, what was answered, and the one reader of both.

    RUN/run.json                audit, model and everything else that changes the result
    RUN/plan.parquet            one row a question, fixed before the first answer
    RUN/answers/rank-000.jsonl  append only, one line an attempt
    RUN/answers/rank-000.sent   append only, one line whenever a model is given a question
    RUN/report*/                derived

An answer counts once its line is complete. A process that is killed loses at most what was in
flight. Nothing is counted twice, because a question's deciding attempt is chosen on reading.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

from otoscope.atomic import write_atomic
from otoscope.audits.plans import (
    ANSWER_SCHEMA,
    CORE,
    SCHEMA_1_COLUMNS,
    TAKEN,
    PlanColumns,
    plan_difference,
    plan_sha256,
)
from otoscope.claims import FolderKind, locked
from otoscope.errors import InputError, short
from otoscope.models.answer_fields import INT64, validate_fields
from otoscope.models.base import Status
from otoscope.models.retrying import NOT_FINAL

SCHEMA = 2
READABLE = (1, SCHEMA)
COUNTS = ("n_tokens_in", "n_tokens_out")


class RunError(InputError, RuntimeError):
    """A run folder that cannot be used; the message says why and what to do."""


RUNS = FolderKind(
    "run",
    "run.json",
    RunError,
    may_hold=("answers", "plan.parquet", ".plan.parquet.*", "*.partial"),
    ignored=frozenset(
        {"schema", "columns", "plan_sha256", "dataset", "hearing", "otoscope_version"}
    ),
)
"""Plans are compared by the columns that the stored run declares; they have the hash of clips."""


def write_plan(
    run: Path, rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any], columns: PlanColumns
) -> None:
    """Writes plan and run.json, or checks that the stored ones are the same.

    Several processes may do so at once; one writes and the others check.

    Raises:
        RunError: The folder holds another run; what differs is named.
    """
    if not (run / "run.json").exists():
        RUNS.validate_free(run)
    about = RUNS.plain(about)
    plan = pa.Table.from_pylist(list(rows), schema=pa.schema(columns))
    stored_rows = plan.to_pylist()  # as they are read again: 1 in a column of floats is 1.0
    (run / "answers").mkdir(parents=True, exist_ok=True)
    with locked(run / "answers" / "plan.lock"):
        if (run / "run.json").exists():
            _validate_same(run, about, stored_rows)
            return
        if any(path.stat().st_size for path in (run / "answers").glob("rank-*.jsonl")):
            raise RunError(f"{run} holds answers but no run.json; choose another --out")
        write_atomic(run / "plan.parquet", lambda path: pq.write_table(plan, path), sync=True)
        declared = {name: str(kind) for name, kind in columns.items()}
        digest = plan_sha256(stored_rows, sorted(columns))
        record = {"schema": SCHEMA, "columns": declared, **about, "plan_sha256": digest}
        RUNS.write(run, record)


def _validate_same(run: Path, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    stored = read_about(run)
    columns = sorted(stored.get("columns", ())) or SCHEMA_1_COLUMNS
    defaults = {"retry_unparsed": False}
    RUNS.validate_same(run, defaults | stored, defaults | dict(about))
    plan = _plan_table(run, stored)
    if stored["plan_sha256"] != plan_sha256(rows, columns):
        difference = plan_difference(plan.to_pylist(), rows, columns)
        raise RunError(f"{run} holds another run: {difference}; {RUNS.way_out}")


def read_about(run: Path) -> dict[str, Any]:
    """The content of run.json.

    Raises:
        RunError: There is no run, or its schema or a value cannot be read.
    """
    about = RUNS.read(run)
    if about is None:
        raise RunError(f"{run}: not a run (there is no run.json)")
    if about.get("schema") not in READABLE:
        raise RunError(
            f"{run}/run.json: schema {about.get('schema')!r}, and this version reads "
            f"{' and '.join(map(str, READABLE))}; use the version of otoscope that wrote it"
        )
    for name, kind in (("audit", str), ("plan_sha256", str), ("columns", dict)):
        if not isinstance(about.get(name, kind()), kind):
            raise RunError(f"{run}/run.json: {name} is {about[name]!r}, which no run has")
    return about


def read_plan(run: Path) -> list[dict[str, Any]]:
    """The planned questions, in order.

    Raises:
        RunError: It cannot be read, or is not the plan that run.json records.
    """
    rows: list[dict[str, Any]] = _plan_table(run, read_about(run)).to_pylist()
    return rows


def _plan_table(run: Path, about: Mapping[str, Any]) -> pa.Table:
    """The plan, compared with its hash in run.json, so that no other labels are scored."""
    path = run / "plan.parquet"
    try:
        plan = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise RunError(f"{path}: not readable ({error})") from error
    for name in (*CORE, *about.get("columns", ())):
        if name not in plan.column_names:
            raise RunError(f"{path}: not a plan (there is no column {name})")
    if taken := TAKEN.intersection(plan.column_names):
        raise RunError(f"{path}: not a plan (the name of its column {min(taken)!r} is taken)")
    columns = sorted(about.get("columns", ())) or SCHEMA_1_COLUMNS
    if "plan_sha256" not in about:
        raise RunError(f"{run}/run.json: there is no plan_sha256; {RUNS.way_out}")
    rows = plan.select([name for name in columns if name in plan.column_names]).to_pylist()
    if plan_sha256(rows, columns) != about["plan_sha256"]:
        raise RunError(
            f"{path}: not the plan that run.json records, whose plan_sha256 differs; put the "
            "original back, or run again with another --out"
        )
    return plan


def attempts(run: Path) -> Iterator[dict[str, Any]]:
    """Every complete line of every rank, in order within each; a torn last line is skipped.

    Raises:
        RunError: A line is damaged; it is named.
    """
    for path in sorted((run / "answers").glob("rank-*.jsonl")):
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    try:
                        attempt = dict(json.loads(line))
                        for name in COUNTS:
                            if type(attempt.get(name)) is int and abs(attempt[name]) >= INT64:
                                attempt[name] = None  # no count: the answer itself is as good
                        _validate_attempt(attempt)
                    except (ValueError, TypeError, RecursionError) as error:
                        raise RunError(
                            f"{path}, line {number}: damaged ({short(error)}); remove the line and "
                            "run again: its question is sent again"
                        ) from error
                    yield attempt


def _validate_attempt(attempt: Mapping[str, Any]) -> None:
    """Raises ValueError or TypeError for what is no line of answers."""
    if missing := [name for name in ("question_id", "attempt", "status") if name not in attempt]:
        raise ValueError(f"there is no {missing[0]}")
    Status(attempt["status"])
    number = attempt["attempt"]
    if not isinstance(attempt["question_id"], str) or type(number) is not int:
        raise TypeError("question_id is a str, attempt a whole number")
    if abs(number) >= INT64:
        raise ValueError("attempt is a number that no run has")
    if not isinstance(attempt.get("time"), str | None):
        raise TypeError("time is a str")
    validate_fields({name: value for name, value in attempt.items() if value is not None})
    for value in attempt.values():
        if isinstance(value, str):
            value.encode()  # half a surrogate pair cannot be stored


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
    return line["status"] not in NOT_FINAL, line["attempt"]


def load_run(run: Path | str) -> datasets.Dataset:
    """The plan with the deciding attempt of each question, as one dataset.

    Every planned question has a row; `status` is null where there is no answer.

    Raises:
        RunError: Not a run, or of another schema, or its plan is not the one that it records.
    """
    run = Path(run)
    plan = _plan_table(run, read_about(run))
    answers = deciding(attempts(run))
    for answer in answers.values():
        answer["cached"] = bool(answer.get("cached"))
        if answer.get("logprobs") is not None:
            answer["logprobs"] = json.dumps(answer["logprobs"])
    rows = [answers.get(question_id, {}) for question_id in plan["question_id"].to_pylist()]
    answered = pa.Table.from_pylist(rows, schema=ANSWER_SCHEMA)
    for field, column in zip(ANSWER_SCHEMA, answered.columns, strict=True):
        plan = plan.append_column(field, column)
    return datasets.Dataset(plan.replace_schema_metadata(None))
