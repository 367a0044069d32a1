"""LoquaciousSet as a corpus: the published list, or a draw by the published rules."""

from collections.abc import Iterable
from pathlib import Path

from builders.corpora.base import SILENT, Corpus, CorpusError, Skipped, SourceClip, check_option
from builders.corpora.loquacious.rows import (
    AUDIO,
    CONFIG,
    REPOSITORY,
    SPLIT,
    LoquaciousSet,
    listed_rows,
)
from builders.corpora.loquacious.selection import SEED
from builders.corpora.reading.dataset_rows import reject_revision_of_folder
from builders.corpora.reading.partition import check_splits
from otoscope.folders import cache_folder
from otoscope.progress import Progress

SELECTIONS = ("published", "frozen")
ATTRIBUTION = (
    "Parcollet and others, SpeechBrain (arXiv:2505.21578), from VoxPopuli (European Parliament, "
    "Meta), Common Voice (Mozilla) and other corpora."
)
LICENCE_NOTE = (
    "LoquaciousSet gathers corpora with terms of their own; read its card before you redistribute "
    "anything but clips of VoxPopuli and Common Voice, which are CC0."
)


def copy_at(where: str | Path, revision: str | None, work_folder: Path | None) -> LoquaciousSet:
    """The set at a place; the published repository when that is empty.

    Raises:
        CorpusError: A revision of a folder on this disk.
    """
    place = str(Path(where).expanduser()) if str(where) else REPOSITORY
    reject_revision_of_folder(Path(place), revision)
    return LoquaciousSet(place, revision, work_folder or cache_folder() / "streamed")


def open_loquacious(
    where: str | Path = REPOSITORY,
    *,
    revision: str | None = None,
    work_folder: Path | None = None,
    splits: Iterable[str] = ("test",),
    selection: str = "published",
    on_error: str = "stop",
    progress: Progress = SILENT,
) -> Corpus:
    """The hundred selected clips of the test split.

    Args:
        where: A Hub repository, or a folder with its `test/*.parquet`.
        revision: A commit of the repository; required for one.
        work_folder: For the audio of the selected clips; the cache by default.
        splits: Only test exists.
        selection: `published` draws by the published rules and leaves spans to the detector;
            `frozen` takes the clips of the published list with its spans.
        on_error: `stop` or `skip` at a selected clip that is missing.
        progress: Shows how many rows have been read.

    Raises:
        CorpusError: An unpinned repository, another split, no such set, or missing clips.
    """
    if check_splits(splits) != ("test",):
        raise CorpusError(
            "the published selection from LoquaciousSet is a test split only; use --splits test"
        )
    check_option(
        "selection of LoquaciousSet", selection, SELECTIONS,
        f"For every row: --source dataset:{REPOSITORY}@REVISION --config {CONFIG} "
        f"--audio-column {AUDIO}",
    )  # fmt: skip
    check_option("on_error", on_error, ("stop", "skip"))
    copy = copy_at(where, revision, work_folder)
    if selection == "frozen":
        selected = listed_rows()
        origin = "{} of the {} clips of the published list, with its onsets and offsets."
    else:
        selected = copy.draw()
        origin = (
            f"{{}} of {{}} clips drawn by the published rules, seed {SEED}. The options of the "
            "authors' own draw are lost: their clips are --selection frozen."
        )
    stored = copy.store(selected, progress)
    missing = [each.clip_id for each in selected if each.item_id not in stored]
    if missing and (on_error == "stop" or len(missing) == len(selected)):
        raise CorpusError(
            f"{copy.where}: {len(missing)} of {len(selected)} selected clips are missing or "
            f"without audio, first {missing[0]}; --on-error skip (on_error='skip') goes on "
            "without them"
        )
    clips, n_moved = [], 0
    for position, each in enumerate(selected):
        if (row := stored.get(each.item_id)) is None:
            continue
        n_moved += row.row != each.row
        path = copy.work_folder / row.file
        clips.append(
            SourceClip(
                each.item_id, each.clip_id, "test", position, path,
                row.speaker_id, "", row.transcript, each.span_s, each.doubt, row.gender,
            )
        )  # fmt: skip
    notes = [origin.format(len(clips), len(selected)), LICENCE_NOTE]
    if n_moved:
        notes.append(f"{n_moved} of them are in another row than listed, and were matched by id.")
    notes += [f"{clip.clip_id} is {clip.doubt}." for clip in clips if clip.doubt]
    if Path(copy.where).is_dir():
        notes.append(f"Rows of a copy of {REPOSITORY} in {Path(copy.where).name}, split {SPLIT}.")
    else:
        notes.append(
            f"Rows of {copy.where} at revision {revision}, configuration {CONFIG}, split {SPLIT}."
        )
    return Corpus(
        name="LoquaciousSet",
        licence="other",
        attribution=ATTRIBUTION,
        language="en",
        synthetic=False,
        sources=tuple(clips),
        skipped=tuple(Skipped(name, "selected, but missing or without audio") for name in missing),
        notes=tuple(notes),
    )
