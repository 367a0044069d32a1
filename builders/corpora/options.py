"""Opens or verifies the corpus that a command names by `KIND[:WHERE][@REVISION]` and options."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, Protocol

from builders.corpora import CORPORA, VERIFIERS
from builders.corpora.base import SILENT, Corpus, CorpusError
from otoscope.progress import Progress

FOR_EVERY_CORPUS = ("limit_sources", "on_error")
"""Options that whoever builds from a corpus applies too; never rejected."""


@dataclass(frozen=True)
class CorpusOptions:
    """Which corpus, and which part of it; the command-line options of the same names.

    An option at its default counts as not given, and the corpus uses its own default.
    """

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
        """Takes its fields from all options of a command."""
        return cls(**{f.name: options[f.name] for f in fields(cls) if f.name in options})

    @property
    def kind(self) -> str:
        """A key of `CORPORA`."""
        return re.split("[:@]", self.source, maxsplit=1)[0]

    @property
    def where(self) -> str:
        """What comes after the kind, a revision included."""
        return self.source.removeprefix(self.kind).removeprefix(":")

    @property
    def split_names(self) -> tuple[str, ...]:
        """The names in `splits`."""
        return tuple(name for name in self.splits.split(",") if name)

    def given(self) -> dict[str, Any]:
        """The options that are not at their defaults, as openers take them."""
        given = {
            f.name: value for f in fields(self)[1:] if (value := getattr(self, f.name)) != f.default
        }
        return given | ({"splits": self.split_names} if "splits" in given else {})


class Verification(Protocol):
    """How a copy of a corpus compares with its published list."""

    @property
    def matches(self) -> bool:
        """Whether all of the list could be compared, and nothing differs."""

    def summary(self) -> str:
        """One sentence for people."""


def open_corpus(options: CorpusOptions, progress: Progress = SILENT) -> Corpus:
    """Opens a corpus.

    Raises:
        LookupError: There is no such kind.
        CorpusError: The corpus takes no such option, or cannot be read.
    """
    corpus: Corpus = _call(CORPORA, options, progress)
    return corpus


def verify_corpus(options: CorpusOptions, progress: Progress = SILENT) -> Verification:
    """Compares a copy of a corpus with its published list; a plain folder is taken for VCTK.

    Raises:
        LookupError: There is no list for this kind.
        CorpusError: The corpus takes no such option, or cannot be read.
    """
    if options.kind not in CORPORA and Path(options.source).expanduser().is_dir():
        options = replace(options, source=f"vctk:{options.source}")
    verification: Verification = _call(VERIFIERS, options, progress)
    return verification


def _call(table: Mapping[str, str], options: CorpusOptions, progress: Progress) -> Any:
    module, _, name = table[options.kind].partition(":")
    function = getattr(import_module(module), name)
    takes, given = signature(function).parameters, options.given()
    foreign = [name for name in given if name not in takes and name not in FOR_EVERY_CORPUS]
    if foreign:
        there = [f.name for f in fields(options)[1:] if f.name in takes]
        raise CorpusError(
            f"--source {options.kind} does not take {_flags(foreign)}; it takes {_flags(there)}"
        )
    arguments = {name: value for name, value in given.items() if name in takes}
    where = options.where
    if "revision" in takes:
        where, _, revision = where.partition("@")
        arguments["revision"] = revision or None
    if "progress" in takes:
        arguments["progress"] = progress
    return function(where, **arguments)


def _flags(names: list[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names) or "no option"
