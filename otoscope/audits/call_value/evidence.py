"""Evidence folders: predictions and examples as tables, and the record of what made them.

OUT/predictions.parquet  one row for each example and action; columns in docs/call-value.md
OUT/examples.parquet     one row for each example
OUT/evidence.json        dataset, models, settings, versions
"""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from otoscope.atomic import write_atomic
from otoscope.audits.call_value.schema import (
    EXAMPLE_COLUMNS,
    PREDICTION_COLUMNS,
    CallValueError,
)
from otoscope.audits.call_value.tables import read_call_tables
from otoscope.audits.labelled import LabelledData
from otoscope.claims import FolderKind

PREDICTIONS, EXAMPLES, RECORD = "predictions.parquet", "examples.parquet", "evidence.json"
COMPONENTS = "components.parquet"
EVIDENCE = FolderKind(
    "evidence",
    RECORD,
    CallValueError,
    may_hold=("*.parquet", "*.jsonl", "features", "probes"),
    ignored=frozenset({"probes"}),
)


def example_rows(data: LabelledData) -> list[dict[str, Any]]:
    """What the examples table says of each row of a labelled dataset."""
    rows = []
    for row in data.rows:
        sha256, duration = data.facts(row.id)
        rows.append(
            {
                "example_id": row.id,
                "task": data.task,
                "split": row.split,
                "label": row.label,
                "cluster_id": row.cluster_id,
                "speaker": row.speaker_id,
                "source": row.source_id,
                "duration": duration,
                "sha256": sha256,
            }
        )
    return rows


def write_evidence(
    out: Path,
    predictions: Iterable[Mapping[str, Any]],
    examples: Iterable[Mapping[str, Any]],
    labels: Iterable[str],
) -> tuple[Path, Path]:
    """Writes both tables, and reads them back as an audit will.

    Args:
        out: A folder that is claimed with `EVIDENCE`.
        labels: The closed set.

    Raises:
        CallValueError: The audit would reject them; nothing is left behind.
    """
    tables = (
        (out / PREDICTIONS, PREDICTION_COLUMNS, predictions),
        (out / EXAMPLES, EXAMPLE_COLUMNS, examples),
    )
    for path, columns, rows in tables:
        frame: Any = pd.DataFrame(list(rows))
        named = frame.reindex(columns=[name for name in columns if name in frame])
        write_atomic(path, partial(named.dropna(axis=1, how="all").to_parquet, index=False))
    paths = out / PREDICTIONS, out / EXAMPLES
    try:
        read_call_tables(paths, labels=list(labels))
    except CallValueError:
        for path in paths:
            path.unlink()
        raise
    return paths


def tables_in(path: Path) -> list[Path]:
    """The tables that a path stands for: itself, or those of an evidence folder.

    Raises:
        CallValueError: A folder without predictions.
    """
    if not path.is_dir():
        return [path]
    if not (path / PREDICTIONS).is_file():
        raise CallValueError(f"{path} holds no {PREDICTIONS}; it is no evidence folder")
    names = (PREDICTIONS, EXAMPLES, COMPONENTS)
    return [found for name in names if (found := path / name).is_file()]
