"""`otoscope audit-parse`: what parsers make of a run's raw answers."""

from pathlib import Path
from typing import Annotated

import typer

from otoscope.cli.options import RunFolder
from otoscope.responses import PARSERS


def audit_parse(
    run: RunFolder,
    parser: Annotated[
        str | None,
        typer.Option(
            help=f"Read all answers by this parser, not by each prompt's own: {', '.join(PARSERS)}."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Output: a CSV file of every distinct text.")
    ] = None,
    texts: Annotated[int, typer.Option(min=0, help="Texts to show for each rule.")] = 10,
) -> None:
    """Tabulates raw answers by the parser rule that fired, and counts doubtful ones.

    Doubtful is an answer that holds words the rule does not read, such as "does not increase".

    otoscope audit-parse runs/qwen2-audio --parser paraphrase --out answers.csv
    """
    from otoscope.reports.parse_audit import audit_run, print_audit
    from otoscope.reports.terminal import console
    from otoscope.reports.writing import write

    audit = audit_run(run, parser=parser)
    if out is not None:
        write(out, audit.to_csv())
    print_audit(audit, console(), n_texts=texts)
