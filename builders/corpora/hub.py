"""Any dataset with an audio column, on the Hub or on disk, as a corpus.

Rows are streamed, never decoded; the encoded bytes of each become a file named by their hash, so
that everything later works from files alone.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from builders.corpora.base import Corpus, CorpusError, Skipped, SourceClip
from builders.corpora.reading.dataset_rows import (
    cell_text,
    encoded_audio,
    reject_revision_of_folder,
    require_revision,
    store_audio,
)
from builders.corpora.reading.item_ids import reject_duplicates, safe_id
from builders.corpora.reading.partition import check_splits, given_splits, leaks, partition
from builders.corpora.reading.terms import check_terms
from builders.splits import SPLITS
from otoscope.folders import cache_folder

COLUMNS = {
    "item_id": ("item_id", "id", "ID"),
    "speaker_id": ("speaker_id", "spk_id", "speaker"),
    "sentence_id": ("sentence_id",),
    "transcript": ("transcript", "text", "sentence"),
    "split": ("split",),
    "gender": ("gender", "sex"),
    "accent": ("accent", "accents"),
}
"""The columns that may hold each field; the first one that is there counts."""


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
        audio_column: The column with the audio.
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
    rows, columns = _stream(path_or_repo, from_split, config, revision, audio_column)
    column_of = {
        field: next((name for name in names if name in columns), "")
        for field, names in COLUMNS.items()
    }
    folder = work_folder or cache_folder() / "streamed"
    selected = rows if limit_sources is None else rows.take(limit_sources)
    clips, skipped = _read(selected, audio_column, column_of, folder)
    if not clips:
        raise CorpusError(
            f"{path_or_repo}, {from_split}: none of {len(skipped)} rows has audio bytes"
        )
    if column_of["split"]:
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


def _read(
    rows: Iterable[dict[str, Any]], audio_column: str, column_of: dict[str, str], folder: Path
) -> tuple[list[SourceClip], list[Skipped]]:
    """Stores the audio of every row that has some; `column_of` names the column of each field."""
    clips: list[SourceClip] = []
    skipped = []
    rows_of = defaultdict(list)
    for number, row in enumerate(rows):
        data, stored_path = encoded_audio(row[audio_column])
        if not data:
            skipped.append(Skipped(f"row {number}", f"no audio bytes in {audio_column!r}"))
            continue
        cells = {field: cell_text(row[column]) for field, column in column_of.items() if column}
        clips.append(_clip(number, cells, store_audio(folder, data, stored_path)))
        rows_of[clips[-1].item_id].append(f"row {number}")
    reject_duplicates(rows_of, kind="item_id")
    return clips, skipped


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
        require_revision(path_or_repo, revision)
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
    except yaml.YAMLError as error:
        raise CorpusError(f"{path_or_repo}: the YAML in its README.md is not readable") from error
    except (ValueError, OSError) as error:
        raise CorpusError(f"{path_or_repo}, split {split!r}: {error}") from error
    if audio_column not in columns:
        raise CorpusError(f"{path_or_repo} has no column {audio_column!r}; it has {columns}")
    return rows.cast_column(audio_column, datasets.Audio(decode=False)), columns


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
