"""Errors that whoever called can mend."""


class InputError(Exception):
    """Input, an option or a file that cannot be used; the message names it and the way out.

    Commands print it as one line and exit with code 2. Any other exception is a bug, and is a
    traceback. Each part of the package raises subclasses of its own.
    """


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its type where it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


class InvalidValue(InputError, ValueError):
    """A value that an option, an argument or a row of a dataset cannot have."""
