"""From `KIND[:WHERE][@REVISION]` and options to a corpus.

To add a corpus: write a function `open_… -> Corpus` in a file of its own beside this one, say
below which options it takes, and name it in `CORPORA`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from builders.corpora import voices
from builders.corpora.base import Corpus, CorpusError, SourceClip
from builders.corpora.beeps import open_beeps
from builders.corpora.folder import open_folder
from builders.corpora.hub import open_dataset
from builders.corpora.loquacious.opening import REPOSITORY, open_loquacious
from builders.corpora.spontaneous.opening import open_spontaneous
from builders.corpora.vctk.opening import open_vctk
from otoscope.folders import cache_folder
from otoscope.progress import Progress
from otoscope.registry import Registry

DEFAULT_N_VOICED = 40


@dataclass(frozen=True)
class CorpusOptions:
    """Which corpus, and which part of it; see the options of the same names."""

    source: str
    splits: str = "test"
    selection: str = "published"
    microphone: str = "mic1"
    metadata: Path | None = None
    licence: str = "unknown"
    attribution: str = ""
    language: str = ""
    from_split: str = "test"
    config: str = ""
    audio_column: str = "audio"
    limit_sources: int | None = None
    on_error: str = "stop"

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> "CorpusOptions":
        """Takes what it knows from a command's options."""
        return cls(**{f.name: options[f.name] for f in fields(cls) if f.name in options})

    @property
    def kind(self) -> str:
        """A key of `CORPORA`."""
        return re.split("[:@]", self.source, maxsplit=1)[0]

    @property
    def where(self) -> str:
        """What comes after the kind, a revision included."""
        return self.source.removeprefix(self.kind).removeprefix(":")


Opener = Callable[[CorpusOptions, tuple[str, ...], Progress], Corpus]
"""What was asked, the splits, where to show progress."""


def open_corpus(choice: CorpusOptions, progress: Progress) -> Corpus:
    """Opens the corpus that was asked for.

    Raises:
        LookupError: There is no such kind.
        CorpusError: The corpus cannot be used as asked.
    """
    return CORPORA[choice.kind](choice, _splits(choice), progress)


def spoken_sources(choice: CorpusOptions) -> tuple[list[SourceClip], int]:
    """What `voices[:N]` would speak, without speaking, and its sampling rate in Hz."""
    chosen = voices.choose(_n_voiced(choice), _splits(choice))
    sources = [
        SourceClip(
            c.utterance.item_id, c.utterance.item_id, c.split, c.position, Path(),
            c.utterance.voice, c.utterance.sentence_id, c.utterance.sentence,
        )
        for c in chosen
    ]  # fmt: skip
    return sources, voices.SAMPLING_RATE


def _splits(choice: CorpusOptions) -> tuple[str, ...]:
    splits = tuple(name for name in choice.splits.split(",") if name)
    if not splits:
        raise CorpusError("--splits names no split; there are test, train and validation")
    return splits


def _n_voiced(choice: CorpusOptions) -> int:
    if not choice.where:
        return DEFAULT_N_VOICED
    if not choice.where.isdecimal() or int(choice.where) < 1:
        raise CorpusError(f"--source voices:{choice.where}: N must be a whole number from 1")
    return int(choice.where)


def _open_voices(choice: CorpusOptions, splits: tuple[str, ...], progress: Progress) -> Corpus:
    n = _n_voiced(choice)
    with progress.bar("Speaking", n * len({*splits} - {"validation"})) as step:
        return voices.open_voices(
            cache_folder(),
            n_sources=n,
            splits=splits,
            progress=lambda done, total: step(done, total=True),
        )


def _open_vctk(choice: CorpusOptions, splits: tuple[str, ...], progress: Progress) -> Corpus:
    with progress.bar("Reading headers", 0) as step:
        return open_vctk(
            _existing(choice),
            splits=splits,
            selection=choice.selection,
            microphone=choice.microphone,
            on_error=_on_missing(choice),
            progress=lambda done, total: step(done, total=True),
        )


def _open_folder(choice: CorpusOptions, splits: tuple[str, ...], progress: Progress) -> Corpus:
    return open_folder(
        _existing(choice),
        splits=splits,
        metadata=choice.metadata,
        licence=choice.licence,
        attribution=choice.attribution,
        language=choice.language or None,
    )


def _open_dataset(choice: CorpusOptions, splits: tuple[str, ...], progress: Progress) -> Corpus:
    name, _, revision = choice.where.partition("@")
    if not name:
        raise CorpusError("--source dataset:PATH_OR_REPO[@REVISION] needs a path or a repository")
    return open_dataset(
        name,
        split=choice.from_split,
        config=choice.config or None,
        revision=revision or None,
        audio_column=choice.audio_column,
        limit=choice.limit_sources,
        licence=choice.licence,
        attribution=choice.attribution,
        language=choice.language or None,
        splits=splits,
        work_folder=cache_folder() / "streamed",
    )


def _open_loquacious(choice: CorpusOptions, splits: tuple[str, ...], progress: Progress) -> Corpus:
    where, revision = loquacious_place(choice)
    with progress.bar("Reading rows", 0) as step:
        return open_loquacious(
            where,
            revision=revision,
            work_folder=cache_folder() / "streamed",
            splits=splits,
            selection=choice.selection,
            on_error=_on_missing(choice),
            progress=lambda done, total: step(done, total=True),
        )


def loquacious_place(choice: CorpusOptions) -> tuple[str, str | None]:
    """The repository or folder of `loquacious[:WHERE][@REVISION]`, and the revision if given."""
    where, _, revision = choice.where.partition("@")
    return str(Path(where).expanduser()) if where else REPOSITORY, revision or None


def _open_spontaneous(choice: CorpusOptions, splits: tuple[str, ...], progress: Progress) -> Corpus:
    with progress.bar("Decoding", 0) as step:
        return open_spontaneous(
            _existing(choice),
            work_folder=cache_folder() / "resampled",
            splits=splits,
            selection=choice.selection,
            on_error=_on_missing(choice),
            progress=lambda done, total: step(done, total=True),
        )


def _on_missing(choice: CorpusOptions) -> str:
    return "skip" if choice.on_error == "skip" else "raise"


def _open_beeps(choice: CorpusOptions, splits: tuple[str, ...], progress: Progress) -> Corpus:
    return open_beeps(cache_folder() / "beeps")


def _existing(choice: CorpusOptions) -> Path:
    path = Path(choice.where).expanduser()
    if not choice.where or not path.is_dir():
        raise CorpusError(f"--source {choice.source}: there is no folder {choice.where!r}")
    return path


CORPORA: Registry[Opener] = Registry(
    "source corpus",
    {
        "voices": _open_voices,
        "vctk": _open_vctk,
        "folder": _open_folder,
        "dataset": _open_dataset,
        "loquacious": _open_loquacious,
        "cv-spontaneous": _open_spontaneous,
        "beep": _open_beeps,
    },
)
