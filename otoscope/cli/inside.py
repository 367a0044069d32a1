"""`otoscope inside`: the report of a study, or of several."""

from pathlib import Path
from typing import Annotated

import typer


def inside(
    studies: Annotated[
        list[Path], typer.Argument(metavar="STUDY…", help="A study's folder; several are compared.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output: the report; STUDY/report when absent. Needed for several studies."
        ),
    ] = None,
    map_layer: Annotated[
        list[int] | None,
        typer.Option(
            help="Layer whose cosines of every two categories are shown, beside the last; may be "
            "repeated. Of one study."
        ),
    ] = None,
) -> None:
    """Writes a page and tables: what is decodable, what is answered, what fine-tuning changed.

    A study that is not finished has a report too; it lists what is missing. Several studies, one
    for each model or each scope of fine-tuning, share a page.

    otoscope inside studies/kimi --map-layer 28

    otoscope inside studies/kimi studies/qwen2 --out inside
    """
    from otoscope.reports.inside.reading import StudyFolderError

    if len(studies) == 1:
        from otoscope.reports.inside.report import write_inside

        typer.echo(f"report: {write_inside(studies[0], out, map_layers=map_layer or ())}")
        return
    if out is None:
        raise StudyFolderError("name a folder for the report of several studies: --out inside")
    if map_layer:
        raise StudyFolderError("--map-layer is of one study; give that one alone")
    from otoscope.reports.inside.models_report import write_models

    typer.echo(f"report: {write_models(studies, out)}")
