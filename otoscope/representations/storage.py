"""The folder of features: what is in it, and how blocks of rows are written.

    FEATURES/
      features.json                  everything that changes a number, and what it was made from
      rows.parquet                   one row a question, in plan order
      blocks/00003-KEY/PRINT.arrow   some sites of some hundred rows; one column a site

A block's folder is named by everything but the sites, a file by its sites too, so a site that is
added later is a file beside the others. Columns are read one by one through a memory map.

Sites are fixed-size lists of float16, or of float32 on request. `answer` is the exception: a
question has as many states there as the gold answer has tokens, so it is a list of
`n_targets * width` numbers beside `answer_tokens`, the `n_targets` token ids that these states
predict. It is float32: a head trained from them has to equal one trained through the model.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from otoscope.atomic import write_atomic
from otoscope.claims import FolderKind
from otoscope.errors import InputError

FEATURES_VERSION = 1
"""Rises whenever the number behind a site may change."""

ANSWER, ANSWER_TOKENS = "answer", "answer_tokens"
STORED = ("float16", "float32")
NOT_COMPARED = {"dataset", "otoscope_version", "spec"}
"""Parts of a description that change no number."""

TEXT_COLUMNS = (
    "question_id", "id", "category", "attribute", "label_name", "prompt_name", "prompt",
    "source_id", "speaker_id", "split", "tier", "curve", "direction", "profile", "clip_id",
    "audio_sha256",
)  # fmt: skip
"""Columns of `rows` that are text; empty where a dataset lacks them."""


class FeaturesError(InputError, ValueError):
    """Features that cannot be used as requested; the message says why, and the way out."""


FEATURES = FolderKind(
    "feature set",
    "features.json",
    FeaturesError,
    may_hold=("blocks", "rows.parquet", ".rows.parquet.*", "*.partial"),
    ignored=NOT_COMPARED,
    way_out="choose another folder, or extract them anew",
    may_have_more=True,
)


def rows_table(rows: Mapping[str, Sequence[Any] | np.ndarray]) -> pa.Table:
    """Rows as they are stored: text columns as text, empty where there is no value.

    A row without a source is a source of its own.
    """
    n = len(rows["id"])
    text = {
        name: ["" if v is None else str(v) for v in rows.get(name, [""] * n)]
        for name in TEXT_COLUMNS
    }
    sources = zip(text["source_id"], text["id"], strict=True)
    text["source_id"] = [source or name for source, name in sources]
    return pa.table(
        {
            **{name: pa.array(values, pa.string()) for name, values in text.items()},
            "label": pa.array(np.asarray(rows["label"], dtype=np.int64)),
            "no_effect": pa.array([bool(v) for v in rows.get("no_effect", [False] * n)]),
            "audio_s": pa.array(np.asarray(rows.get("audio_s", [np.nan] * n), dtype=np.float64)),
        }
    )


def block_table(
    sites: Mapping[str, np.ndarray], answers: Sequence[tuple[np.ndarray, np.ndarray]] | None = None
) -> pa.Table:
    """One block: a column a site, and two for answers where there are any.

    Raises:
        FeaturesError: A number is not finite, as all beyond 65504 in float16.
    """
    columns: dict[str, pa.Array] = {}
    for site, states in sites.items():
        if not np.isfinite(states).all():
            raise FeaturesError(f"site {site!r} holds numbers that {states.dtype} cannot hold")
        flat: pa.Array = pa.array(np.ascontiguousarray(states).reshape(-1))
        columns[site] = pa.FixedSizeListArray.from_arrays(flat, states.shape[1])
    if answers is not None:
        flat_states = [np.asarray(states, np.float32).reshape(-1) for states, _ in answers]
        ids = [np.asarray(tokens, np.int32) for _, tokens in answers]
        columns[ANSWER] = pa.array(flat_states, pa.list_(pa.float32()))
        columns[ANSWER_TOKENS] = pa.array(ids, pa.list_(pa.int32()))
    return pa.table(columns)


def n_blocks(n_rows: int, rows_per_block: int) -> int:
    """Number of blocks for so many rows.

    >>> n_blocks(513, 256), n_blocks(512, 256)
    (3, 2)
    """
    return -(-n_rows // rows_per_block)


def block_folder(folder: Path, index: int, key: str) -> Path:
    """Where the files of one block are."""
    return folder / "blocks" / f"{index:05d}-{key}"


def block_files(folder: Path) -> Iterator[tuple[int, Path]]:
    """Each file of all blocks, with the number of its block."""
    for path in sorted((folder / "blocks").glob("*/*.arrow")):
        yield int(path.parent.name.partition("-")[0]), path


def sites_in(block: Path) -> set[str]:
    """Sites in a block's files; a file is there once it is complete."""
    return {name for path in sorted(block.glob("*.arrow")) for name in read_schema(path).names}


def fingerprint(*parts: Any) -> str:
    """First 16 hex digits of a SHA-256 of plain data.

    >>> fingerprint({"b": 1, "a": [2]}) == fingerprint({"a": [2], "b": 1})
    True
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def read_description(folder: Path) -> dict[str, Any]:
    """The content of `features.json`.

    Raises:
        FeaturesError: There is none, or it cannot be read.
    """
    description = FEATURES.read(folder)
    if description is None:
        raise FeaturesError(
            f"{folder} holds no features; make them with `python -m trainers.extract`"
        )
    return description


def validate_same(folder: Path, expected: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Rejects features of another version, or with another description than expected.

    Raises:
        FeaturesError: Every difference is named.
    """
    FEATURES.validate_same(folder, found, {"version": FEATURES_VERSION, **expected})


def write_description(folder: Path, description: Mapping[str, Any], rows: pa.Table) -> None:
    """Writes `features.json` and the rows, each atomically."""
    (folder / "blocks").mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "rows.parquet", lambda path: pq.write_table(rows, path))
    FEATURES.write(folder, {"version": FEATURES_VERSION, **description})


@contextmanager
def _stream(path: Path) -> Iterator[pa.ipc.RecordBatchStreamReader]:
    """A file of a block, mapped into memory."""
    try:
        with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as stream:
            yield stream
    except pa.ArrowInvalid as error:
        raise FeaturesError(f"{path} is damaged ({error}); delete it and extract again") from error


def read_schema(path: Path) -> pa.Schema:
    """Columns of a block's file."""
    with _stream(path) as stream:
        return stream.schema


def read_column(path: Path, name: str) -> pa.Array:
    """One column of a file, not copied: pages are read when they are accessed."""
    with _stream(path) as stream:
        return stream.read_all()[name].combine_chunks()
