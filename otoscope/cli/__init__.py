"""The `otoscope` command: parses, calls and prints. One file a command."""

from otoscope.cli import (
    audit_parse,
    call_value,
    call_value_tasks,
    compare,
    doctor,
    fit_observer,
    inside,
    published,
    render,
    report,
    run,
    show,
    transcribe,
)
from otoscope.cli.errors import App

app = App(help="Audit whether audio language models use what they hear.", no_args_is_help=True)
app.add_typer(run.app, name="run")
app.command()(report.report)
app.command()(compare.compare)
app.command()(show.show)
app.command()(audit_parse.audit_parse)
app.command()(call_value.call_value)
app.command()(call_value_tasks.call_value_tasks)
app.command()(transcribe.transcribe)
app.command()(fit_observer.fit_observer)
app.command()(inside.inside)
app.command()(published.published)
app.command()(render.render)
app.command()(doctor.doctor)


def main() -> None:
    """Entry point."""
    app()
