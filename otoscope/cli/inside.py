"""`otoscope inside`: the report of a study."""

from pathlib import Path
from typing import Annotated

import typer


def inside(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="A study's folder.")],
) -> None:
    """Writes a page and tables: what is decodable, what is answered, what fine-tuning changed.

    A study that is not finished has a report too; it lists what is missing.

    otoscope inside studies/tiny-model
    """
    from otoscope.reports.inside.report import write_inside

    typer.echo(f"report: {write_inside(study)}")
