"""Runs of the audit `labels` as tables of a call-value audit.

A run's answers become the predictions of one generative action, a prompt variant each a
`prompt_id`; labels are parsed anew from the raw answers. Its plan becomes a table of examples, so
that two runs, or a run and a table, that disagree about a label are found.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy.special import logsumexp

from otoscope.audits.call_value.schema import GENERATIVE, CallValueError
from otoscope.audits.call_value.tables import GivenTable
from otoscope.audits.runs import load_run, read_about
from otoscope.errors import first_names
from otoscope.models.base import Status
from otoscope.responses import open_parser

AUDIT = "labels"
REMOTE = ("openai",)
"""Kinds of model to which audio is sent; others are taken to run here."""

SIMULATED = "simulated"


def tables_of_runs(runs: Sequence[str]) -> list[GivenTable]:
    """Predictions and examples of each run.

    Args:
        runs: Run folders, each as `FOLDER` or `ACTION=FOLDER`; the action is named after the model
            by default.

    Raises:
        CallValueError: A run of another audit, or one that is not finished.
        RunError: A folder is no run.
    """
    return [table for spec in runs for table in _tables(*_parts(spec))]


def _parts(spec: str) -> tuple[str | None, Path]:
    name, equals, folder = spec.partition("=")
    if equals and not Path(spec).exists():
        return name, Path(folder)
    return None, Path(spec)


def _tables(action: str | None, run: Path) -> Iterator[GivenTable]:
    about = read_about(run)
    if about.get("audit") != AUDIT:
        raise CallValueError(f"{run} is a run of {about.get('audit')!r}, not of {AUDIT!r}")
    rows = list(load_run(run))
    if missing := [row["question_id"] for row in rows if row["status"] is None]:
        raise CallValueError(
            f"{run} is not finished: {len(missing)} of {len(rows)} questions have no answer, "
            f"{first_names(missing)}; run the same `otoscope run labels` again"
        )
    kind = str((about.get("model_description") or {}).get("kind"))
    name = action or action_of(str(about.get("model") or kind))
    predictions = [_prediction(name, kind, row, about) for row in rows]
    first = {row["id"]: row for row in reversed(rows)}
    yield GivenTable(f"{run} (answers)", predictions)
    yield GivenTable(f"{run} (plan)", [_example(row) for row in first.values()])


def action_of(spec: str) -> str:
    """The name of an action, from how a model was named.

    >>> action_of("transformers:Qwen/Qwen2-Audio-7B-Instruct@1a2b"), action_of("simulated:0.85,7")
    ('Qwen2-Audio-7B-Instruct', 'simulated')
    """
    kind, _, rest = spec.partition(":")
    if not rest or kind == SIMULATED:
        return kind
    return rest.partition("@")[0].rstrip("/").rpartition("/")[2]


def _prediction(
    action: str, kind: str, row: Mapping[str, Any], about: Mapping[str, Any]
) -> dict[str, Any]:
    parsed = open_parser(row["parser"])(row["text"]) if row["status"] == Status.OK else None
    tokens = [row[name] for name in ("n_tokens_in", "n_tokens_out")]
    remote, simulated = kind in REMOTE, kind == SIMULATED
    return {
        "example_id": row["id"],
        "action": action,
        "kind": GENERATIVE,
        "label": parsed.label if parsed else None,
        "parse_status": parsed.rule if parsed else row["status"],
        "logprob": _logprob(row["logprobs"], parsed.label) if parsed else None,
        "prompt_id": row["prompt_name"],
        "parser": row["parser"],
        "wall_s": None if simulated else row["wall_s"],
        "tokens": None if None in tokens else sum(tokens),
        "audio_s": row["audio_s"] if remote else 0.0,
        "price": row["cost"] if remote or simulated else 0.0,
        "revision": str(about.get("model") or ""),
        "simulated": 1 if simulated else None,
    }


def _logprob(stored: str | None, label: str | None) -> float | None:
    """Log-probability of a label among those that have one; None where it has none."""
    scores = json.loads(stored) if stored else {}
    if label not in scores:
        return None
    return float(scores[label] - logsumexp(list(scores.values())))


def _example(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "example_id": row["id"],
        "task": row["task"],
        "split": row["split"],
        "label": row["label"],
        "cluster_id": row["cluster_id"],
        "speaker": row["speaker_id"],
        "sha256": row["audio_sha256"][0] if row["audio_sha256"] else None,
    }
