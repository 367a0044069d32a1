"""Tables of transcripts: what was recognised, its cost, and the evidence for an audit of calls."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from otoscope.atomic import write_atomic
from otoscope.audits.call_value.evidence import example_rows, write_evidence
from otoscope.audits.call_value.folds import label_folds
from otoscope.audits.call_value.schema import TRANSCRIPT, CallValueError
from otoscope.audits.labelled import DEVELOPMENT, LabelledData, LabelledRow
from otoscope.audits.line_log import read_lines
from otoscope.speech.recognition import Transcript
from otoscope.speech.transcript_labels import Labeller, TranscriptLabel

FOLDS, SEED = 5, 0


def folds_of(data: LabelledData, rows: Sequence[LabelledRow]) -> list[int]:
    """The fold of each development row: whole clusters, labels in equal shares."""
    clusters = np.array([row.cluster_id for row in rows])
    gold = np.array([data.labels.index(row.label) for row in rows])
    n_folds = max(2, min(FOLDS, len(set(clusters.tolist()))))
    return [int(fold) for fold in label_folds(clusters, gold, n_folds, SEED)]


def write_tables(
    data: LabelledData,
    device: str,
    labellers: Mapping[str, Labeller],
    made: Mapping[str, Transcript],
    first: Mapping[str, str],
    labels: Mapping[str, Mapping[str, TranscriptLabel]],
    out: Path,
) -> None:
    """Writes `transcripts.parquet`, `components.parquet`, and evidence where there are labels.

    Args:
        device: Where recognition ran.
        first: The row whose transcript each row has.
        labels: By action, then by id.
    """
    lines = read_lines(out / "transcripts.jsonl", CallValueError)
    batches = {row.id: lines[first[row.id]]["batch"] for row in data.rows}
    transcripts, components = [], []
    for row in data.rows:
        own = made[row.id]
        plain = own.as_plain() | {"flags": ", ".join(own.flags), "n_words": own.n_words}
        transcripts.append({"example_id": row.id, "split": row.split, **plain})
        components.append(
            {
                "example_id": row.id, "component": "asr", "wall_s": own.wall_s,
                "device": device, "batch": batches[row.id], "tokens_in": None,
                "tokens_out": own.n_tokens, "audio_s": 0.0, "price": 0.0,
            }
        )  # fmt: skip
        for action, found in labels.items():
            one = found[row.id]
            components.append(
                {
                    "example_id": row.id, "component": f"text:{action}", "wall_s": one.wall_s,
                    "device": getattr(labellers[action], "device", "cpu"),
                    "batch": labellers[action].batch_size, "tokens_in": one.n_tokens_in,
                    "tokens_out": one.n_tokens_out, "audio_s": 0.0, "price": one.price,
                }
            )  # fmt: skip
    for name, rows in (("transcripts", transcripts), ("components", components)):
        frame: Any = pd.DataFrame(rows)
        write_atomic(out / f"{name}.parquet", partial(frame.to_parquet, index=False))
    if labels:
        _write_evidence(data, labellers, made, labels, out)


def _write_evidence(
    data: LabelledData,
    labellers: Mapping[str, Labeller],
    made: Mapping[str, Transcript],
    labels: Mapping[str, Mapping[str, TranscriptLabel]],
    out: Path,
) -> None:
    first = next(iter(labels.values()))
    examples = [
        row
        | {
            "asr_text": made[row["example_id"]].text,
            "asr_len": made[row["example_id"]].n_words,
            "asr_unc": first[row["example_id"]].uncertainty,
            "no_speech": made[row["example_id"]].no_speech_prob,
        }
        for row in example_rows(data)
    ]
    development = [row for row in data.rows if row.split == DEVELOPMENT]
    folds = dict(zip([row.id for row in development], folds_of(data, development), strict=True))
    predictions = []
    for action, found in labels.items():
        is_fitted = labellers[action].is_fitted
        for row in data.rows:
            one = found[row.id]
            counts = (one.n_tokens_in, one.n_tokens_out)
            predictions.append(
                {
                    "example_id": row.id, "task": data.task, "split": row.split,
                    "cluster_id": row.cluster_id, "action": action, "kind": TRANSCRIPT,
                    "label": one.label, "parse_status": one.rule, "conf": one.conf,
                    "scores": None if one.scores is None else list(one.scores),
                    "fold": str(folds[row.id]) if is_fitted and row.id in folds else None,
                    "wall_s": made[row.id].wall_s + one.wall_s, "audio_s": 0.0,
                    "price": one.price,
                    "tokens": None if None in counts else sum(counts),  # type: ignore[arg-type]
                }
            )  # fmt: skip
    write_evidence(out, predictions, examples, data.labels)
