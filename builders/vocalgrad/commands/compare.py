"""`compare`: two builds on one page."""

from pathlib import Path
from typing import Annotated

import typer

from builders.building.folder import plain_disk_errors
from builders.vocalgrad.pages.side_by_side import write_side_by_side
from otoscope.cli.options import OutPage


def compare(
    first: Annotated[Path, typer.Argument(metavar="BUILD", help="A finished build.")],
    second: Annotated[
        Path, typer.Argument(metavar="BUILD", help="Another, e.g. of the other profile.")
    ],
    out: OutPage = Path("compare.html"),
) -> None:
    """Writes a page that compares two builds: observers and confounds.

    python -m builders.vocalgrad compare vocalgrad vocalgrad-controlled
    """
    with plain_disk_errors(out):
        typer.echo(f"comparison: {write_side_by_side(first, second, out)}")
