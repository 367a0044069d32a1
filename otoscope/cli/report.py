"""`otoscope report`: a page, Markdown and CSV of one or more runs."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, in order.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output: a folder; by default report/ in the run's own, and for several runs "
            "report-with-OTHERS/ in the first one's."
        ),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Dataset: a folder, to play sample answers' clips.")
    ] = None,
) -> None:
    """Writes a page, Markdown and CSV about one or more runs of the same audit.

    otoscope report runs/observer runs/qwen2 --dataset ./vocalgrad
    otoscope report runs/meld-base runs/meld-volume
    """
    from otoscope.reports import report as write_report
    from otoscope.reports.parse_audit import doubtful_answers
    from otoscope.reports.scoring import score_runs
    from otoscope.reports.terminal import visible

    typer.echo(f"report: {write_report(runs, out, dataset=dataset)}")
    for run in score_runs(runs):
        if doubt := doubtful_answers(run.answers):
            typer.echo(f"warning: {visible(run.name)}: {doubt}", err=True)
