"""What a labelled dataset gives: its clips, and what its card states about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builders.corpora.base import CorpusError, Skipped
from builders.corpora.reading.terms import check_terms
from builders.splits import LABELLED_SPLITS
from otoscope.errors import first_names


@dataclass(frozen=True)
class LabelledClip:
    """One clip on its way into a dataset.

    Attributes:
        id: Unique in the dataset. It should not say the label.
        path: The audio file.
        label: One of the closed set.
        file_name: What the source calls the clip, e.g. a relative path; for the table of files.
        cluster_id: What is resampled together and never divided; the id where empty.
        speaker_id, source_id: Empty where unknown.
        split: `development` or `holdout`; empty where the dataset's `Division` decides.
        text: Words that the question quotes; None where it quotes none.
        transcript: Words that are spoken; None where unknown.
        note: Anything else for the table of files, e.g. how a pair was made.
    """

    id: str
    path: Path
    label: str
    file_name: str
    cluster_id: str = ""
    speaker_id: str = ""
    source_id: str = ""
    split: str = ""
    text: str | None = None
    transcript: str | None = None
    note: str = ""

    @property
    def cluster(self) -> str:
        """`cluster_id`, or the id."""
        return self.cluster_id or self.id


@dataclass(frozen=True)
class Division:
    """How clips without a split of their own are divided.

    Attributes:
        holdout: Of each class's clips: a share below 1. Or, from 1, how many clips in all.
        apart: What must not be in both splits, beside clusters and equal audio: some of
            `speaker_id` and `source_id`. Clips of which it is unknown stand alone.
        seed: Another one divides in another way.
    """

    holdout: float = 0.5
    apart: tuple[str, ...] = ()
    seed: int = 0


@dataclass(frozen=True)
class LabelledSource:
    """A labelled dataset before it is built.

    Attributes:
        name: For the title of the card, e.g. `ESC-50 animals`.
        task: The value of the column `task`, e.g. `esc50_animals`.
        labels: The closed set, in the task's own order.
        clips: In the source's own order, which the column `row` counts.
        licence: Hub licence identifier; `unknown` where it is not stated.
        attribution: Who made the recordings; cc-by and its like demand one.
        origin: Where the clips are from, e.g. a repository with its revision.
        division: None where every clip has a split.
        language: ISO code of the speech, if any.
        synthetic: Whether the audio is synthesised.
        skipped: What is left out, and why.
        notes: Sentences for the card: how the splits came about, what was not known.
    """

    name: str
    task: str
    labels: tuple[str, ...]
    clips: tuple[LabelledClip, ...]
    licence: str = "unknown"
    attribution: str = ""
    origin: str = ""
    division: Division | None = None
    language: str | None = None
    synthetic: bool = False
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()


def validate_source(source: LabelledSource) -> None:
    """Rejects a source that cannot be a labelled dataset.

    Raises:
        CorpusError: Fewer than two labels, a label outside the set or without clips, an id twice,
            clips without a split, or terms that a card cannot state.
    """
    check_terms(source.licence, source.attribution, source.language)
    present = {clip.label for clip in source.clips}
    if len(set(source.labels)) < 2:
        only = f"only {source.labels[0]!r}" if source.labels else "none"
        raise CorpusError(f"{source.name}: a closed set needs two labels or more; there is {only}")
    _validate_names("label", source.labels, source)
    if foreign := sorted(present - set(source.labels)):
        raise CorpusError(
            f"{source.name}: labels outside the set {list(source.labels)}: {first_names(foreign)}"
        )
    if without := [label for label in source.labels if label not in present]:
        raise CorpusError(f"{source.name}: no clip has the label {first_names(without)}")
    _validate_names("id", [clip.id for clip in source.clips], source)
    for clip in source.clips:
        if source.division is None and clip.split not in LABELLED_SPLITS:
            raise CorpusError(
                f"{clip.file_name}: its split is {clip.split!r}, not one of "
                f"{', '.join(LABELLED_SPLITS)}"
            )


def _validate_names(kind: str, names: Sequence[str], source: LabelledSource) -> None:
    seen = set[str]()
    for name in names:
        if not name.strip():
            raise CorpusError(f"{source.name}: an empty {kind}")
        if name in seen:
            raise CorpusError(f"{source.name}: the {kind} {name!r} is there twice")
        seen.add(name)
