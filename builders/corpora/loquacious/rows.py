"""Rows of LoquaciousSet: streamed, drawn, and the audio of the selected ones stored.

The test split is six Parquet files, about 2 GB. The draw reads two columns; then one pass over the
rows stores the audio of the selected ones and ends with the last of them. Both results are cached
for a commit, so that later calls do not read it again.
"""

import hashlib
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from builders.corpora.base import SILENT, CorpusError
from builders.corpora.loquacious.frozen import read_loquacious_list
from builders.corpora.loquacious.selection import SEED, draw_rows
from builders.corpora.reading.dataset_rows import (
    cell_text,
    require_revision,
    store_audio,
)
from otoscope.atomic import write_json
from otoscope.audits.audio_files import cell_of
from otoscope.errors import first_line
from otoscope.progress import Progress

REPOSITORY = "speechbrain/LoquaciousSet"
CONFIG, SPLIT = "clean", "test"
AUDIO = "wav"
COLUMNS = ("ID", "spk_id", "sex", "text", AUDIO)
COMMIT = re.compile(r"[0-9a-f]{40}")


class SelectedRow(NamedTuple):
    """A selected clip, and the row where it should be."""

    item_id: str
    clip_id: str
    row: int
    span_s: tuple[float, float] | None = None
    doubt: str = ""


class StoredRow(NamedTuple):
    """A row whose audio was stored; `file` is in the work folder."""

    row: int
    speaker_id: str
    transcript: str
    file: str
    gender: str = ""


class LoquaciousSet(NamedTuple):
    """A copy of the set: a Hub repository at a revision, or a folder with `test/*.parquet`.

    Attributes:
        where: The repository or folder.
        revision: A commit of the repository; required for one.
        work_folder: For the audio of the selected clips, and for cached results.
    """

    where: str
    revision: str | None
    work_folder: Path

    def draw(self) -> list[SelectedRow]:
        """The clips that the published rules draw.

        Raises:
            CorpusError: The set cannot be read, or is too small.
        """
        cache = self._cache_file("draw")
        if cache and (cached := _read_json(cache)) is not None:
            return [SelectedRow(*row) for row in cached]
        ids, sexes = [], []
        for row in self.stream(("ID", "sex")):
            ids.append(cell_text(row["ID"]))
            sexes.append(cell_text(row["sex"]))
        rows = draw_rows(sexes, random.Random(SEED))
        selected = [
            SelectedRow(f"loquaciousset_test_{n:04d}", ids[row], row)
            for n, row in enumerate(rows, 1)
        ]
        if cache:
            write_json(cache, selected)
        return selected

    def store(
        self, selected: Sequence[SelectedRow], progress: Progress = SILENT
    ) -> dict[str, StoredRow]:
        """Stores the audio of the selected clips that are there and have some, by item id.

        A clip is the row where it should be; failing that, the first row with its id.

        Raises:
            CorpusError: The set cannot be read.
        """
        cache = self._cache_file([each[:3] for each in selected])
        if cache and (cached := _read_json(cache)) is not None:
            stored = {name: StoredRow(*values) for name, values in cached.items()}
            if all((self.work_folder / each.file).is_file() for each in stored.values()):
                return stored
        by_row = {each.row: each for each in selected}
        by_id = {each.clip_id: each for each in reversed(selected)}
        last, stored = max(by_row), {}
        with progress.bar("Reading rows", last + 1) as step:
            for number, row in enumerate(self.stream(COLUMNS)):
                clip_id = cell_text(row["ID"])
                here = by_row.get(number)
                match = here if here and here.clip_id == clip_id else by_id.get(clip_id)
                if match and (match.row == number or match.item_id not in stored):
                    data, stored_path = cell_of(row[AUDIO])
                    if data:
                        file = store_audio(self.work_folder, data, stored_path).name
                        speaker_id, text = cell_text(row["spk_id"]), cell_text(row["text"])
                        gender = cell_text(row["sex"])
                        stored[match.item_id] = StoredRow(number, speaker_id, text, file, gender)
                step()
                if number >= last and len(stored) == len(selected):
                    break
        if cache:
            write_json(cache, stored)
        return stored

    def stream(self, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Some columns of every row of the test split, in order; audio stays encoded.

        Raises:
            CorpusError: An unpinned repository, or one that cannot be read as LoquaciousSet.
        """
        folder = Path(self.where)
        files = sorted(map(str, folder.glob("test/*.parquet")))
        if folder.is_dir() and not files:
            raise CorpusError(
                f"{self.where} holds no test/*.parquet, so it is no copy of {REPOSITORY}"
            )
        if not files:
            require_revision(self.where, self.revision)
        import datasets

        options: dict[str, Any] = {"split": SPLIT, "columns": list(columns), "streaming": True}
        try:
            rows: Any
            if files:
                rows = datasets.load_dataset("parquet", data_files={SPLIT: files}, **options)
            else:
                rows = datasets.load_dataset(self.where, CONFIG, revision=self.revision, **options)
            if AUDIO in columns:
                rows = rows.cast_column(AUDIO, datasets.Audio(decode=False))
            yield from rows
        except (ValueError, OSError) as error:
            raise CorpusError(
                f"{self.where}: the columns {', '.join(columns)} of LoquaciousSet cannot be read "
                f"({first_line(error)})"
            ) from error

    def _cache_file(self, content: object) -> Path | None:
        """The file that caches a result for a commit; None for a copy that may change."""
        if Path(self.where).is_dir() or COMMIT.fullmatch(self.revision or "") is None:
            return None
        key = hashlib.sha256(json.dumps([self.where, self.revision, content]).encode())
        return self.work_folder / f"loquacious-{key.hexdigest()[:16]}.json"


def listed_rows() -> list[SelectedRow]:
    """The clips of the published list."""
    return [
        SelectedRow(row.item_id, row.clip_id, row.row, (row.onset_s, row.offset_s), row.doubt)
        for row in read_loquacious_list()
    ]


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None
