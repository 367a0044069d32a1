"""Opens or verifies the corpus that a command names by `KIND[:WHERE][@REVISION]` and options."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Protocol

from typer import Option

from builders.corpora import CORPORA, VERIFIERS
from builders.corpora.base import SILENT, Corpus, CorpusError
from otoscope.cli.options import option_group
from otoscope.progress import Progress

FOR_EVERY_CORPUS = ("limit_sources", "on_error")
"""Options that whoever builds from a corpus applies too; never rejected."""


class OnError(StrEnum):
    """What to do about a source that cannot be used."""

    STOP = "stop"
    SKIP = "skip"


@dataclass(frozen=True)
class CorpusOptions:
    """Which corpus, and which part of it; the command-line options of the same names.

    An option that is None was not given, and the corpus uses its own default.
    """

    source: Annotated[
        str,
        Option(
            help=f"Corpus: KIND[:WHERE], KIND one of `{'`, `'.join(CORPORA)}`; e.g. `voices:40` "
            "(40 sources; the voices ship in packages), `vctk:PATH` or, from the Hub, "
            "`dataset:REPO@REVISION`."
        ),
    ] = "voices:40"
    splits: Annotated[
        str | None,
        Option(
            help="Splits to build, comma-separated: test, train, validation; `test` when absent."
        ),
    ] = None
    selection: Annotated[
        str | None,
        Option(
            help="Selection of clips (vctk, loquacious, cv-spontaneous): `published` (default: our "
            "draw by the published rules), `frozen` (the published list; vctk, loquacious), `all` "
            "(every clip; vctk)."
        ),
    ] = None
    microphone: Annotated[
        str | None, Option(help="Microphone of VCTK 0.92: `mic1` (default) or `mic2`.")
    ] = None
    metadata: Annotated[
        Path | None,
        Option(
            help="Metadata (folder): CSV, JSON lines or Parquet with file_name and, if known, "
            "speaker_id, sentence_id, transcript, split, onset_sec, offset_sec, item_id, clip_id; "
            "`metadata.csv`, `.jsonl` or `.parquet` of the folder when absent."
        ),
    ] = None
    licence: Annotated[
        str | None,
        Option(
            help="Licence for the card (folder, dataset): a Hub identifier, `unknown` when absent."
        ),
    ] = None
    attribution: Annotated[
        str | None,
        Option(help="Attribution for the card (folder, dataset); cc-by and its like demand one."),
    ] = None
    language: Annotated[
        str | None, Option(help="Language code for the card (folder, dataset).")
    ] = None
    from_split: Annotated[
        str | None, Option(help="Split to read (dataset); `test` when absent.")
    ] = None
    config: Annotated[str | None, Option(help="Dataset config.")] = None
    audio_column: Annotated[
        str | None, Option(help="Audio column (dataset); `audio` when absent.")
    ] = None
    limit_sources: Annotated[
        int | None,
        Option(
            min=1,
            help="Use at most N sources of each split; spread over speakers, or the first rows of "
            "a dataset before it is divided into splits.",
        ),
    ] = None
    on_error: Annotated[OnError, Option(help="Policy for a source that cannot be used.")] = (
        OnError.STOP
    )

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
        splits = "test" if self.splits is None else self.splits
        return tuple(name.strip() for name in splits.split(",") if name.strip())

    def given(self) -> dict[str, Any]:
        """The options that were given, as openers take them."""
        values = {f.name: getattr(self, f.name) for f in fields(self)[1:]}
        given = {name: value for name, value in values.items() if value is not None}
        return given | ({"splits": self.split_names} if "splits" in given else {})


def corpus_options(*without: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds the fields of `CorpusOptions` to a command, which receives them as `options`.

    Args:
        without: Fields that are no options of this command.
    """
    added = {f.name: (f.type, f.default) for f in fields(CorpusOptions) if f.name not in without}
    return option_group("options", added, CorpusOptions)


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
    if options.kind not in CORPORA and (
        "/" in options.source or Path(options.source).expanduser().is_dir()
    ):
        options = replace(options, source=f"vctk:{options.source}")
    verification: Verification = _call(VERIFIERS, options, progress)
    return verification


def _call(table: Mapping[str, str], options: CorpusOptions, progress: Progress) -> Any:
    function, arguments = checked_call(table, options)
    if "progress" in signature(function).parameters:
        arguments["progress"] = progress
    return function(**arguments)


def checked_call(
    table: Mapping[str, str], options: CorpusOptions
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The function of a corpus, and all its arguments but `progress`.

    Raises:
        LookupError: There is no such kind.
        CorpusError: The corpus takes no such option.
    """
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
    return function, {next(iter(takes)): where, **arguments}


def _flags(names: list[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names) or "no option"
