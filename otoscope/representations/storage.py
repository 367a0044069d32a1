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
    places = [-1 if v is None else v for v in rows.get("row", [-1] * n)]
    return pa.table(
        {
            **{name: pa.array(values, pa.string()) for name, values in text.items()},
            "row": pa.array(places, pa.int64()),
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
        validate_finite(site, states)
        flat: pa.Array = pa.array(np.ascontiguousarray(states).reshape(-1))
        columns[site] = pa.FixedSizeListArray.from_arrays(flat, states.shape[1])
    if answers is not None:
        flat_states = [np.asarray(states, np.float32).reshape(-1) for states, _ in answers]
        validate_finite(ANSWER, np.concatenate([np.empty(0, np.float32), *flat_states]))
        ids = [np.asarray(tokens, np.int32) for _, tokens in answers]
        columns[ANSWER] = pa.array(flat_states, pa.list_(pa.float32()))
        columns[ANSWER_TOKENS] = pa.array(ids, pa.list_(pa.int32()))
    return pa.table(columns)


def validate_finite(site: str, states: np.ndarray, where: str = "") -> None:
    """Rejects states of any site that are not finite.

    Raises:
        FeaturesError: The site is named, after `where`.
    """
    if not np.isfinite(states).all():
        raise FeaturesError(
            f"{where}site {site!r} holds numbers that are not finite in {states.dtype}"
        )


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


def sites_in(block: Path, n_rows: int) -> tuple[set[str], list[Path]]:
    """Sites in a block's complete files; and its files that are empty, cut or damaged."""
    sites: set[str] = set()
    damaged = []
    for path in sorted(block.glob("*.arrow")):
        try:
            sites.update(_table_of(path, n_rows).column_names)
        except FeaturesError:
            damaged.append(path)
    return sites, damaged


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
    write_rows(folder, rows)
    FEATURES.write(folder, {"version": FEATURES_VERSION, **description})


def write_rows(folder: Path, rows: pa.Table) -> None:
    """Writes the rows atomically."""
    write_atomic(folder / "rows.parquet", lambda path: pq.write_table(rows, path))


def has_rows(folder: Path, rows: pa.Table) -> bool:
    """Whether so many rows are there, readable, with the same columns."""
    try:
        stored = pq.read_table(folder / "rows.parquet")
        return len(stored) == len(rows) and stored.column_names == rows.column_names
    except (OSError, pa.ArrowInvalid):
        return False


@contextmanager
def _stream(path: Path) -> Iterator[pa.ipc.RecordBatchStreamReader]:
    """A file of a block, mapped into memory."""
    try:
        with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as stream:
            yield stream
    except (pa.ArrowInvalid, OSError) as error:
        if getattr(error, "errno", None) is not None:  # one of the disk, such as a permission
            raise
        raise _damaged(path, error) from error


def read_schema(path: Path) -> pa.Schema:
    """Columns of a block's file."""
    with _stream(path) as stream:
        return stream.schema


def read_column(path: Path, name: str, n_rows: int) -> pa.Array:
    """One column of a file, not copied: pages are read when they are accessed.

    Raises:
        FeaturesError: The file is damaged, or has not so many rows.
    """
    return _table_of(path, n_rows)[name].combine_chunks()


def _table_of(path: Path, n_rows: int) -> pa.Table:
    with _stream(path) as stream:
        table = stream.read_all()
    if len(table) != n_rows:
        raise _damaged(path, f"{len(table)} of {n_rows} rows")
    return table


def _damaged(path: Path, fault: Any) -> FeaturesError:
    return FeaturesError(
        f"{path} is damaged ({fault}); start the command that extracts it again, which makes it "
        "anew"
    )
