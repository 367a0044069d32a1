"""Exit codes of every command: 2 and one line for what a person can mend, a traceback for a bug."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer

from otoscope.errors import InputError

Command = TypeVar("Command", bound=Callable[..., Any])


class App(typer.Typer):
    """A typer app whose commands all end through `one_line_errors`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(add_completion=False, pretty_exceptions_enable=False, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Command], Command]:
        """Registers a command; see `typer.Typer.command`."""
        register = super().command(name, **settings)

        def registered(command: Command) -> Command:
            register(one_line_errors()(command))
            return command

        return registered


def program(command: Callable[..., Any]) -> App:
    """The app that is one command."""
    app = App()
    app.command()(command)
    return app


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Prints an error that a person can mend as one line and exits with code 2.

    Those are InputError, OSError and a missing optional package. $OTOSCOPE_DEBUG shows where they
    came from. Every other exception is a bug and passes.
    """
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of our output has left; typer ends quietly
    except (InputError, OSError, ModuleNotFoundError) as error:
        message = _message(error)
        if message is None or os.environ.get("OTOSCOPE_DEBUG"):
            raise
        from otoscope.reports.terminal import visible

        typer.echo(f"error: {visible(' '.join(message.split()))}", err=True)
        raise typer.Exit(2) from None


def _message(error: Exception) -> str | None:
    """What to print; None for a module that is missing from our own code."""
    if isinstance(error, ModuleNotFoundError):
        from otoscope.doctor import way_to_install

        way = way_to_install(error.name or "")
        return way and f"the package {error.name!r} is missing: {way}"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        # of a move, where to
        return f"{os.fsdecode(error.filename2 or error.filename)}: {error.strerror}"
    return str(error) or type(error).__name__
