"""`otoscope doctor`: what is installed."""

import typer


def doctor() -> None:
    """Lists installed packages, and how to install what is missing for which purpose.

    otoscope doctor
    """
    from otoscope.doctor import diagnose

    diagnosis = diagnose()
    typer.echo(diagnosis.text)
    if not diagnosis.healthy:
        raise typer.Exit(1)
