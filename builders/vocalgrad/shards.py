"""One shard's rows and files: a pure function of the plan and the shard's index."""

import hashlib
import json
import os
import shutil
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from builders.corpora.base import CorpusError
from builders.vocalgrad.plan import Plan, Shard, Surveyed
from builders.vocalgrad.rows import audio_of, features, question_of
from otoscope.acoustics import codec
from otoscope.acoustics.design import CONDITIONS
from otoscope.acoustics.rendering import SourceRenderer
from otoscope.acoustics.spans import Span
from otoscope.atomic import write_atomic

STATE = ".otoscope"
ROW_GROUP_BYTES = 4_000_000
TURNED_DOWN = "turned_down"
"""In a row on its way to a file: the clip alone was turned down; counted, and no column."""

Row = dict[str, object]


def decode(surveyed: Surveyed) -> codec.Recording:
    """The samples that were surveyed.

    Raises:
        CorpusError: The file has changed since, or is gone.
    """
    try:
        recording = codec.read(surveyed.source.path)
    except codec.AudioError as error:
        raise CorpusError(f"{error}; it could be read when the build began") from error
    if pcm_sha256(recording) != surveyed.pcm_sha256:
        raise CorpusError(f"{surveyed.source.path}: changed since the build began; start again")
    return recording


def pcm_sha256(recording: codec.Recording) -> str:
    """SHA-256 of the decoded samples, channel by channel, little-endian."""
    return hashlib.sha256(recording.pcm.astype("<i2").tobytes()).hexdigest()


def rows(plan: Plan, shard: Shard) -> Iterator[tuple[str, Row]]:
    """The shard's rows, each with its config; rows of one config come in their final order."""
    for surveyed in plan.sources_of(shard):
        recording = decode(surveyed)
        if shard.kind == "source":
            yield "source", _source_row(plan, surveyed, recording)
            continue
        source = SourceRenderer(
            recording.pcm, recording.sampling_rate, Span(*surveyed.span),
            bit_depth=recording.bit_depth,
        )  # fmt: skip
        for category in shard.categories:
            config = "beep" if shard.kind == "beep" else category
            for k in surveyed.cells(category, shard.cells):
                yield config, _row(plan, surveyed, source, category, k)


def _row(
    plan: Plan, surveyed: Surveyed, source: SourceRenderer, category: str, cell_index: int
) -> Row:
    cell, s = CONDITIONS[cell_index], surveyed.source
    clip_id = cell.clip_id(s.item_id, s.clip_id)
    made = source.render(category, cell, clip_id=clip_id, profile=plan.profile)
    encoded = made.to_pcm()
    row_id = f"{s.split}-{category}-{clip_id}"
    flac = codec.encode_flac(encoded.pcm, surveyed.sampling_rate)
    return {
        "id": row_id,
        "audio": audio_of(row_id, flac),
        **question_of(category, cell.direction),
        "clip_id": clip_id,
        "curve": cell.curve,
        "tier": cell.tier,
        "profile": plan.profile,
        **_about(plan, surveyed),
        "span_start_s": made.span.start / surveyed.sampling_rate,
        "span_end_s": made.span.end / surveyed.sampling_rate,
        "start_value": made.trajectory.start,
        "end_value": made.trajectory.end,
        "clipped_fraction": encoded.clipped_fraction,
        TURNED_DOWN: encoded.gain < 1,
        "no_effect": made.no_effect,
        "row": s.position * len(CONDITIONS) + cell_index,
    }


def _source_row(plan: Plan, surveyed: Surveyed, recording: codec.Recording) -> Row:
    s = surveyed.source
    row_id = f"{s.split}-source-{s.item_id}__{s.clip_id}"
    about = _about(plan, surveyed)
    return {
        "id": row_id,
        "audio": audio_of(row_id, codec.encode_flac(recording.pcm, recording.sampling_rate)),
        "category": "source",
        "clip_id": f"{s.item_id}__{s.clip_id}",
        "profile": "source",
        **about,
        "span_start_s": about["source_span_start_s"],
        "span_end_s": about["source_span_end_s"],
        "clipped_fraction": 0.0,
        "row": s.position,
    }


def _about(plan: Plan, surveyed: Surveyed) -> Row:
    s = surveyed.source
    return {
        "source_id": s.clip_id,
        "speaker_id": s.speaker_id,
        "sentence_id": s.sentence_id,
        "transcript": s.transcript,
        "source_span_start_s": surveyed.span[0] / surveyed.sampling_rate,
        "source_span_end_s": surveyed.span[1] / surveyed.sampling_rate,
        "span_origin": surveyed.span_origin,
        "generator_version": plan.generator_version,
    }


def write_shard(
    plan: Plan, index: int, folder: Path, *, on_row: Callable[[], None] = lambda: None
) -> None:
    """Writes a shard's files, then the record that says it is finished.

    Files are made under `.otoscope/` and moved into place whole, so a process that dies leaves
    nothing half-written where a reader looks. Each attempt has a folder of its own: the last breath
    of a worker whose build was killed must not move what its successor is writing.
    """
    shard = plan.shards[index]
    making = making_folder(folder) / f"{shard.name}.{uuid.uuid4().hex}"
    making.mkdir(parents=True)
    tally = write_files(plan, shard, making, on_row=on_row)
    described = {}
    for config, path in shard.files.items():
        made = making / f"{config}.parquet"
        described[path] = {
            "config": config,
            "split": shard.split,
            "rows": tally[config]["rows"],
            "bytes": made.stat().st_size,
            "sha256": _sha256(made),
            "no_effect": tally[config]["no_effect"],
            "clipped": tally[config]["clipped"],
            "turned_down": tally[config]["turned_down"],
        }
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        os.replace(made, folder / path)
    record = {"plan": plan.fingerprint, "files": described}
    write_json(record_path(folder, shard), record, via=making)
    shutil.rmtree(making)


def write_files(
    plan: Plan, shard: Shard, folder: Path, *, on_row: Callable[[], None] = lambda: None
) -> dict[str, Counter[str]]:
    """One Parquet file a config, in row groups of bounded size; counts of rows by config."""
    schema = features(plan.sampling_rate(shard.kind)).arrow_schema
    tally: dict[str, Counter[str]] = defaultdict(Counter)
    waiting: dict[str, list[Row]] = defaultdict(list)
    size: Counter[str] = Counter()
    writers = {
        config: pq.ParquetWriter(
            folder / f"{config}.parquet", schema, compression={"audio.bytes": "none"}
        )
        for config in shard.files
    }

    def flush(config: str) -> None:
        if waiting[config]:
            writers[config].write_table(pa.Table.from_pylist(waiting.pop(config), schema=schema))
            size[config] = 0

    try:
        for config, row in rows(plan, shard):
            waiting[config].append(row)
            size[config] += len(row["audio"]["bytes"])  # type: ignore[index]
            tally[config].update(
                rows=1,
                no_effect=bool(row.get("no_effect")),
                clipped=row["clipped_fraction"] > 0,  # type: ignore[operator]
                turned_down=bool(row.pop(TURNED_DOWN, False)),
            )
            if size[config] >= ROW_GROUP_BYTES:
                flush(config)
            on_row()
        for config in shard.files:
            flush(config)
    finally:
        for writer in writers.values():
            writer.close()
    return tally


def making_folder(folder: Path) -> Path:
    """Where unfinished files lie; whatever is in it when no build is at work can go."""
    return folder / STATE / "making"


def record_path(folder: Path, shard: Shard) -> Path:
    """Where the record of a finished shard lies."""
    return folder / STATE / "shards" / f"{shard.name}.json"


def finished(plan: Plan, shard: Shard, folder: Path) -> dict[str, dict] | None:
    """What a finished shard's record says of its files; None while it is not finished."""
    try:
        record = json.loads(record_path(folder, shard).read_text())
        same = record["plan"] == plan.fingerprint and all(
            (folder / path).stat().st_size == file["bytes"]
            for path, file in record["files"].items()
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record["files"] if same else None


def write_json(path: Path, content: object, *, via: Path) -> None:
    """A JSON file that is either whole or not there."""
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    write_atomic(path, text.encode(), via=via)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
