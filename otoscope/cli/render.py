"""`otoscope render`: one file, one acoustic factor."""

from pathlib import Path
from typing import Annotated

import typer

from otoscope.cli.options import Category, Overwrite, ProfileName


def render(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Any audio file.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .wav or .flac file to write.")],
    category: Category,
    direction: Annotated[str, typer.Option(help="Direction of change: `up` or `down`.")] = "up",
    tier: Annotated[str, typer.Option(help="Size of change: `low`, `mid` or `high`.")] = "high",
    curve: Annotated[
        str,
        typer.Option(help="Shape over time, e.g. `linear` or `jump`; a wrong name lists all."),
    ] = "linear",
    profile: ProfileName = "paper",
    span: Annotated[
        str | None,
        typer.Option(help="START:END of speech in seconds; detected when absent."),
    ] = None,
    clip_id: Annotated[
        str | None, typer.Option(help="Seed of the noise; made from the file's name when absent.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Writes a copy of one clip in which one acoustic factor rises or falls.

    otoscope render speech.wav louder.wav --category volume --direction up
    """
    from otoscope.acoustics.design import Condition
    from otoscope.acoustics.files import render_file

    rendered = render_file(
        source,
        out,
        category=category,
        condition=Condition(tier, curve, direction),
        profile=profile,
        span_s=_seconds(span),
        clip_id=clip_id,
        overwrite=overwrite,
    )
    typer.echo(rendered.describe())


def _seconds(span: str | None) -> tuple[float, float] | None:
    if span is None:
        return None
    start, _, end = span.partition(":")
    try:
        return float(start), float(end)
    except ValueError:
        raise typer.BadParameter(f"{span!r} is not START:END in seconds") from None
