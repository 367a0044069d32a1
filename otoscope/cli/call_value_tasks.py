"""`otoscope call-value-tasks`: several finished audits of calls in one report."""

from pathlib import Path
from typing import Annotated

import typer


def call_value_tasks(
    audits: Annotated[
        list[Path],
        typer.Argument(metavar="AUDIT…", help="Folders that `otoscope call-value` wrote."),
    ],
    out: Annotated[Path, typer.Option(help="Output: an empty folder.")],
) -> None:
    """Puts what calls add on each task side by side, with Holm's correction over tasks.

    otoscope call-value-tasks audits/vocalsound audits/esd --out audits/all
    """
    from otoscope.reports.call_value.tasks import write_tasks_report
    from otoscope.reports.terminal import console, print_line

    page, sentences = write_tasks_report(audits, out)
    for sentence in sentences:
        print_line(console(), sentence)
    typer.echo(f"report: {page}")
