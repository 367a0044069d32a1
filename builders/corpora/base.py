"""What a source is: one unmodified clip on disk, and the corpus it came from."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from otoscope.errors import InputError


class CorpusError(InputError, ValueError):
    """A corpus that cannot be used as asked; the message names the thing and the way out."""


@dataclass(frozen=True)
class SourceClip:
    """One unmodified clip.

    Attributes:
        item_id: The published item id, e.g. `p226_01`; unique in its split.
        clip_id: The corpus's own clip id, e.g. `p226_106`.
        split: `train`, `validation` or `test`.
        position: Place in the published order of its list, from 0; the published train list
            counts validation in.
        path: The audio file.
        speaker_id: The corpus's own pseudonym; empty where unknown.
        sentence_id: Empty where unknown.
        transcript: White space collapsed; empty where unknown.
        span_s: Start and end of speech in seconds where a list gives them, else None.
        doubt: Why the list's span should be looked at, as far as it is used; empty if nothing
            speaks against it.
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


class Skipped(NamedTuple):
    """Something of the corpus that did not become a source, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Corpus:
    """The chosen sources and what has to be said about where they come from.

    Attributes:
        name: As people call it, e.g. `VCTK 0.80`.
        licence: Hub licence identifier, e.g. `cc-by-4.0`; `unknown` where nobody said.
        attribution: Who made the recordings, for the card.
        language: ISO 639-1 code, or None.
        synthetic: Whether a machine spoke.
        sources: In published order within each split.
        skipped: What was left out, and why.
        notes: Choices that were made (selection, microphone, seeds), sentences for the card.
    """

    name: str
    licence: str
    attribution: str
    language: str | None
    synthetic: bool
    sources: tuple[SourceClip, ...]
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
