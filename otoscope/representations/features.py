"""Features on disk: what a model held at named sites, for every question of a plan.

    FEATURES/
      features.json                  everything that changes a number, and what it was made from
      rows.parquet                   one row a question, in plan order
      blocks/00003-KEY/PRINT.arrow   some sites of some hundred rows; one column a site

A block's folder is named by everything but the sites, a file by its sites too, so a site that is
added later is a file beside the others. Columns are read one by one through a memory map.

Sites are fixed-size lists of float16 (float32 where the extraction was told so). `answer` is the
exception: a question has as many states there as the gold answer has tokens, so it is a list of
`n_targets * width` numbers beside `answer_tokens`, the `n_targets` token ids that these states
predict, and it is float32: a head trained from them has to come out as if the model had run.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float, Int

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
"""Columns of `rows` that are text; what a dataset does not say is empty there."""


class FeaturesError(InputError, ValueError):
    """Features that cannot be used as asked; the message says why, and the way out."""


FEATURES = FolderKind(
    "feature set",
    "features.json",
    FeaturesError,
    may_hold=("blocks", "rows.parquet", ".rows.parquet.*", "*.partial"),
    ignored=NOT_COMPARED,
    way_out="choose another folder, or extract them anew",
    may_have_more=True,
)


class Targets(NamedTuple):
    """The states that predict the tokens of gold answers, one row a token.

    Attributes:
        states: What enters the head, float32, `(n_tokens, width)`.
        tokens: The token each is to predict, `(n_tokens,)`.
        row: Which of the rows asked for it belongs to, counted from 0, `(n_tokens,)`.
    """

    states: Float[np.ndarray, "n_tokens width"]
    tokens: Int[np.ndarray, " n_tokens"]
    row: Int[np.ndarray, " n_tokens"]


@dataclass(frozen=True)
class Features:
    """Features of one model, adapter and prompt; nothing but what is asked for is read.

    Attributes:
        folder: Where they lie.
        description: Everything that changes a number: model, revision, adapter, prompt, hash of the
            questions, version of the code.
        rows: Column to array, one entry a question: `TEXT_COLUMNS` as text, `label` (0 decrease,
            1 increase, -1 neither), `no_effect`, `audio_s`. A row of a dataset without sources has
            its own `id` as `source_id`.
    """

    folder: Path
    description: Mapping[str, Any]
    rows: Mapping[str, np.ndarray]
    _files: Mapping[str, Mapping[int, Path]]

    @classmethod
    def open(cls, folder: str | Path, **expected: Any) -> "Features":
        """Opens a folder.

        Args:
            folder: Written by `trainers.extract` or `write_features`.
            expected: Parts that the description must have, such as `prompt="main"` or
                `questions=other.description["questions"]`.

        Raises:
            FeaturesError: It holds no features, or those of another version, model or prompt.
        """
        folder = Path(folder)
        description = read_description(folder)
        validate_same(folder, expected, description)
        try:
            table = pq.read_table(folder / "rows.parquet")
        except (OSError, pa.ArrowInvalid) as error:
            raise FeaturesError(f"{folder}/rows.parquet: not readable ({error})") from error
        rows = {name: _as_numpy(table[name]) for name in table.column_names}
        files: dict[str, dict[int, Path]] = {}
        for index, path in _files_in(folder):
            for site in _columns_of(path):
                files.setdefault(site, {}).setdefault(index, path)
        return cls(folder, description, rows, files)

    def __len__(self) -> int:
        return len(self.rows["id"])

    @property
    def sites(self) -> list[str]:
        """Names of the sites that are there for every row."""
        return [
            site
            for site, files in self._files.items()
            if len(files) == self._n_blocks and site != ANSWER_TOKENS
        ]

    def width(self, site: str) -> int:
        """Numbers a row; for `answer`, numbers a token.

        Raises:
            FeaturesError: There is no such site.
        """
        if site == ANSWER:
            return int(self.description["hidden_size"])
        first = self._blocks_of(site)[0]
        return int(_schema(first).field(site).type.list_size)

    def matrix(self, site: str, rows: np.ndarray | None = None) -> np.ndarray:
        """One site of some rows; no other site is read.

        Args:
            site: A name in `sites`, except `answer`, which `targets` reads.
            rows: A mask or places of rows; all when None.

        Returns:
            `(n_rows, width)` in the precision that was stored, in the order of `rows`.

        Raises:
            FeaturesError: There is no such site, or a kill left it unfinished.
        """
        if site == ANSWER:
            raise FeaturesError("states of answers differ in number; read them with `targets`")
        chosen, paths, width = self._chosen(rows), self._blocks_of(site), self.width(site)
        made = np.empty(
            (len(chosen), width), _schema(paths[0]).field(site).type.value_type.to_pandas_dtype()
        )
        for path, places, within in self._by_block(chosen, paths):
            made[places] = _column(path, site).flatten().to_numpy().reshape(-1, width)[within]
        return made

    def targets(self, rows: np.ndarray | None = None) -> Targets:
        """The states that predict the gold answers of some rows, and what they are to predict.

        Args:
            rows: A mask or places of rows; all when None.

        Raises:
            FeaturesError: The site `answer` was not extracted, or not to its end.
        """
        chosen, paths, width = self._chosen(rows), self._blocks_of(ANSWER), self.width(ANSWER)
        states: list[Any] = [None] * len(chosen)
        tokens: list[Any] = [None] * len(chosen)
        for path, places, within in self._by_block(chosen, paths):
            column, ids = _column(path, ANSWER), _column(path, ANSWER_TOKENS)
            for place, row in zip(places.tolist(), within.tolist(), strict=True):
                states[place] = column[row].values.to_numpy().reshape(-1, width).copy()
                tokens[place] = ids[row].values.to_numpy().copy()
        return Targets(
            np.concatenate([np.empty((0, width), np.float32), *states]),
            np.concatenate([np.empty(0, np.int64), *tokens]).astype(np.int64),
            np.repeat(np.arange(len(chosen)), [len(ids) for ids in tokens]),
        )

    @property
    def _n_blocks(self) -> int:
        return n_blocks(len(self), self.description["rows_per_block"])

    def _chosen(self, rows: np.ndarray | None) -> np.ndarray:
        if rows is None:
            return np.arange(len(self))
        rows = np.asarray(rows)
        if rows.dtype != bool:
            return rows
        if rows.shape != (len(self),):
            raise FeaturesError(f"a mask of shape {rows.shape} for {len(self)} rows")
        return np.flatnonzero(rows)

    def _blocks_of(self, site: str) -> list[Path]:
        files = self._files.get(site, {})
        if len(files) == self._n_blocks:
            return [files[index] for index in range(self._n_blocks)]
        if files:
            raise FeaturesError(
                f"{self.folder}: site {site!r} is there for {len(files)} of {self._n_blocks} "
                "blocks; the command that began it ends it"
            )
        raise FeaturesError(
            f"{self.folder} has no site {site!r}; it has {', '.join(self.sites) or 'none'}; "
            "extract it into the same folder with --sites"
        )

    def _by_block(
        self, chosen: np.ndarray, paths: Sequence[Path]
    ) -> Iterator[tuple[Path, np.ndarray, np.ndarray]]:
        """For each block: its file, places in the result, and rows within the block."""
        block, within = np.divmod(chosen, self.description["rows_per_block"])
        for index in np.unique(block).tolist():
            places = np.flatnonzero(block == index)
            yield paths[index], places, within[places]


def write_features(
    folder: str | Path,
    rows: Mapping[str, Sequence[Any] | np.ndarray],
    sites: Mapping[str, np.ndarray],
    *,
    answers: Sequence[tuple[np.ndarray, np.ndarray]] | None = None,
    rows_per_block: int = 256,
    **description: Any,
) -> Features:
    """Writes arrays as features: for tests, and for states that come from elsewhere.

    Args:
        folder: New or empty.
        rows: Columns; `id`, `category` and `label` (0, 1 or -1) at least.
        sites: Name to `(n_rows, width)`, float16 or float32.
        answers: For each row the states `(n_targets, width)` and the token ids `(n_targets,)`.
        rows_per_block: Rows in one file.
        description: What these features are of, such as `model="mine"`, `prompt="main"`.

    Raises:
        FeaturesError: The folder has features, a column is missing, lengths differ, or a number is
            not finite.
    """
    folder = Path(folder)
    if (folder / "features.json").exists():
        raise FeaturesError(f"{folder} holds features already; choose another folder")
    if missing := [name for name in ("id", "category", "label") if name not in rows]:
        raise FeaturesError(f"rows lack the column(s) {missing}")
    n = len(rows["id"])
    lengths = {name: len(column) for name, column in (*rows.items(), *sites.items())}
    if answers is not None:
        lengths[ANSWER] = len(answers)
    if wrong := {name: length for name, length in lengths.items() if length != n}:
        raise FeaturesError(f"there are {n} rows, but of other lengths are {wrong}")
    if answers:
        description.setdefault("hidden_size", answers[0][0].shape[1])
    about = {"rows_per_block": rows_per_block, **description}
    write_description(folder, about, rows_table(rows))
    for index in range(n_blocks(n, rows_per_block)):
        part = slice(index * rows_per_block, (index + 1) * rows_per_block)
        columns = {site: states[part] for site, states in sites.items()}
        table = block_table(columns, None if answers is None else answers[part])
        path = block_folder(folder, index, "given") / "given.arrow"
        path.parent.mkdir(parents=True)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
    return Features.open(folder)


def rows_table(rows: Mapping[str, Sequence[Any] | np.ndarray]) -> pa.Table:
    """Rows as they are stored: text where text belongs, empty where nothing is said.

    A row that names no source is a source of its own.
    """
    n = len(rows["id"])
    said = {
        name: ["" if v is None else str(v) for v in rows.get(name, [""] * n)]
        for name in TEXT_COLUMNS
    }
    sources = zip(said["source_id"], said["id"], strict=True)
    said["source_id"] = [source or name for source, name in sources]
    text = {name: pa.array(values, pa.string()) for name, values in said.items()}
    return pa.table(
        {
            **text,
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
        FeaturesError: A number is not finite, which float16 makes of everything beyond 65504.
    """
    columns: dict[str, pa.Array] = {}
    for site, states in sites.items():
        if not np.isfinite(states).all():
            raise FeaturesError(f"site {site!r} holds numbers that {states.dtype} cannot hold")
        flat: pa.Array = pa.array(np.ascontiguousarray(states).reshape(-1))
        columns[site] = pa.FixedSizeListArray.from_arrays(flat, states.shape[1])
    if answers is not None:
        wide = [np.asarray(states, np.float32).reshape(-1) for states, _ in answers]
        ids = [np.asarray(tokens, np.int32) for _, tokens in answers]
        columns[ANSWER] = _lists(wide, np.float32)
        columns[ANSWER_TOKENS] = _lists(ids, np.int32)
    return pa.table(columns)


def _lists(arrays: Sequence[np.ndarray], dtype: type) -> pa.ListArray:
    starts = np.cumsum([0, *(len(array) for array in arrays)]).astype(np.int32)
    flat: np.ndarray = np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype)
    return pa.ListArray.from_arrays(pa.array(starts), pa.array(flat))


def n_blocks(n_rows: int, rows_per_block: int) -> int:
    """How many blocks rows are shared out to.

    >>> n_blocks(513, 256), n_blocks(512, 256)
    (3, 2)
    """
    return -(-n_rows // rows_per_block)


def block_folder(folder: Path, index: int, key: str) -> Path:
    """Where the files of one block lie."""
    return folder / "blocks" / f"{index:05d}-{key}"


def sites_in(block: Path) -> set[str]:
    """Sites that a block's files hold; a file is there once it is whole."""
    return {name for path in sorted(block.glob("*.arrow")) for name in _columns_of(path)}


def fingerprint(*parts: Any) -> str:
    """First 16 hex digits of a SHA-256 of plain data.

    >>> fingerprint({"b": 1, "a": [2]}) == fingerprint({"a": [2], "b": 1})
    True
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def read_description(folder: Path) -> dict[str, Any]:
    """What `features.json` says.

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
    """Rejects features of another version, or whose description is not what is expected.

    Raises:
        FeaturesError: Every difference is named.
    """
    FEATURES.validate_same(folder, found, {"version": FEATURES_VERSION, **expected})


def write_description(folder: Path, description: Mapping[str, Any], rows: pa.Table) -> None:
    """Writes what features are of, and their rows; each file is whole or not there."""
    (folder / "blocks").mkdir(parents=True, exist_ok=True)
    about = {"version": FEATURES_VERSION, **description}
    write_atomic(folder / "rows.parquet", lambda path: pq.write_table(rows, path))
    FEATURES.write(folder, about)


def _files_in(folder: Path) -> Iterator[tuple[int, Path]]:
    for path in sorted((folder / "blocks").glob("*/*.arrow")):
        yield int(path.parent.name.partition("-")[0]), path


@contextmanager
def _stream(path: Path) -> Iterator[pa.ipc.RecordBatchStreamReader]:
    """A file of a block, mapped into memory."""
    try:
        with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as stream:
            yield stream
    except pa.ArrowInvalid as error:
        raise FeaturesError(f"{path} is damaged ({error}); delete it and extract again") from error


def _schema(path: Path) -> pa.Schema:
    with _stream(path) as stream:
        return stream.schema


def _columns_of(path: Path) -> list[str]:
    return list(_schema(path).names)


def _column(path: Path, name: str) -> pa.Array:
    """One column of a file, not copied: pages are read as they are touched."""
    with _stream(path) as stream:
        return stream.read_all()[name].combine_chunks()


def _as_numpy(column: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_string(column.type):
        return np.array(column.to_pylist(), dtype=str)
    return column.to_numpy()
