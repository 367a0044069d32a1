"""`otoscope published`: the results of the VocalGrad paper, as tables."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def published(
    name: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="Its name; without one, the list.")
    ] = None,
    share: Annotated[
        Literal["accuracy", "increase", "parsed"],
        typer.Option(
            help="Share to show: of correct answers, of `increase` among parsed ones, or of parsed."
        ),
    ] = "accuracy",
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Add the published, simulated interval.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Output: a .csv or .md file.")] = None,
) -> None:
    """Prints a table of the VocalGrad paper from its published counts.

    otoscope published
    otoscope published main --intervals
    otoscope published "transfer all_linear" --out transfer.csv
    """
    from otoscope.errors import InputError
    from otoscope.reports.perception.published import (
        SHARES,
        published_intervals,
        published_list,
        published_table,
    )
    from otoscope.reports.tables import TEXT_KINDS
    from otoscope.reports.terminal import console, print_line
    from otoscope.reports.terminal import table as terminal_table
    from otoscope.reports.writing import write

    if intervals and share != "accuracy":
        raise InputError(f"--intervals are of accuracies, not of --share {share}")
    if out is not None and out.suffix.lower() not in (".csv", ".md"):
        raise typer.BadParameter(f"{out}: ends in none of .csv, .md", param_hint="--out")
    if name is None:
        table = published_list()
    else:
        table = published_intervals(name) if intervals else published_table(name, SHARES[share])
    if out is not None:
        write(out, table.to_csv() if out.suffix.lower() == ".csv" else table.to_markdown())
    heads = [column.head for column in table.filled]
    numbers = {column.head for column in table.filled if column.kind not in TEXT_KINDS}
    cells = [[cell.text for cell in row] for row in table.printed()]
    screen = console()
    print_line(screen, table.title)
    screen.print(terminal_table(heads, cells, numbers=numbers))
    for note in table.notes:
        print_line(screen, note)
