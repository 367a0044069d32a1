"""Dynamic-SUPERB's 720 rows of VocalSound, in the paper's two splits.

Columns file, audio, instruction and label. The rows do not say who is heard, but names of the
original files do. Where the column `file` no longer has them, a row is looked up by its audio among
the original files; where that fails too, its speaker is unknown and it is a cluster of its own.

Source: `docs/papers.md`, value of generative audio calls, datasets.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from builders.corpora.base import SILENT, CorpusError, Skipped
from builders.corpora.reading.dataset_rows import cell_text
from builders.labelled import LabelledClip, LabelledSource
from builders.labelled.dataset_rows import PublishedRow, published_rows
from builders.labelled.survey import survey
from builders.splits import DEVELOPMENT, HOLDOUT
from builders.vocalsound_split import LABELS, TASK
from builders.vocalsound_split.names import VocalName, label_named, parse_name
from builders.vocalsound_split.original import Original
from otoscope.progress import Progress

DATASET = "DynamicSuperb/VocalSoundRecognition_VocalSound"
REVISION = "beb7fe456e01f1a9959daae8dd507fa7790f4b62"
N_DEVELOPMENT, N_ROWS = 480, 720
ATTRIBUTION = (
    "VocalSound: Y. Gong, J. Yu, J. Glass (2022), CC BY-SA 4.0; the 720 rows by the authors of "
    "Dynamic-SUPERB (2023)."
)


class PublishedClips(NamedTuple):
    """The rows, where they are from, and what the card says of them."""

    clips: tuple[LabelledClip, ...]
    origin: str
    notes: tuple[str, ...]


def open_published(
    dataset: str = f"{DATASET}@{REVISION}",
    *,
    original: Original | None = None,
    rows: tuple[int, int] = (N_DEVELOPMENT, N_ROWS),
    work_folder: Path | None = None,
    num_proc: int = 1,
    progress: Progress = SILENT,
) -> PublishedClips:
    """The published rows, each with its split, label and speaker where it is known.

    Args:
        dataset: `ORG/NAME@REVISION` or a folder with a copy.
        original: VocalSound's own files, for speakers that the rows do not name.
        rows: Of development, and in all.
        work_folder: Where the audio goes; the cache by default.
        num_proc: Processes.
        progress: Shows how many clips were compared.

    Raises:
        CorpusError: It cannot be opened, has another number of rows or other labels, or a file
            name contradicts its row's label.
    """
    found = published_rows(dataset, needed=("file", "label"), work_folder=work_folder)
    n_development, n_rows = rows
    if len(found.rows) != n_rows:
        raise CorpusError(
            f"{dataset} has {len(found.rows)} rows, and the published set {n_rows}; take "
            f"{DATASET}@{REVISION} or a whole copy of it"
        )
    label_of = _labels({cell_text(row.cells["label"]) for row in found.rows}, dataset)
    clips = [_clip(row, label_of, dataset, n_development) for row in found.rows]
    names = [parse_name(_stated(row)) or parse_name(row.audio_name) for row in found.rows]
    n_named = sum(name is not None for name in names)
    if original is not None and n_named < n_rows:
        names = _looked_up(clips, names, original, num_proc, progress)
    clips = [_with_speaker(clip, name, dataset) for clip, name in zip(clips, names, strict=True)]
    spellings = ", ".join(f"{word!r} is {label}" for word, label in sorted(label_of.items()))
    notes = (
        f"Rows 0 to {n_development - 1} are development, {n_development} to {n_rows - 1} hold-out, "
        "as in the paper. They are all rows there are: nothing is left as a fresh test.",
        f"Labels as the dataset writes them: {spellings}.",
        _speaker_note(n_named, clips, original),
    )
    return PublishedClips(tuple(clips), found.origin, notes)


def published_source(
    published: PublishedClips, *, speaker_disjoint: bool = False
) -> LabelledSource:
    """The paper's splits, or these without the development rows whose speakers are in hold-out.

    Raises:
        CorpusError: No speaker is known, so that they cannot be kept apart.
    """
    clips, notes = published.clips, published.notes
    skipped = tuple[Skipped, ...]()
    if speaker_disjoint:
        if not any(clip.speaker_id for clip in clips):
            raise CorpusError(
                "--speaker-disjoint: no row says who is heard; give the original VocalSound with "
                "--original, and speakers are looked up by audio"
            )
        held = {c.speaker_id for c in clips if c.split == HOLDOUT} - {""}
        shared = [c for c in clips if c.split == DEVELOPMENT and c.speaker_id in held]
        clips = tuple(c for c in clips if c not in set(shared))
        skipped = tuple(Skipped(c.file_name, "its speaker is in hold-out") for c in shared)
        notes = (
            *notes,
            "Speaker-disjoint: hold-out is the paper's; development lacks the "
            f"{len(shared)} rows whose speaker is in hold-out too.",
        )
    return vocalsound_source("VocalSound (Dynamic-SUPERB)", clips, published, skipped, notes)


def vocalsound_source(
    name: str,
    clips: Sequence[LabelledClip],
    published: PublishedClips,
    skipped: Sequence[Skipped],
    notes: Sequence[str],
) -> LabelledSource:
    """What every variant has in common."""
    return LabelledSource(
        name=name,
        task=TASK,
        labels=LABELS,
        clips=tuple(clips),
        licence="cc-by-sa-4.0",
        attribution=ATTRIBUTION,
        origin=published.origin,
        skipped=tuple(skipped),
        notes=(
            *notes,
            "Speakers are VocalSound's own pseudonyms; what it knows of them (age, country, "
            "language, health) is not copied.",
        ),
    )


def _labels(words: set[str], dataset: str) -> dict[str, str]:
    """Spelling to label; every label has to be there, and nothing else."""
    found = {word: label_named(word) for word in words}
    unknown = sorted(word for word, label in found.items() if label is None)
    missing = [label for label in LABELS if label not in found.values()]
    if unknown or missing:
        what = f"{unknown[0]!r} is none of them" if unknown else f"no row has {missing[0]!r}"
        raise CorpusError(
            f"{dataset}: the labels are {', '.join(sorted(words))}; {what} ({', '.join(LABELS)})"
        )
    return {word: label for word, label in found.items() if label is not None}


def _stated(row: PublishedRow) -> str:
    return cell_text(row.cells.get("file"))


def _clip(
    row: PublishedRow, label_of: Mapping[str, str], dataset: str, n_development: int
) -> LabelledClip:
    return LabelledClip(
        id=f"row-{row.number:05d}",
        path=row.path,
        label=label_of[cell_text(row.cells["label"])],
        file_name=_stated(row) or row.audio_name or f"row {row.number}",
        split=DEVELOPMENT if row.number < n_development else HOLDOUT,
        note=f"row {row.number} of {dataset}",
    )


def _with_speaker(clip: LabelledClip, name: VocalName | None, dataset: str) -> LabelledClip:
    if name is None:
        return clip
    if name.label != clip.label:
        raise CorpusError(
            f"{dataset}, {clip.id}: the label is {clip.label!r}, and the original file "
            f"({clip.file_name}) says {name.label!r}; this is not the published set"
        )
    return replace(clip, cluster_id=name.speaker, speaker_id=name.speaker, source_id=name.session)


def _looked_up(
    clips: Sequence[LabelledClip],
    names: Sequence[VocalName | None],
    original: Original,
    num_proc: int,
    progress: Progress,
) -> list[VocalName | None]:
    """Names of rows, those that have none by the audio of the original files."""
    by_audio = original.by_audio(num_proc=num_proc, progress=progress)
    surveyed, _ = survey(clips, skip=True, num_proc=num_proc, progress=progress)
    audio = {s.clip.id: s.audio_sha256 for s in surveyed}
    return [
        name or by_audio.get(audio.get(clip.id, ""))
        for clip, name in zip(clips, names, strict=True)
    ]


def _speaker_note(n_named: int, clips: Sequence[LabelledClip], original: Original | None) -> str:
    n_known = sum(bool(clip.speaker_id) for clip in clips)
    known = Counter(clip.split for clip in clips if clip.speaker_id)
    parts = [f"{n_named} by the file name"]
    if original is not None:
        parts.append(f"{n_known - n_named} by audio among {len(original.files)} original files")
    rest = len(clips) - n_known
    unknown = (
        f"; unknown for {rest} ({known[DEVELOPMENT]} development and {known[HOLDOUT]} hold-out "
        "rows are known), each of which is a cluster of its own"
        if rest
        else ""
    )
    return f"The speaker is known for {n_known} of {len(clips)} rows, {', '.join(parts)}{unknown}."
