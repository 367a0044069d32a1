"""Extraction of features through `datasets.map`: one map for each block of rows.

A block's bytes depend only on the description of the features, its number and the sites, so that
whichever process extracts it writes the same file. A second process finds the file, an added layer
is another file, and a kill costs the block in progress.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from otoscope.claims import locked
from otoscope.models.base import Request
from otoscope.representations.hidden_states import HiddenStateExtractor
from otoscope.representations.storage import (
    ANSWER,
    ANSWER_TOKENS,
    FEATURES,
    NOT_COMPARED,
    STORED,
    FeaturesError,
    block_folder,
    block_table,
    fingerprint,
    has_rows,
    n_blocks,
    read_description,
    rows_table,
    sites_in,
    validate_same,
    write_description,
    write_rows,
)
from otoscope.version import __version__

ROWS_PER_BLOCK = 256
HASHED = ("question_id", "prompt", "attribute", "label_name", "audio_sha256")


class ExtractedRows(NamedTuple):
    """One process's share of the rows, and how many of it were extracted now."""

    n_rows: int
    n_extracted: int


class ExtractionSize(NamedTuple):
    """Rows that lack at least one site, and the bytes of what they lack, over all processes."""

    n_rows: int
    n_bytes: int


@dataclass(frozen=True)
class Extraction:
    """Sites of a model for the questions of a plan, in one folder. Made by `plan_extraction`.

    Attributes:
        extractor: Of hidden states.
        fill: From a question's id to the question with its audio.
        sites: Full names.
        folder: Of the features.
        description: As in `features.json`.
        question_ids: In plan order.
    """

    extractor: HiddenStateExtractor
    fill: Callable[[str], Request]
    sites: Sequence[str]
    folder: Path
    description: Mapping[str, Any]
    question_ids: Sequence[str]

    def size(self) -> ExtractionSize:
        """How much is missing, measured on the first question.

        Raises:
            ModelError, FeaturesError: Hidden states of that question cannot be extracted.
        """
        missing = {index: self._missing(index)[0] for index in range(self._n_blocks)}
        wanted = [site for site in self.sites if any(site in sites for sites in missing.values())]
        if not wanted:
            return ExtractionSize(0, 0)
        table = self._table(self.question_ids[:1], wanted, lambda n: None)
        n_bytes = {name: table[name].nbytes for name in table.column_names}
        n_bytes[ANSWER] = n_bytes.get(ANSWER, 0) + n_bytes.pop(ANSWER_TOKENS, 0)
        blocks = [(len(self._ids(index)), sites) for index, sites in missing.items()]
        return ExtractionSize(
            sum(n_rows for n_rows, sites in blocks if sites),
            sum(n_rows * n_bytes[site] for n_rows, sites in blocks for site in sites),
        )

    def damaged(self) -> list[Path]:
        """Files of blocks that are empty or cut: `run` makes them anew."""
        return [path for index in range(self._n_blocks) for path in self._missing(index)[1]]

    def run(self, step: Callable[..., None], *, rank: int = 0, world: int = 1) -> ExtractedRows:
        """Extracts what is missing of this process's share, every `world`-th block.

        Args:
            step: Called with the number of rows that were just completed.
            rank, world: Which share of how many.

        Raises:
            ModelError: Hidden states of a question cannot be extracted.
            FeaturesError: A state is not finite in the stored precision.
        """
        n_extracted = sum(self._run(index, step) for index in range(rank, self._n_blocks, world))
        return ExtractedRows(self.n_own(rank, world), n_extracted)

    def n_own(self, rank: int, world: int) -> int:
        """Rows of a share."""
        return sum(len(self._ids(index)) for index in range(rank, self._n_blocks, world))

    def _run(self, index: int, step: Callable[..., None]) -> int:
        """Extracts a block unless it is complete; the number of rows extracted."""
        import datasets

        ids, folder = self._ids(index), self._block(index)
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):  # a second process waits, and finds the block complete
            missing, damaged = self._missing(index)
            for path in damaged:
                path.unlink()
            if not missing:
                step(len(ids))
                return 0
            for partial in folder.glob("tmp*"):  # of a killed process
                partial.unlink()
            name = fingerprint(self._key, index, missing)
            block = datasets.Dataset.from_dict({"question_id": ids}).with_format("arrow")
            with _no_bars(datasets):
                block.map(
                    lambda part: self._table(part["question_id"].to_pylist(), missing, step),
                    batched=True,
                    batch_size=None,
                    remove_columns=["question_id"],
                    new_fingerprint=name,
                    cache_file_name=str(folder / f"{name}.arrow"),
                )
        return len(ids)

    def _table(
        self, ids: Sequence[str], sites: Sequence[str], step: Callable[..., None]
    ) -> pa.Table:
        """Sites of some questions, batch by batch, in the stored precision."""
        stored: dict[str, list[np.ndarray]] = {site: [] for site in sites if site != ANSWER}
        answers: list[tuple[np.ndarray, np.ndarray]] = []
        size = self.extractor.batch_size
        for start in range(0, len(ids), size):
            requests = [self.fill(name) for name in ids[start : start + size]]
            found = self.extractor.extract(requests, sites)
            for site, parts in stored.items():
                parts.append(_stored(site, found.states[site], requests, self.description["store"]))
            for request, (states, tokens) in zip(requests, found.answers, strict=False):
                answers.append((_stored(ANSWER, states, [request] * len(states)), tokens))
            step(len(requests))
        columns = {site: np.concatenate(parts) for site, parts in stored.items()}
        return block_table(columns, answers if ANSWER in sites else None)

    def _missing(self, index: int) -> tuple[list[str], list[Path]]:
        """Sites that a block lacks, and its files that are damaged."""
        there, damaged = sites_in(self._block(index), len(self._ids(index)))
        return [site for site in self.sites if site not in there], damaged

    def _ids(self, index: int) -> list[str]:
        size = self.description["rows_per_block"]
        return list(self.question_ids[index * size : (index + 1) * size])

    def _block(self, index: int) -> Path:
        return block_folder(self.folder, index, self._key)

    @property
    def _n_blocks(self) -> int:
        return n_blocks(len(self.question_ids), self.description["rows_per_block"])

    @property
    def _key(self) -> str:
        return fingerprint({k: v for k, v in self.description.items() if k not in NOT_COMPARED})


def plan_extraction(
    extractor: HiddenStateExtractor,
    rows: Mapping[str, Sequence[Any]],
    fill: Callable[[str], Request],
    sites: Sequence[str],
    folder: str | Path,
    *,
    store: str = "float16",
    rows_per_block: int = ROWS_PER_BLOCK,
    **about: Any,
) -> Extraction:
    """Describes what will be extracted, and claims the folder for it.

    Args:
        extractor: From `hidden_states.extractor_for`.
        rows: Columns as `storage.rows_table` takes them; `question_id`, `prompt` and
            `audio_sha256` are needed.
        fill: From a question's id to the question with its audio.
        sites: Full names, from `parse_sites`.
        folder: New, empty, or with features of the same model and questions.
        store: Precision on disk, a name in `STORED`.
        rows_per_block: Rows in one file; the most that a kill costs.
        about: More for the description, such as `prompt="main"`.

    Raises:
        FeaturesError: The folder holds something else; what differs is named.
    """
    folder = Path(folder)
    if store not in STORED:
        raise FeaturesError(f"states are stored as one of {', '.join(STORED)}, not {store!r}")
    if rows_per_block < 1:
        raise FeaturesError(f"a block needs a row; rows_per_block={rows_per_block}")
    table = rows_table(rows)
    if len(set(rows["question_id"])) != len(table):
        raise FeaturesError("a question is there twice: ids must be unique over all splits")
    description = {
        "model": dict(extractor.description),
        "questions": _hash_of(table),
        "store": store,
        "rows_per_block": rows_per_block,
        "otoscope_version": __version__,
        **about,
    }
    if ANSWER in extractor.widths:
        description["hidden_size"] = extractor.widths[ANSWER]
    description = FEATURES.plain(description)
    if any((folder / "blocks").glob("*/*.arrow")):
        validate_same(folder, description, read_description(folder))
        if not has_rows(folder, table):
            write_rows(folder, table)
    else:  # a description of nothing extracted yet is replaced
        FEATURES.validate_free(folder)
        write_description(folder, description, table)
    return Extraction(
        extractor, fill, sites, folder, read_description(folder), list(rows["question_id"])
    )


def _hash_of(rows: pa.Table) -> str:
    """SHA-256 of everything about questions that a state may depend on, audio included."""
    digest = hashlib.sha256()
    for row in rows.select(HASHED).to_pylist():
        digest.update(json.dumps([row[name] for name in HASHED]).encode())
    return digest.hexdigest()


def _stored(
    site: str, states: np.ndarray, requests: Sequence[Request], store: str = "float32"
) -> np.ndarray:
    """A site's states in the stored precision, one row for each of `requests`.

    Raises:
        FeaturesError: One is not finite, in the model itself or in the stored precision.
    """
    with np.errstate(over="ignore"):
        stored = states.astype(store)
    if np.isfinite(stored).all():
        return stored
    row = int(np.flatnonzero(~np.isfinite(stored).all(axis=1))[0])
    where = f"site {site!r} of question {requests[row].question.question_id!r}"
    if not np.isfinite(states[row]).all():
        raise FeaturesError(
            f"{where} is not finite in the model itself; try another --dtype, such as bfloat16"
        )
    raise FeaturesError(
        f"{where} reaches {np.abs(states[row]).max():.3g}, which {store} cannot hold; store "
        "them with --store-dtype float32"
    )


@contextmanager
def _no_bars(datasets: Any) -> Iterator[None]:
    """Without the progress bars of `datasets`, one a block."""
    shown = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()
