"""Any dataset with an audio column, on the Hub or on disk, as a source corpus.

Rows are streamed, never decoded; the encoded bytes of each become a file named after their
content, so that everything later works from files alone.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from builders.corpora.base import Corpus, CorpusError, Skipped, SourceClip
from builders.corpora.folder import EXTENSIONS
from builders.corpora.reading.item_ids import refuse_duplicates, safe_id
from builders.corpora.reading.partition import SPLITS, check_splits, keep_given, leaks, partition
from otoscope.atomic import write_atomic

COLUMNS = {
    "item_id": ("item_id", "id", "ID"),
    "speaker_id": ("speaker_id", "spk_id", "speaker"),
    "sentence_id": ("sentence_id",),
    "transcript": ("transcript", "text", "sentence"),
    "split": ("split",),
}
"""Where each field is looked for, first match first."""

MAGIC = {b"RIFF": ".wav", b"fLaC": ".flac", b"OggS": ".ogg", b"ID3": ".mp3", b"\xff\xfb": ".mp3"}


def open_dataset(
    path_or_repo: str | Path,
    *,
    split: str,
    work_folder: Path,
    splits: Iterable[str] = ("test",),
    config: str | None = None,
    revision: str | None = None,
    audio_column: str = "audio",
    limit: int | None = None,
    licence: str = "unknown",
    attribution: str = "",
    language: str | None = None,
    synthetic: bool = False,
    shared_texts: str = "together",
) -> Corpus:
    """The rows of one split of a dataset, in their order.

    Args:
        path_or_repo: A folder or a Hub repository.
        split: The dataset's own split to read, e.g. `train`.
        work_folder: Where the audio files go.
        splits: Which of our splits to make of the rows: any of train, validation and test. A
            column `split` decides where there is one, otherwise `partition`.
        config: The dataset's configuration; its default one if None.
        revision: A commit of the Hub repository; required for one.
        audio_column: The column with the sound.
        limit: Only the first so many rows; the division is drawn among these alone, so another
            limit may put a row into another split.
        licence: Hub licence identifier.
        attribution: Who made the recordings.
        language: ISO 639-1 code.
        synthetic: Whether a machine spoke.
        shared_texts: See `partition`.

    Raises:
        CorpusError: An unpinned repository, no such split or column, or nothing with sound in it.
    """
    asked = check_splits(splits)
    if limit is not None and limit < 1:
        raise CorpusError(f"limit must be at least 1, got {limit}")
    rows, columns = _stream(path_or_repo, split, config, revision, audio_column)
    found = {
        f: next((name for name in names if name in columns), "") for f, names in COLUMNS.items()
    }
    chosen = rows if limit is None else rows.take(limit)
    sources, skipped = _read(chosen, audio_column, found, Path(work_folder))
    if not sources:
        raise CorpusError(f"{path_or_repo}, {split}: none of {len(skipped)} rows has audio bytes")
    if found["split"]:
        divided = keep_given(sources, asked, where=f"the column {found['split']!r}")
    else:
        divided = partition(sources, splits=asked, shared_texts=shared_texts)
    return Corpus(
        name=Path(path_or_repo).name if Path(path_or_repo).exists() else str(path_or_repo),
        licence=licence,
        attribution=attribution,
        language=language,
        synthetic=synthetic,
        sources=divided.sources,
        skipped=(*skipped, *divided.skipped),
        notes=(_origin(path_or_repo, config, split, revision, limit), *leaks(divided.sources)),
    )


def _read(
    rows: Iterable[dict[str, Any]], audio_column: str, columns: dict[str, str], work_folder: Path
) -> tuple[list[SourceClip], list[Skipped]]:
    """Writes the audio of every row that has some; `columns` says where each field is."""
    sources: list[SourceClip] = []
    skipped = []
    ids = defaultdict(list)
    for number, row in enumerate(rows):
        data, hint = audio_of(row[audio_column])
        if not data:
            skipped.append(Skipped(f"row {number}", f"no audio bytes in {audio_column!r}"))
            continue
        cells = {field: cell_text(row[column]) for field, column in columns.items() if column}
        sources.append(_source(number, cells, keep_audio(work_folder, data, hint)))
        ids[sources[-1].item_id].append(f"row {number}")
    refuse_duplicates(ids, what="item_id")
    return sources, skipped


def _stream(
    path_or_repo: str | Path,
    split: str,
    config: str | None,
    revision: str | None,
    audio_column: str,
) -> tuple[Any, list[str]]:
    """The streamed rows with their audio left encoded, and the names of their columns."""
    path = Path(path_or_repo)
    if not path.exists():
        refuse_unpinned(path_or_repo, revision)
    import datasets

    try:
        rows: Any
        if (path / "state.json").is_file():
            rows = datasets.Dataset.load_from_disk(path).to_iterable_dataset()
        elif (path / "dataset_dict.json").is_file():
            rows = datasets.Dataset.load_from_disk(path / split).to_iterable_dataset()
        elif path.exists():
            where = str(path.resolve())
            rows = datasets.load_dataset(where, config, split=split, streaming=True)
        else:
            rows = datasets.load_dataset(
                str(path_or_repo), config, split=split, revision=revision, streaming=True
            )
        columns = rows.column_names or list(next(iter(rows), {}))
    except ImportError as error:
        raise CorpusError(
            f"{path_or_repo}: {error} A folder of audio files opens without it, as a folder."
        ) from error
    except (ValueError, OSError) as error:
        raise CorpusError(f"{path_or_repo}, split {split!r}: {error}") from error
    if audio_column not in columns:
        raise CorpusError(f"{path_or_repo} has no column {audio_column!r}; it has {columns}")
    return rows.cast_column(audio_column, datasets.Audio(decode=False)), columns


def refuse_unpinned(repository: str | Path, revision: str | None) -> None:
    """Complains about a Hub repository whose content may change between two calls.

    Raises:
        CorpusError: No revision.
    """
    if not revision:
        raise CorpusError(
            f"{repository} is not here, so it must be a Hub repository; pin it with a revision "
            "(a commit hash) or the sources may change under your feet"
        )


def audio_of(value: Any) -> tuple[bytes, str]:
    """Encoded bytes and the path that came with them; empty where there are none."""
    if isinstance(value, bytes):
        return value, ""
    if isinstance(value, Mapping):
        return value.get("bytes") or b"", value.get("path") or ""
    return b"", ""


def cell_text(value: object) -> str:
    """A cell as text, white space collapsed; empty for none."""
    return "" if value is None else " ".join(str(value).split())


def keep_audio(folder: Path, data: bytes, hint: str) -> Path:
    """Writes the bytes under a name made of their hash, with an extension that fits."""
    suffix = PurePosixPath(hint).suffix.lower()
    if suffix not in EXTENSIONS:
        suffix = next((end for magic, end in MAGIC.items() if data.startswith(magic)), ".audio")
    return write_atomic(folder / f"{hashlib.sha256(data).hexdigest()[:32]}{suffix}", data)


def _source(number: int, cells: dict[str, str], path: Path) -> SourceClip:
    split = cells.get("split", "")
    if "split" in cells and split not in SPLITS:
        raise CorpusError(f"row {number}: unknown split {split!r}; there are {', '.join(SPLITS)}")
    item_id = safe_id(cells["item_id"]) if cells.get("item_id") else f"row_{number:06d}"
    return SourceClip(
        item_id,
        item_id,
        split,
        0,
        path,
        cells.get("speaker_id", ""),
        cells.get("sentence_id", ""),
        cells.get("transcript", ""),
    )


def _origin(
    path_or_repo: str | Path,
    config: str | None,
    split: str,
    revision: str | None,
    limit: int | None,
) -> str:
    name = Path(path_or_repo).name if Path(path_or_repo).exists() else str(path_or_repo)
    at = f" at revision {revision}" if revision and not Path(path_or_repo).exists() else ""
    end = "" if limit is None else f", none after row {limit}"
    return f"Rows of {name}{at}, configuration {config or 'default'}, split {split}{end}."
