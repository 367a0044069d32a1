"""One shard's files: a pure function of the plan and the shard's index."""

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
from otoscope.atomic import file_sha256, sync_to_disk, write_json

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

    A shard is finished when its record is there and every file is as the record says. The record
    comes last, when the files have reached the disk: files of a shard that was interrupted before
    are made again, with the same bytes.

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
            "sha256": file_sha256(file),
            **{name: counts[config][name] for name in ("rows", *recipe.counted)},
        }
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        sync_to_disk(file)
        os.replace(file, folder / path)
    for path in {(folder / path).parent for path in shard.files.values()}:
        sync_to_disk(path)
    record = {"plan": plan.fingerprint, "files": described}
    write_json(record_path(folder, shard), record, via=staging, sync=True, sort_keys=True)
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


def read_record(path: Path, fingerprint: str) -> dict[str, dict] | None:
    """What a record has of a shard's files; None where it is absent, damaged or of another plan."""
    try:
        record = json.loads(path.read_text())
        files = record["files"]
        of_this_plan = record["plan"] == fingerprint and all(
            {"bytes", "sha256", "config", "split", "rows"} <= file.keys() for file in files.values()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return files if of_this_plan else None


def changed_files(files: Mapping[str, Mapping[str, Any]], folder: Path) -> list[str]:
    """Those that are gone, or whose content is not the recorded one."""
    return [name for name, file in files.items() if not _is_as_recorded(folder / name, file)]


def finished(plan: BuildPlan, shard: Shard, folder: Path) -> dict[str, dict] | None:
    """What a finished shard's record has of its files; None while it is not finished."""
    files = read_record(record_path(folder, shard), plan.fingerprint)
    return None if files is None or changed_files(files, folder) else files


def has_recorded_size(path: Path, file: Mapping[str, Any]) -> bool:
    """Whether a file is there and as long as its record says."""
    return path.is_file() and path.stat().st_size == file["bytes"]


def _is_as_recorded(path: Path, file: Mapping[str, Any]) -> bool:
    try:
        return has_recorded_size(path, file) and file_sha256(path) == file["sha256"]
    except OSError:
        return False
