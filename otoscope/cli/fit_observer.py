"""`otoscope fit-observer`: an observer fitted to a dataset's train split."""

from pathlib import Path
from typing import Annotated, Any

import typer

from otoscope.cli.options import Configs, DatasetName, Overwrite, Revision, Split

LEGEND = (
    "Held out: accuracy on {group}s left out in turn, 95 % CI, clustered Wilson; a clip that "
    "cannot be measured counts as wrong."
)


def fit_observer(
    dataset: DatasetName,
    out: Annotated[Path, typer.Option(help="Output: a file for --model fitted:FILE.")],
    split: Split = "train",
    config: Configs = None,
    revision: Revision = None,
    overwrite: Overwrite = False,
) -> None:
    """Fits an observer to each category's acoustic cue, and saves it.

    It uses the cue alone, relative to the clip's own mean. A split that shares a source or a
    speaker with another split is rejected, and so is a later run about any source it was fitted on.

    otoscope fit-observer --dataset ./vocalgrad --out observer.json
    otoscope run perception --dataset ./vocalgrad --model fitted:observer.json --out runs/fitted
    """
    from otoscope.audits.fitting import fit_observer as fit
    from otoscope.errors import InputError
    from otoscope.progress import ProgressBars
    from otoscope.reports.terminal import console

    if out.exists() and not overwrite:
        raise InputError(f"{out} exists; --overwrite replaces it")
    trained = fit(
        dataset, split=split, configs=config or (), revision=revision, progress=ProgressBars()
    )
    trained.model.save(out)
    console().print(_table(trained))
    basis = trained.model.trained_on.summary
    typer.echo(LEGEND.format(group=trained.groups))
    typer.echo(
        f"fitted on {sum(basis['n_clips'].values()):,} clips of {basis['n_sources']} sources and "
        f"{basis['n_speakers']} speakers: {out}"
    )


def _table(trained: Any) -> Any:
    from otoscope.reports.terminal import table

    heads = ("clips", "no effect", "unreadable", "not measurable", "held out, % right", "shrinkage")
    rows = [
        (
            result.category,
            f"{result.n_clips:,}",
            f"{result.n_no_effect:,}",
            f"{result.n_unreadable:,}",
            f"{result.n_not_measurable:,}",
            "{:.1f} [{:.1f}, {:.1f}]".format(*(100 * share for share in result.held_out)),
            f"{result.shrinkage:g}",
        )
        for result in trained.categories
    ]
    return table(["category", *heads], rows, numbers=heads)
