"""Features: activations of a model at named sites, on disk, for every question of a plan.

The folder is described in `storage`; `trainers.extract` fills it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float, Int

from otoscope.representations.storage import (
    ANSWER,
    ANSWER_TOKENS,
    FeaturesError,
    block_files,
    block_folder,
    block_table,
    n_blocks,
    read_column,
    read_description,
    read_schema,
    rows_table,
    validate_finite,
    validate_same,
    write_description,
)

NEEDED_COLUMNS = ("id", "category", "label", "source_id", "split", "no_effect")
"""Columns of `rows` that every folder has."""


class Targets(NamedTuple):
    """The hidden states that predict the tokens of gold answers, one row a token.

    Attributes:
        states: What enters the output layer, float32, `(n_tokens, width)`.
        tokens: The token to predict from each, `(n_tokens,)`.
        row: Which of the requested rows it belongs to, counted from 0, `(n_tokens,)`.
    """

    states: Float[np.ndarray, "n_tokens width"]
    tokens: Int[np.ndarray, " n_tokens"]
    row: Int[np.ndarray, " n_tokens"]


@dataclass(frozen=True)
class Features:
    """Features of one model, adapter and prompt; only what is requested is read.

    Attributes:
        folder: Where they are.
        description: Everything that changes a number: model, revision, adapter, prompt, hash of the
            questions, version of the code.
        rows: Column to array, one entry a question: `TEXT_COLUMNS` as text, `label` (0 decrease,
            1 increase, -1 neither), `row` (place in the published manifest, -1 for none),
            `no_effect`, `audio_s`. A row of a dataset without sources has
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
        if missing := [name for name in NEEDED_COLUMNS if name not in table.column_names]:
            raise FeaturesError(f"{folder}/rows.parquet: it lacks {', '.join(missing)}")
        if not _is_count(description.get("rows_per_block")):
            raise FeaturesError(
                f"{folder}/features.json: rows_per_block is "
                f"{description.get('rows_per_block')!r}, not a number above 0"
            )
        rows = {name: _as_numpy(table[name]) for name in table.column_names}
        files: dict[str, dict[int, Path]] = {}
        for index, path in block_files(folder):
            for site in read_schema(path).names:
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
            size: Any = self.description.get("hidden_size")
            if not _is_count(size):
                raise FeaturesError(
                    f"{self.folder}/features.json: hidden_size is {size!r}, not a number above 0"
                )
            return int(size)
        return int(read_schema(self._blocks_of(site)[0]).field(site).type.list_size)

    def matrix(self, site: str, rows: np.ndarray | None = None) -> np.ndarray:
        """One site of some rows; no other site is read.

        Args:
            site: A name in `sites`, except `answer`, which `targets` reads.
            rows: A mask or row numbers; all when None.

        Returns:
            `(n_rows, width)` in the stored precision, in the order of `rows`.

        Raises:
            FeaturesError: There is no such site, or it is not complete.
        """
        if site == ANSWER:
            raise FeaturesError("states of answers differ in number; read them with `targets`")
        chosen, paths, width = self._chosen(rows), self._blocks_of(site), self.width(site)
        dtype = read_schema(paths[0]).field(site).type.value_type.to_pandas_dtype()
        matrix = np.empty((len(chosen), width), dtype)
        for path, numbers, within, n_rows in self._by_block(chosen, paths):
            block = read_column(path, site, n_rows).flatten().to_numpy().reshape(-1, width)
            matrix[numbers] = block[within]
            validate_finite(site, matrix[numbers], f"{self.folder}: ")
        return matrix

    def targets(self, rows: np.ndarray | None = None) -> Targets:
        """The states that predict the gold answers of some rows, and the tokens to predict.

        Args:
            rows: A mask or row numbers; all when None.

        Raises:
            FeaturesError: The site `answer` was not extracted, or is not complete.
        """
        chosen, paths, width = self._chosen(rows), self._blocks_of(ANSWER), self.width(ANSWER)
        states: list[Any] = [None] * len(chosen)
        tokens: list[Any] = [None] * len(chosen)
        for path, numbers, within, n_rows in self._by_block(chosen, paths):
            column = read_column(path, ANSWER, n_rows)
            ids = read_column(path, ANSWER_TOKENS, n_rows)
            for number, row in zip(numbers.tolist(), within.tolist(), strict=True):
                states[number] = column[row].values.to_numpy().reshape(-1, width).copy()
                tokens[number] = ids[row].values.to_numpy().copy()
        found = np.concatenate([np.empty((0, width), np.float32), *states])
        validate_finite(ANSWER, found, f"{self.folder}: ")
        return Targets(
            found,
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
                "blocks; start the command that extracts it again"
            )
        raise FeaturesError(
            f"{self.folder} has no site {site!r}; it has {', '.join(self.sites) or 'none'}; "
            "extract it into the same folder with --sites"
        )

    def _by_block(
        self, chosen: np.ndarray, paths: Sequence[Path]
    ) -> Iterator[tuple[Path, np.ndarray, np.ndarray, int]]:
        """For each block: its file, positions in the result, rows within, and how many it has."""
        size = self.description["rows_per_block"]
        block, within = np.divmod(chosen, size)
        for index in np.unique(block).tolist():
            numbers = np.flatnonzero(block == index)
            yield paths[index], numbers, within[numbers], min(size, len(self) - index * size)


def write_features(
    folder: str | Path,
    rows: Mapping[str, Sequence[Any] | np.ndarray],
    sites: Mapping[str, np.ndarray],
    *,
    answers: Sequence[tuple[np.ndarray, np.ndarray]] | None = None,
    rows_per_block: int = 256,
    **description: Any,
) -> Features:
    """Writes arrays as features: for tests, and for activations computed elsewhere.

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
    write_description(folder, {"rows_per_block": rows_per_block, **description}, rows_table(rows))
    for index in range(n_blocks(n, rows_per_block)):
        part = slice(index * rows_per_block, (index + 1) * rows_per_block)
        columns = {site: states[part] for site, states in sites.items()}
        table = block_table(columns, None if answers is None else answers[part])
        path = block_folder(folder, index, "given") / "given.arrow"
        path.parent.mkdir(parents=True)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
    return Features.open(folder)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value >= 1


def _as_numpy(column: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_string(column.type):
        return np.array(column.to_pylist(), dtype=str)
    return column.to_numpy()
