"""Features through `datasets.map`: one map for each block of rows, kept under its own fingerprint.

What a block holds depends on nothing but the description of the features, its number and the sites,
so whichever process makes it writes the same file. A second process finds it, an added layer is a
file of its own, and a kill costs the block that was being made.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from otoscope.claims import locked
from otoscope.models.base import Request
from otoscope.representations.features import (
    ANSWER,
    ANSWER_TOKENS,
    FEATURES,
    NOT_COMPARED,
    STORED,
    FeaturesError,
    block_folder,
    block_table,
    fingerprint,
    n_blocks,
    read_description,
    rows_table,
    sites_in,
    validate_same,
    write_description,
)
from otoscope.representations.hidden_states import HiddenStateExtractor, HiddenStates
from otoscope.version import __version__

ROWS_PER_BLOCK = 256
HASHED = ("question_id", "prompt", "attribute", "label_name", "audio_sha256")


class Share(NamedTuple):
    """What one process has done.

    Attributes:
        n_rows: Rows in all blocks that are its own.
        n_made: Those that were looked at now; the others were there.
    """

    n_rows: int
    n_made: int


class Size(NamedTuple):
    """What is still to be made, by all processes.

    Attributes:
        n_rows: Rows that lack at least one site.
        n_bytes: What the missing sites will take on disk.
    """

    n_rows: int
    n_bytes: int


@dataclass(frozen=True)
class Extraction:
    """Sites of a model for the questions of a plan, in one folder. Made by `plan_extraction`.

    Attributes:
        extractor: Gives the states of a batch.
        fill: Question's id to the question with its sound.
        sites: Full names.
        folder: Where features go.
        description: As `features.json` has it.
        question_ids: In plan order.
    """

    extractor: HiddenStateExtractor
    fill: Callable[[str], Request]
    sites: Sequence[str]
    folder: Path
    description: Mapping[str, Any]
    question_ids: Sequence[str]

    def size(self) -> Size:
        """How much is missing, by the look of one question.

        Raises:
            ModelError, FeaturesError: That question cannot be looked at as asked.
        """
        missing = {index: self._missing(index) for index in range(self._n_blocks)}
        wanted = [site for site in self.sites if any(site in sites for sites in missing.values())]
        if not wanted:
            return Size(0, 0)
        table = self._table(self.question_ids[:1], wanted, _nobody)
        n_bytes = {name: table[name].nbytes for name in table.column_names}
        n_bytes[ANSWER] = n_bytes.get(ANSWER, 0) + n_bytes.pop(ANSWER_TOKENS, 0)
        n_rows = {index: len(self._ids(index)) for index in missing}
        return Size(
            sum(n_rows[index] for index, sites in missing.items() if sites),
            sum(
                n_rows[index] * n_bytes[site] for index, sites in missing.items() for site in sites
            ),
        )

    def make(self, step: Callable[..., None], *, rank: int = 0, world: int = 1) -> Share:
        """Makes what is missing of this process's share, every `world`-th block.

        Args:
            step: Called with a number of rows whenever so many more are done.
            rank, world: Which share of how many.

        Raises:
            ModelError: A question cannot be looked at.
            FeaturesError: A state is not finite as it is to be stored.
        """
        n_made = sum(self._make(index, step) for index in range(rank, self._n_blocks, world))
        return Share(self.n_own(rank, world), n_made)

    def n_own(self, rank: int, world: int) -> int:
        """Rows of a share."""
        return sum(len(self._ids(index)) for index in range(rank, self._n_blocks, world))

    def _make(self, index: int, step: Callable[..., None]) -> int:
        """How many rows of a block were looked at."""
        import datasets

        ids = self._ids(index)
        if not self._missing(index):
            step(len(ids))
            return 0
        with _alone(self._block(index)) as folder:
            missing = self._missing(index)
            if not missing:  # another process made it meanwhile
                step(len(ids))
                return 0
            name = fingerprint(self._key, index, missing)
            block = datasets.Dataset.from_dict({"question_id": ids}).with_format("arrow")
            with _no_bars(datasets):
                block.map(
                    lambda part: self._table(part["question_id"].to_pylist(), missing, step),
                    batched=True,
                    batch_size=None,
                    remove_columns=["question_id"],
                    features=self._features(datasets, missing),
                    new_fingerprint=name,
                    cache_file_name=str(folder / f"{name}.arrow"),
                )
        return len(ids)

    def _table(
        self, ids: Sequence[str], sites: Sequence[str], step: Callable[..., None]
    ) -> pa.Table:
        """Looks at some questions, and keeps no more than what is stored."""
        stored: dict[str, list[np.ndarray]] = {site: [] for site in sites if site != ANSWER}
        answers: list[tuple[np.ndarray, np.ndarray]] = []
        size = self.extractor.batch_size
        for start in range(0, len(ids), size):
            questions = [self.fill(name) for name in ids[start : start + size]]
            seen = self.extractor.extract(questions, sites)
            for site, parts in stored.items():
                parts.append(_stored(site, seen, questions, self.description["store"]))
            answers += seen.answers
            step(len(questions))
        columns = {site: np.concatenate(parts) for site, parts in stored.items()}
        return block_table(columns, answers if ANSWER in sites else None)

    def _features(self, datasets: Any, sites: Sequence[str]) -> Any:
        number = datasets.Value(self.description["store"])
        columns = {
            site: datasets.List(number, length=self.extractor.widths[site])
            for site in sites
            if site != ANSWER
        }
        if ANSWER in sites:
            columns[ANSWER] = datasets.List(datasets.Value("float32"))
            columns[ANSWER_TOKENS] = datasets.List(datasets.Value("int32"))
        return datasets.Features(columns)

    def _missing(self, index: int) -> list[str]:
        there = sites_in(self._block(index))
        return [site for site in self.sites if site not in there]

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
    """Decides what will be extracted, and takes the folder for it.

    Args:
        extractor: From `hidden_states.extractor_for`.
        rows: Columns as `features.rows_table` takes them; `question_id`, `prompt` and
            `audio_sha256` are needed.
        fill: Question's id to the question with its sound.
        sites: Full names, from `parse_sites`.
        folder: New, empty, or with features of the same model and questions.
        store: Precision on disk, a name in `STORED`.
        rows_per_block: Rows in one file; what a kill costs at most.
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
    else:  # a description of nothing extracted yet is replaced
        FEATURES.validate_free(folder)
        write_description(folder, description, table)
    return Extraction(
        extractor, fill, sites, folder, read_description(folder), list(rows["question_id"])
    )


def _nobody(n: int) -> None:
    """Where nobody watches."""


def _hash_of(rows: pa.Table) -> str:
    """SHA-256 of everything about questions that a state may depend on, sound included."""
    digest = hashlib.sha256()
    for row in rows.select(HASHED).to_pylist():
        digest.update(json.dumps([row[name] for name in HASHED]).encode())
    return digest.hexdigest()


def _stored(site: str, seen: HiddenStates, questions: Sequence[Request], store: str) -> np.ndarray:
    """A site's states in the precision of the disk.

    Raises:
        FeaturesError: One is not finite; says whether that is the model's doing or the disk's.
    """
    states = seen.states[site]
    with np.errstate(over="ignore"):
        stored = states.astype(store)
    if np.isfinite(stored).all():
        return stored
    row = int(np.flatnonzero(~np.isfinite(stored).all(axis=1))[0])
    where = f"site {site!r} of question {questions[row].question.question_id!r}"
    if not np.isfinite(states[row]).all():
        raise FeaturesError(
            f"{where} is not finite in the model itself; try another --dtype, such as bfloat16"
        )
    raise FeaturesError(
        f"{where} reaches {np.abs(states[row]).max():.3g}, which {store} cannot hold; keep these "
        "states with --store-dtype float32"
    )


@contextmanager
def _alone(folder: Path) -> Iterator[Path]:
    """A block's folder while no other process is making it, free of what a kill left behind."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        for left in folder.glob("tmp*"):
            left.unlink()
        yield folder


@contextmanager
def _no_bars(datasets: Any) -> Iterator[None]:
    """Without the bars of `datasets`, one a block."""
    shown = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()


def free_bytes(folder: Path) -> int:
    """Room on the disk of a folder."""
    return shutil.disk_usage(folder).free
