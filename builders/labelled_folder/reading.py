"""A folder for each label, or a table of clips, as a labelled source."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from builders.corpora.base import CorpusError, Skipped
from builders.corpora.reading.audio_files import TABLES, reject_unreadable, walk_audio
from builders.corpora.reading.dataset_rows import cell_text
from builders.labelled import Division, LabelledClip, LabelledSource, clip_id
from builders.splits import DEVELOPMENT, HOLDOUT
from otoscope.errors import first_names
from otoscope.tables.files import read_table
from otoscope.tables.names import AUDIO_NAMES, column, plain, speaker_column

SPLIT_WORDS: Mapping[str, str] = {
    **dict.fromkeys(
        ("development", "dev", "train", "training", "validation", "valid"), DEVELOPMENT
    ),
    **dict.fromkeys(("holdout", "hold_out", "test", "eval", "evaluation"), HOLDOUT),
}
"""What others call the two splits."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "example_id", "clip_id", "utterance_id"),
    "label": ("label", "class", "class_name", "target", "category", "emotion", "answer"),
    "split": ("split", "subset", "partition"),
    "source_id": ("source_id", "source", "source_file", "src_file", "recording_id", "session_id"),
    "cluster_id": ("cluster_id", "cluster", "group"),
    "text": ("text", "sentence", "prompt_text"),
    "transcript": ("transcript", "transcription"),
}
"""Columns that may hold each field; the first that is there counts."""


class Terms(NamedTuple):
    """What a user states of the clips, for the card."""

    licence: str = "unknown"
    attribution: str = ""
    language: str | None = None


UNSTATED = Terms()


class _Found(NamedTuple):
    clips: list[LabelledClip]
    skipped: list[Skipped]
    notes: list[str]


def open_labelled_folder(
    where: Path,
    *,
    task: str = "generic",
    labels: tuple[str, ...] = (),
    holdout: float = 0.5,
    cluster: str | None = None,
    apart: tuple[str, ...] = (),
    seed: int = 0,
    terms: Terms = UNSTATED,
) -> LabelledSource:
    """Clips of a folder or a table.

    Args:
        where: A folder with one folder for each label, or with `development` and `holdout` (or
            train and test) above these; a folder with a table; or a table.
        task: For the column `task`.
        labels: In the task's order; those there are, sorted, when empty.
        holdout: Share of each class that is held out, where no split is given.
        cluster: The table's column of what is never divided.
        apart: What must not be in both splits beside it: some of `speaker_id`, `source_id`.
        seed: Of the division.
        terms: For the card.

    Raises:
        CorpusError: Nothing there, one label, a label without clips, a file that is not there, or
            anything of a table that is missing.
        TableError, ColumnError: The table cannot be read.
    """
    where = Path(where).expanduser()
    if not where.exists():
        raise CorpusError(f"there is no folder or table {str(where)!r}")
    if not task.strip():
        raise CorpusError("--task is empty; give the question a name such as `animals`")
    if not 0 < holdout < 1:
        raise CorpusError(f"--holdout-share is {holdout:g}; it must lie between 0 and 1")
    table = _table_of(where)
    if table is None and cluster is not None:
        raise CorpusError(f"--cluster names a column of a table, and {where} has none")
    found = _of_folders(where) if table is None else _of_table(table, cluster)
    if table is not None and where.is_dir():
        found.skipped.extend(_unlisted(where, table, found.clips))
    given = {clip.split for clip in found.clips}
    if "" in given and len(given) > 1:
        without = [clip.file_name for clip in found.clips if not clip.split]
        raise CorpusError(
            f"{where}: some clips have a split and others not: {first_names(without)}"
        )
    _validate_apart(where, found.clips, apart)
    name = where.resolve().stem if where.is_file() else where.resolve().name
    return LabelledSource(
        name=name,
        task=task,
        labels=labels or tuple(sorted({clip.label for clip in found.clips})),
        clips=tuple(found.clips),
        licence=terms.licence,
        attribution=terms.attribution,
        language=terms.language,
        division=Division(holdout, apart, seed) if given == {""} else None,
        skipped=tuple(found.skipped),
        notes=tuple(found.notes),
    )


def _validate_apart(where: Path, clips: list[LabelledClip], apart: tuple[str, ...]) -> None:
    for field in apart:
        option = f"--{field.removesuffix('_id')}-disjoint"
        if clips[0].split:
            raise CorpusError(f"{where} gives the splits; leave them out of it, or {option} here")
        if not any(getattr(clip, field) for clip in clips):
            raise CorpusError(f"{option} needs a table with the column {field}")


def _table_of(where: Path) -> Path | None:
    if where.is_file():
        return where
    there = [where / name for name in TABLES if (where / name).exists()]
    if len(there) > 1:
        names = " and ".join(path.name for path in there)
        raise CorpusError(f"{where} has {names}; name one of them with --from")
    return there[0] if there else None


def _of_folders(root: Path) -> _Found:
    """Every audio file below a folder of the first level, or of the second below split names."""
    found = walk_audio(root)
    reject_unreadable(root, found)
    top = {PurePosixPath(name).parts[0] for name in found.files if "/" in name}
    by_split = bool(top) and all(plain(name) in SPLIT_WORDS for name in top)
    depth = 2 if by_split else 1
    shallow = [name for name in found.files if len(PurePosixPath(name).parts) <= depth]
    if shallow:
        raise CorpusError(
            f"{root}: {first_names(shallow)}: not in a folder that says the label; put each clip "
            "into LABEL/, or give a table with the columns audio and label"
        )
    clips = []
    for name, path in found.files.items():
        parts = PurePosixPath(name).parts
        split = SPLIT_WORDS[plain(parts[0])] if by_split else ""
        clips.append(LabelledClip(clip_id(name), path, parts[depth - 1], name, split=split))
    skipped = [*found.passed_over, *_hidden(root), *_empty_folders(root, depth, clips)]
    notes = ["The label is the name of the folder that a clip is in."]
    if by_split:
        notes.append(f"Splits by the folders {', '.join(sorted(top))}.")
    return _Found(clips, skipped, notes)


def _hidden(root: Path) -> list[Skipped]:
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob(".*"))
    hidden = f"hidden, {len(names)} of them"
    return [Skipped(first_names(names), hidden)] if names else []


def _empty_folders(root: Path, depth: int, clips: list[LabelledClip]) -> list[Skipped]:
    """Folders that would be labels but hold no audio."""
    used = {PurePosixPath(clip.file_name).parts[:depth] for clip in clips}
    folders = [p for p in sorted(root.glob("/".join("*" * depth))) if p.is_dir()]
    names = [p.relative_to(root) for p in folders if not p.name.startswith(".")]
    return [Skipped(f"{p}/", "no audio in it") for p in names if p.parts not in used]


def _of_table(path: Path, cluster: str | None) -> _Found:
    columns, rows = read_table(path)
    audio = column(columns, AUDIO_NAMES)
    of: dict[str, str | None] = {field: column(columns, names) for field, names in NAMES.items()}
    of["speaker_id"] = speaker_column(columns)
    if audio is None or of["label"] is None:
        needed = "audio" if audio is None else "label"
        names = AUDIO_NAMES if audio is None else NAMES["label"]
        raise CorpusError(
            f"{path} has no column {needed} (or {', '.join(names[1:])}); it has "
            f"{', '.join(columns) or 'none'}"
        )
    if cluster is not None and cluster not in columns:
        raise CorpusError(f"{path} has no column {cluster!r}; it has {', '.join(columns)}")
    if not rows:
        raise CorpusError(f"{path} lists no clip")
    if cluster is not None:
        of["cluster_id"] = cluster
    clips = [_clip(path, where, row, audio, of) for where, row in rows]
    read = {audio, *of.values()}
    unread = [name for name in columns if name not in read]
    notes = [f"Columns: {', '.join(f'{f} from {c}' for f, c in of.items() if c and c != f)}."]
    notes = notes if any(c and c != f for f, c in of.items()) else []
    if unread:
        notes.append(f"Columns of the table that are not used: {', '.join(unread)}.")
    return _Found(clips, [], notes)


def _clip(
    table: Path, where: str, row: Mapping[str, Any], audio: str, of: Mapping[str, str | None]
) -> LabelledClip:
    def cell(field: str) -> str:
        name = of[field]
        return "" if name is None else cell_text(row.get(name))

    file_name = row.get(audio)
    if not isinstance(file_name, str) or not file_name.strip():
        raise CorpusError(f"{where}: the column {audio!r} holds no path of a file")
    path = table.parent / file_name.strip()
    if not path.is_file():
        raise CorpusError(f"{where}: there is no file {file_name!r} in {table.parent}")
    if not cell("label"):
        raise CorpusError(f"{where}: {file_name!r} has no label")
    split = cell("split")
    if split and plain(split) not in SPLIT_WORDS:
        raise CorpusError(
            f"{where}: split is {split!r}, not one of {', '.join(sorted(SPLIT_WORDS))}"
        )
    if of["cluster_id"] and not cell("cluster_id"):
        raise CorpusError(f"{where}: {file_name!r} has no {of['cluster_id']!r} to cluster by")
    # a text makes several questions of one file
    own = f"{file_name}\x1f{cell('text')}" if cell("text") else file_name
    return LabelledClip(
        id=cell("id") or clip_id(own),
        path=path,
        label=cell("label"),
        file_name=file_name.strip(),
        cluster_id=cell("cluster_id") or cell("source_id") or cell("speaker_id"),
        speaker_id=cell("speaker_id"),
        source_id=cell("source_id"),
        split=SPLIT_WORDS[plain(split)] if split else "",
        text=cell("text") or None,
        transcript=cell("transcript") or None,
    )


def _unlisted(root: Path, table: Path, clips: list[LabelledClip]) -> list[Skipped]:
    """Audio files below a folder that its table does not list."""
    listed = {clip.path.resolve() for clip in clips}
    found = walk_audio(root)
    names = [name for name, path in found.files.items() if path.resolve() not in listed]
    rest = Skipped(first_names(names), f"not listed in {table.name}, {len(names)} of them")
    return [*found.passed_over, *([rest] if names else [])]
