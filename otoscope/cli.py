"""The `otoscope` command: parses, calls and prints.

otoscope render speech.wav louder.wav --category volume --direction up
otoscope doctor
"""

from pathlib import Path
from typing import Annotated

import typer

from otoscope.cli_run import app as run_app

app = typer.Typer(
    help="Examine whether audio language models use what they hear.",
    no_args_is_help=True,
    add_completion=False,
)
app.add_typer(run_app, name="run")


@app.command()
def render(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Any audio file.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .wav or .flac file to write.")],
    category: Annotated[str, typer.Option(help="What changes, e.g. `volume` or `voice_pitch`.")],
    direction: Annotated[str, typer.Option(help="`up` or `down`.")] = "up",
    tier: Annotated[str, typer.Option(help="How much: `low`, `mid` or `high`.")] = "high",
    curve: Annotated[
        str, typer.Option(help="`linear`, `quad_first_flat`, `quad_last_flat` or `jump`.")
    ] = "linear",
    profile: Annotated[str, typer.Option(help="Which rules: `paper`.")] = "paper",
    span: Annotated[
        str | None,
        typer.Option(help="START:END of speech in seconds; found in the signal when absent."),
    ] = None,
    clip_id: Annotated[
        str | None, typer.Option(help="Seeds the noise; made from the file's name when absent.")
    ] = None,
) -> None:
    """Writes a copy of one clip in which one acoustic factor rises or falls."""
    from otoscope.acoustics import codec
    from otoscope.acoustics.files import render_file
    from otoscope.acoustics.rendering import Cell

    try:
        made = render_file(
            source,
            out,
            category=category,
            cell=Cell(tier, curve, direction),
            profile=profile,
            span_s=_seconds(span),
            clip_id=clip_id,
        )
    except (codec.AudioError, LookupError, ValueError, OSError) as error:
        _fail(error)
    typer.echo(made.describe())


@app.command()
def doctor() -> None:
    """Says what is installed, what is missing for what, and how to get it."""
    from otoscope.doctor import examine

    report = examine()
    typer.echo(report.text)
    if not report.healthy:
        raise typer.Exit(1)


def _seconds(span: str | None) -> tuple[float, float] | None:
    if span is None:
        return None
    start, _, end = span.partition(":")
    try:
        return float(start), float(end)
    except ValueError:
        raise typer.BadParameter(f"{span!r} is not START:END in seconds") from None


def _fail(error: Exception) -> None:
    typer.echo(f"error: {error.args[0] if isinstance(error, LookupError) else error}", err=True)
    raise typer.Exit(2)


def main() -> None:
    """Entry point."""
    app()
