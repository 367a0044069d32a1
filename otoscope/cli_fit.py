"""`otoscope fit-observer`: a listener that measures, taught by a dataset's train split."""

from pathlib import Path
from typing import Annotated, Any

import typer

from otoscope.cli_options import Configs, DatasetName, Revision
from otoscope.cli_run import plain_errors

LEGEND = (
    "Held out: right answers about clips of {group}s that were left out in turn, 95 % interval by "
    "source; what cannot be measured is not right."
)


def fit_observer(
    dataset: DatasetName,
    out: Annotated[Path, typer.Option(help="The file to write, for --model fitted:FILE.")],
    split: Annotated[str, typer.Option(help="What to learn from.")] = "train",
    config: Configs = None,
    revision: Revision = None,
    overwrite: Annotated[bool, typer.Option(help="Replace OUT if it is there.")] = False,
) -> None:
    """Teaches an observer how each category's cue moves, and saves what it has learned.

    It hears nothing but the cue, relative to the clip's own mean. A split that shares a source or a
    speaker with another one is refused, and so is a run about any that it has learned from.

    otoscope fit-observer --dataset ./vocalgrad --out observer.json
    otoscope run perception --dataset ./vocalgrad --model fitted:observer.json --out runs/fitted
    """
    from otoscope.audits.fitting import fit_observer as learn
    from otoscope.progress import Shown
    from otoscope.reports.terminal import console

    with plain_errors():
        if out.exists() and not overwrite:
            raise FileExistsError(f"{out} is there already; say --overwrite to replace it")
        trained = learn(
            dataset, split=split, configs=config or (), revision=revision, progress=Shown()
        )
        trained.model.save(out)
    console().print(_table(trained))
    told = trained.model.trained_on.summary
    typer.echo(LEGEND.format(group=trained.groups))
    typer.echo(
        f"learned from {sum(told['n_clips'].values()):,} clips of {told['n_sources']} sources and "
        f"{told['n_speakers']} speakers: {out}"
    )


def _table(trained: Any) -> Any:
    from otoscope.reports.terminal import Column, table

    heads = ("clips", "no effect", "unreadable", "not measurable", "held out, % right", "shrinkage")
    rows = [
        (
            lesson.category,
            f"{lesson.n_clips:,}",
            f"{lesson.n_no_effect:,}",
            f"{lesson.n_unreadable:,}",
            f"{lesson.n_not_measurable:,}",
            "{:.1f} [{:.1f}, {:.1f}]".format(*(100 * share for share in lesson.held_out)),
            f"{lesson.shrinkage:g}",
        )
        for lesson in trained.lessons
    ]
    return table([Column("category"), *(Column(head, numbers=True) for head in heads)], rows)
