"""Any folder of audio as a corpus, with or without a table that describes the files."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from builders.corpora.base import Corpus, CorpusError, Skipped, SourceClip
from builders.corpora.reading.audio_files import TABLES, reject_unreadable, walk_audio
from builders.corpora.reading.item_ids import reject_duplicates, safe_id
from builders.corpora.reading.metadata import MetadataRow, read_metadata
from builders.corpora.reading.partition import check_splits, given_splits, leaks, partition
from builders.corpora.reading.terms import check_terms
from otoscope.acoustics import codec

ROUNDED_S = 1 / 8000
"""By so much a listed span may end after its clip: its ends are rounded."""


def open_folder(
    root: str | Path,
    *,
    splits: Iterable[str] = ("test",),
    metadata: Path | None = None,
    licence: str = "unknown",
    attribution: str = "",
    language: str | None = None,
    synthetic: bool = False,
    shared_texts: str = "together",
) -> Corpus:
    """The audio files of a folder and its subfolders, sorted by relative path.

    Whether a file can be decoded is not checked here. Folders that may not be opened and links to
    audio that lead nowhere are rejected; links to folders are not followed, and these and files of
    other extensions are listed as left out. With a table, only the files it lists are
    taken; without a split column they are divided by `partition`.

    Args:
        root: The folder. Hidden files and folders in it are passed over.
        splits: Any of train, validation and test.
        metadata: A table with the column `file_name` (relative to `root`) and any of `item_id`,
            `clip_id`, `speaker_id`, `sentence_id`, `transcript`, `split`, `onset_sec`,
            `offset_sec`, `gender`, `accent`; see `otoscope.tables.names` for other names of
            these. By default one of `TABLES` in the folder, if there is one.
        licence: Hub licence identifier.
        attribution: Who made the recordings.
        language: ISO 639-1 code.
        synthetic: Whether the speech is synthesised.
        shared_texts: See `partition`.

    Raises:
        CorpusError: No audio, a table that does not fit, ids that clash, or terms that a card
            cannot state.
    """
    check_terms(licence, attribution, language)
    splits, found = check_splits(splits), walk_audio(root)
    files, skipped = found.files, found.passed_over
    root = Path(root).expanduser()
    rows, table = _rows(root, metadata)
    if rows is None:
        reject_unreadable(root, found)
    else:
        unlisted = sorted(files.keys() - rows.keys())
        skipped = [Skipped(f, f"not listed in {table}") for f in unlisted] + found.unreadable
        files = _listed_files(root, rows)
    clips = [
        _clip(file_name, path, (rows or {}).get(file_name) or MetadataRow("", file_name))
        for file_name, path in sorted(files.items())
    ]
    _check_ids(clips, root)
    notes = []
    if clips[0].split:
        divided = given_splits(clips, splits, given_by=table)
        notes = [f"Splits as {table} gives them."]
    else:
        divided = partition(clips, splits=splits, shared_texts=shared_texts)
    return Corpus(
        name=root.resolve().name,
        licence=licence,
        attribution=attribution,
        language=language,
        synthetic=synthetic,
        sources=divided.clips,
        skipped=(*skipped, *divided.skipped),
        notes=(*notes, *leaks(divided.clips)),
    )


def _rows(root: Path, metadata: Path | None) -> tuple[dict[str, MetadataRow] | None, str]:
    there = [root / name for name in TABLES if (root / name).exists()]
    if metadata is None and len(there) > 1:
        names = " and ".join(path.name for path in there)
        raise CorpusError(f"{root} has {names}; name the right one with --metadata")
    if metadata is None and not there:
        return None, TABLES[0]
    path = there[0] if metadata is None else Path(metadata)
    rows = read_metadata(path)
    if not rows:
        raise CorpusError(f"{path} lists no file")
    return rows, path.name


def _listed_files(root: Path, rows: dict[str, MetadataRow]) -> dict[str, Path]:
    files = {}
    for file_name, row in rows.items():
        path = root / file_name
        if not path.is_file():
            raise CorpusError(f"{row.where}: there is no file {file_name!r} in {root}")
        if row.span_s is not None:
            _check_span(path, row, row.span_s[1])
        files[file_name] = path
    return files


def _check_span(path: Path, row: MetadataRow, offset_s: float) -> None:
    try:
        length_s = codec.duration_s(path.read_bytes())
    except (codec.AudioError, OSError):
        return  # reported when the file is decoded
    if offset_s > length_s + ROUNDED_S:
        raise CorpusError(
            f"{row.where}: the span ends at {offset_s:g} s, after the end of {row.file_name!r} "
            f"at {length_s:.6g} s"
        )


def _clip(file_name: str, path: Path, row: MetadataRow) -> SourceClip:
    try:
        item_id = row.item_id or safe_id(file_name.removesuffix(path.suffix))
    except CorpusError as error:
        raise CorpusError(f"{error} in {TABLES[0]}") from error
    return SourceClip(
        item_id, row.clip_id or item_id, row.split, 0, path,
        row.speaker_id, row.sentence_id, row.transcript, row.span_s,
        gender=row.gender, accent=row.accent,
    )  # fmt: skip


def _check_ids(clips: list[SourceClip], root: Path) -> None:
    for kind in ("item_id", "clip_id"):
        files = defaultdict(list)
        for clip in clips:
            files[getattr(clip, kind)].append(clip.path.relative_to(root).as_posix())
        reject_duplicates(files, kind=kind)
