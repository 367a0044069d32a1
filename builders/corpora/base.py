"""What a corpus gives: source clips on disk, and the facts that a card states about them."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from builders.corpora.archives import is_archive
from otoscope.errors import InputError
from otoscope.progress import Progress

SILENT = Progress()
"""Shows no progress; the default of every function that reads a corpus."""


class CorpusError(InputError, ValueError):
    """A corpus that cannot be used; the message names the cause and the remedy."""


@dataclass(frozen=True)
class SourceClip:
    """One unmodified clip.

    Attributes:
        item_id: The published item id, e.g. `p226_01`; unique in its split.
        clip_id: The corpus's own clip id, e.g. `p226_106`.
        split: `train`, `validation` or `test`.
        position: Place in the published order of its list, from 0; the published train list
            includes validation.
        path: The audio file.
        speaker_id: The corpus's own pseudonym; empty where unknown.
        sentence_id: Empty where unknown.
        transcript: White space collapsed; empty where unknown.
        span_s: Start and end of speech in seconds where a list gives them, else None.
        doubt: Why the given span should be reviewed; empty if there is no reason.
        gender, accent: Of the speaker as the corpus states them; empty where it does not.
    """

    item_id: str
    clip_id: str
    split: str
    position: int
    path: Path
    speaker_id: str = ""
    sentence_id: str = ""
    transcript: str = ""
    span_s: tuple[float, float] | None = None
    doubt: str = ""
    gender: str = ""
    accent: str = ""


class Skipped(NamedTuple):
    """Something in the corpus that did not become a source clip, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Corpus:
    """The selected source clips and what a card says about their origin.

    Attributes:
        name: E.g. `VCTK 0.80`.
        licence: Hub licence identifier, e.g. `cc-by-4.0`; `unknown` where not stated.
        attribution: Who made the recordings, for the card.
        language: ISO 639-1 code, or None.
        synthetic: Whether the speech is synthesised.
        sources: In published order within each split.
        skipped: What was excluded, and why.
        notes: Sentences for the card on selection, microphone, seeds and the like.
    """

    name: str
    licence: str
    attribution: str
    language: str | None
    synthetic: bool
    sources: tuple[SourceClip, ...]
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()


def existing_folder(where: str | Path) -> Path:
    """The folder at a path that a user gave; `~` is expanded.

    Raises:
        CorpusError: No path, no folder there, or an archive that nobody unpacked.
    """
    if not str(where):
        raise CorpusError("a folder is needed, as in --source KIND:PATH")
    folder = Path(where).expanduser()
    if folder.is_file() and is_archive(folder):
        raise CorpusError(f"{where} is an archive; unpack it and give the folder")
    if not folder.is_dir():
        raise CorpusError(f"there is no folder {str(where)!r}")
    return folder


def check_option(option: str, value: str, allowed: Collection[str], remedy: str = "") -> None:
    """Rejects a value that an option does not have.

    Raises:
        CorpusError: Naming the option, the value and those there are.
    """
    if value not in allowed:
        there = ", ".join(allowed)
        raise CorpusError(f"no {option} {value!r}; there are {there}{remedy and f'. {remedy}'}")
