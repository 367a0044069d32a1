"""One shard's files: a pure function of the plan and the shard's index."""

import hashlib
import json
import os
import shutil
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

from builders.building.folder import STATE, staging_folder
from builders.building.plan import BuildPlan, Recipe, Shard
from otoscope.atomic import write_json

ROW_GROUP_BYTES = 4_000_000


def write_shard(
    recipe: Recipe,
    plan: BuildPlan,
    index: int,
    folder: Path,
    *,
    on_row: Callable[[], None] = lambda: None,
) -> None:
    """Writes a shard's files, then the record that marks it as finished.

    Files are staged under `.otoscope/` and moved into place when complete, so a process that dies
    leaves nothing incomplete where a reader looks. Each attempt has a folder of its own: a worker
    that outlives its killed build must not move what its successor is writing.
    """
    shard = plan.shards[index]
    staging = staging_folder(folder) / f"{shard.name}.{uuid.uuid4().hex}"
    staging.mkdir(parents=True)
    counts = write_files(recipe, plan, shard, staging, on_row=on_row)
    described = {}
    for config, path in shard.files.items():
        file = staging / f"{config}.parquet"
        described[path] = {
            "config": config,
            "split": shard.split,
            "bytes": file.stat().st_size,
            "sha256": _sha256(file),
            **{name: counts[config][name] for name in ("rows", *recipe.counted)},
        }
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, folder / path)
    record = {"plan": plan.fingerprint, "files": described}
    write_json(record_path(folder, shard), record, via=staging, sort_keys=True)
    shutil.rmtree(staging)


def write_files(
    recipe: Recipe,
    plan: BuildPlan,
    shard: Shard,
    folder: Path,
    *,
    on_row: Callable[[], None] = lambda: None,
) -> dict[str, Counter[str]]:
    """One Parquet file a config, in row groups of bounded size; counts of rows by config."""
    features = recipe.features
    if not isinstance(features, datasets.Features):
        features = features(plan, shard)
    schema = features.arrow_schema
    audio = [name for name, column in features.items() if isinstance(column, datasets.Audio)]
    compression = {f"{name}.bytes": "none" for name in audio}  # FLAC does not get any smaller
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    pending: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    size: Counter[str] = Counter()
    writers = {
        config: pq.ParquetWriter(
            folder / f"{config}.parquet", schema, compression=compression or "snappy"
        )
        for config in shard.files
    }

    def flush(config: str) -> None:
        if pending[config]:
            writers[config].write_table(pa.Table.from_pylist(pending.pop(config), schema=schema))
            size[config] = 0

    try:
        for config, cells, counted in recipe.rows(plan, shard):
            pending[config].append(cells)
            size[config] += sum(len(cells[name]["bytes"]) for name in audio)
            counts[config].update(counted, rows=1)
            if size[config] >= ROW_GROUP_BYTES:
                flush(config)
            on_row()
        for config in shard.files:
            flush(config)
    finally:
        for writer in writers.values():
            writer.close()
    return counts


def record_path(folder: Path, shard: Shard) -> Path:
    """Path of a finished shard's record."""
    return folder / STATE / "shards" / f"{shard.name}.json"


def finished(plan: BuildPlan, shard: Shard, folder: Path) -> dict[str, dict] | None:
    """What a finished shard's record has of its files; None while it is not finished."""
    return read_record(record_path(folder, shard), plan.fingerprint, folder)


def read_record(path: Path, fingerprint: str, folder: Path) -> dict[str, dict] | None:
    """A shard's files; None where the record is of another plan, or a file is not as recorded."""
    try:
        record = json.loads(path.read_text())
        same = record["plan"] == fingerprint and all(
            (folder / name).stat().st_size == file["bytes"]
            for name, file in record["files"].items()
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record["files"] if same else None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
