"""The command of a labelled dataset: options that all have, and what it does with a source."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from builders.building.folder import size_text
from builders.corpora.options import OnError
from builders.labelled.clips import LabelledSource
from builders.labelled.finishing import finish, printed
from builders.labelled.planning import plan_build
from builders.labelled.rows import build
from builders.labelled.summary import summary_of
from otoscope.cli.errors import App
from otoscope.cli.options import Overwrite, option_group
from otoscope.progress import ProgressBars


class OnSharedAudio(StrEnum):
    """What to do about audio that is in both splits."""

    REJECT = "reject"
    DROP = "drop"


@dataclass(frozen=True)
class LabelledOptions:
    """What every labelled dataset's `build` takes; the command-line options of the same names."""

    out: Annotated[Path, Option(help="Output: the dataset folder.")]
    on_error: Annotated[
        OnError,
        Option(
            help="Policy for a source that cannot be used: `stop`, or `skip` clips that cannot be "
            "read and the same audio under two labels."
        ),
    ] = OnError.STOP
    on_shared_audio: Annotated[
        OnSharedAudio,
        Option(help="Policy for audio in both splits: `reject`, or `drop` the development copies."),
    ] = OnSharedAudio.REJECT
    num_proc: Annotated[int, Option(min=1, help="Worker processes.")] = os.cpu_count() or 1
    overwrite: Overwrite = False
    dry_run: Annotated[bool, Option(help="Dry run: print counts and sizes.")] = False


def labelled_options() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds the fields of `LabelledOptions` to a command, which receives them as `options`."""
    added = {f.name: (f.type, f.default) for f in fields(LabelledOptions)}
    added["out"] = (added["out"][0], ...)
    return option_group("options", added, LabelledOptions)


def make(source: LabelledSource, options: LabelledOptions) -> None:
    """Plans, builds and finishes a dataset, and prints what it is.

    Raises:
        CorpusError, AudioError: See `plan_build`.
        BuildError: See `builders.building.build`.
    """
    progress = ProgressBars()
    planned = plan_build(
        source,
        skip=options.on_error == OnError.SKIP,
        drop_shared_audio=options.on_shared_audio == OnSharedAudio.DROP,
        num_proc=options.num_proc,
        progress=progress,
    )
    for skipped in planned.skipped[:10]:
        typer.echo(f"left out: {skipped.name}: {skipped.reason}", err=True)
    if len(planned.skipped) > 10:
        typer.echo(f"left out: and {len(planned.skipped) - 10} more", err=True)
    if options.dry_run:
        size = size_text(sum(s.pcm_bytes for s in planned.plan.clips))
        for line in printed(summary_of(planned)):
            typer.echo(line)
        typer.echo(
            f"{len(planned.plan.shards)} files, at most {size} in {options.out}; "
            "nothing was written"
        )
        return
    built = build(
        planned.plan, options.out, num_proc=options.num_proc, overwrite=options.overwrite,
        progress=progress,
    )  # fmt: skip
    typer.echo(finish(built, planned))


def labelled_app(command: Callable[..., Any]) -> App:
    """The program of a dataset, whose one command is `build`."""
    app = App(help=inspect.getmodule(command).__doc__, no_args_is_help=True)
    app.command("build")(command)
    app.callback()(lambda: None)  # `build` stays a word of the command line
    return app
