"""Any dataset with an audio column, on the Hub or on disk, as a corpus.

Rows are streamed, never decoded; the encoded bytes of each become a file named by their hash, so
that everything later works from files alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from builders.corpora.base import Corpus, CorpusError, Skipped, SourceClip
from builders.corpora.reading.dataset_rows import (
    cell_text,
    reject_revision_of_folder,
    require_revision,
    store_audio,
)
from builders.corpora.reading.item_ids import reject_duplicates, safe_id
from builders.corpora.reading.partition import check_splits, given_splits, leaks, partition
from builders.corpora.reading.terms import check_terms
from builders.splits import SPLITS
from otoscope.audits.audio_files import AudioFiles, NoFile, cell_of
from otoscope.audits.opening import DatasetError, find_dataset, opening
from otoscope.errors import first_names
from otoscope.folders import cache_folder
from otoscope.tables.names import AUDIO_NAMES, ColumnError, column, item_columns


class _Rows(NamedTuple):
    """Streamed rows, their columns, the one with the audio, and where its files lie."""

    rows: Any
    columns: list[str]
    audio_column: str
    files: AudioFiles


class _Read(NamedTuple):
    """Clips, rows without audio, and ids that several rows have."""

    clips: list[SourceClip]
    skipped: list[Skipped]
    repeated: list[str]


def open_dataset(
    path_or_repo: str | Path,
    *,
    from_split: str | None = None,
    work_folder: Path | None = None,
    splits: Iterable[str] = ("test",),
    config: str | None = None,
    revision: str | None = None,
    audio_column: str = "audio",
    limit_sources: int | None = None,
    licence: str = "unknown",
    attribution: str = "",
    language: str | None = None,
    synthetic: bool = False,
    shared_texts: str = "together",
) -> Corpus:
    """The rows of one split of a dataset, in their order.

    Args:
        path_or_repo: A folder or a Hub repository.
        from_split: The dataset's own split to read, e.g. `train`; `test` when None.
        work_folder: Where the audio files go; the cache by default.
        splits: The splits to divide the rows into: any of train, validation and test. A column
            `split` decides where there is one, otherwise `partition`.
        config: The dataset's configuration; its default one if None.
        revision: A commit of the Hub repository; required for one.
        audio_column: The column with the audio or the paths of files; `audio` stands for any of
            `otoscope.tables.names.AUDIO_NAMES`.
        limit_sources: Only the first so many rows; the division is drawn among these alone, so
            another limit may put a row into another split.
        licence: Hub licence identifier.
        attribution: Who made the recordings.
        language: ISO 639-1 code.
        synthetic: Whether the speech is synthesised.
        shared_texts: See `partition`.

    Raises:
        CorpusError: An unpinned repository, no such split or column, no audio in it, an argument
            that this kind of folder has no use for, or terms that a card cannot state.
    """
    splits = check_splits(splits)
    check_terms(licence, attribution, language)
    if not str(path_or_repo):
        raise CorpusError("--source dataset:PATH_OR_REPO[@REVISION] needs a path or a repository")
    if limit_sources is not None and limit_sources < 1:
        raise CorpusError(f"limit_sources must be at least 1, got {limit_sources}")
    reject_revision_of_folder(Path(path_or_repo), revision)
    _reject_unused(Path(path_or_repo), from_split, config)
    from_split = from_split or "test"
    rows = _open(path_or_repo, from_split, config, revision, audio_column)
    try:
        column_of = item_columns(rows.columns)
    except ColumnError as error:
        raise CorpusError(f"{path_or_repo}: {error}") from error
    folder = work_folder or cache_folder() / "streamed"
    if limit_sources is not None:
        rows = rows._replace(rows=rows.rows.take(limit_sources))
    clips, skipped, repeated = _read(rows, column_of, folder)
    if not clips:
        first = f" ({skipped[0].name}: {skipped[0].reason})" if skipped else ""
        raise CorpusError(
            f"{path_or_repo}, {from_split}: none of {len(skipped)} rows has audio{first}"
        )
    if "split" in column_of:
        divided = given_splits(clips, splits, given_by=f"the column {column_of['split']!r}")
    else:
        divided = partition(clips, splits=splits, shared_texts=shared_texts)
    on_disk = Path(path_or_repo).exists()
    name = Path(path_or_repo).name if on_disk else str(path_or_repo)
    at = f" at revision {revision}" if revision and not on_disk else ""
    end = "" if limit_sources is None else f", none after row {limit_sources}"
    return Corpus(
        name=name,
        licence=licence,
        attribution=attribution,
        language=language,
        synthetic=synthetic,
        sources=divided.clips,
        skipped=(*skipped, *divided.skipped),
        notes=(
            f"Rows of {name}{at}, configuration {config or 'default'}, split {from_split}{end}.",
            *_on_repeated(repeated, column_of),
            *leaks(divided.clips),
        ),
    )


def _reject_unused(path: Path, from_split: str | None, config: str | None) -> None:
    """Rejects arguments that reading what `save_to_disk` wrote would pass over."""
    one_split = (path / "state.json").is_file()
    several = (path / "dataset_dict.json").is_file()
    if config is not None and (one_split or several):
        raise CorpusError(
            f"{path} was saved by `save_to_disk`, without configs: leave out --config"
        )
    if from_split is not None and one_split:
        raise CorpusError(f"{path} holds one split without a name: leave out --from-split")


def _read(rows: _Rows, column_of: Mapping[str, str], folder: Path) -> _Read:
    """Stores the audio of every row that has some; `column_of` names the column of each field."""
    clips: list[SourceClip] = []
    skipped = []
    rows_of = defaultdict(list)
    occurrences: Counter[str] = Counter()
    for number, row in enumerate(_each(rows)):
        data, stored_path = cell_of(row[rows.audio_column])
        try:
            data = data or (rows.files.read(stored_path) if stored_path else b"")
        except NoFile as error:
            skipped.append(Skipped(f"row {number}", str(error)))
            continue
        if not data:
            skipped.append(Skipped(f"row {number}", f"no audio in {rows.audio_column!r}"))
            continue
        cells = {field: cell_text(row.get(column)) for field, column in column_of.items()}
        item_id = cells.get("item_id", "")
        occurrences[item_id] += 1
        if item_id and occurrences[item_id] > 1:  # FLEURS: a sentence, whoever speaks it
            cells["item_id"] = f"{item_id}_{occurrences[item_id]}"
        clips.append(_clip(number, cells, store_audio(folder, data, stored_path)))
        rows_of[clips[-1].item_id].append(f"row {number}")
    reject_duplicates(rows_of, kind="item_id")
    repeated = [name for name, n in occurrences.items() if name and n > 1]
    return _Read(clips, skipped, repeated)


def _each(rows: _Rows) -> Iterator[dict[str, Any]]:
    try:
        with opening(rows.files.where):
            yield from rows.rows
    except DatasetError as error:
        raise CorpusError(str(error)) from error


def _open(
    path_or_repo: str | Path,
    split: str,
    config: str | None,
    revision: str | None,
    audio_column: str,
) -> _Rows:
    """The rows of a split with their audio left encoded."""
    path = Path(path_or_repo)
    if not path.exists():
        require_revision(path_or_repo, revision)
    import datasets

    files = AudioFiles(str(path_or_repo))
    rows: Any
    try:
        if (path / "state.json").is_file():
            rows = datasets.Dataset.load_from_disk(path).to_iterable_dataset()
        elif (path / "dataset_dict.json").is_file():
            rows = datasets.Dataset.load_from_disk(path / split).to_iterable_dataset()
        else:
            opened = find_dataset(path_or_repo, config, revision)
            files = opened.files
            rows = opened.streamed(split)
        columns = list(rows.column_names or next(iter(rows), {}))
        if audio_column == AUDIO_NAMES[0]:
            audio_column = column(columns, AUDIO_NAMES) or audio_column
    except (DatasetError, ColumnError) as error:
        raise CorpusError(str(error)) from error
    except ImportError as error:
        raise CorpusError(
            f"{path_or_repo}: {error} A folder of audio files opens without it, as a folder."
        ) from error
    except (ValueError, OSError) as error:
        raise CorpusError(f"{path_or_repo}, split {split!r}: {error}") from error
    if audio_column not in columns:
        raise CorpusError(f"{path_or_repo} has no column {audio_column!r}; it has {columns}")
    if isinstance((rows.features or {}).get(audio_column), datasets.Audio):
        rows = rows.cast_column(audio_column, datasets.Audio(decode=False))
    return _Rows(rows, columns, audio_column, files)


def _on_repeated(repeated: Sequence[str], column_of: Mapping[str, str]) -> list[str]:
    if not repeated:
        return []
    return [
        f"Several rows have the same {column_of['item_id']!r} ({first_names(repeated)}); a number "
        "is added from the second one on."
    ]


def _clip(number: int, cells: dict[str, str], path: Path) -> SourceClip:
    split = cells.get("split", "")
    if "split" in cells and split not in SPLITS:
        raise CorpusError(f"row {number}: unknown split {split!r}; there are {', '.join(SPLITS)}")
    item_id = safe_id(cells["item_id"]) if cells.get("item_id") else f"row_{number:06d}"
    return SourceClip(
        item_id, item_id, split, 0, path,
        cells.get("speaker_id", ""), cells.get("sentence_id", ""), cells.get("transcript", ""),
        gender=cells.get("gender", ""), accent=cells.get("accent", ""),
    )  # fmt: skip
