"""Errors that whoever called can mend."""

from collections.abc import Sequence


class InputError(Exception):
    """Input, an option or a file that cannot be used; the message names it and the way out.

    Commands print it as one line and exit with code 2. Any other exception is a bug, and is a
    traceback. Each part of the package raises subclasses of its own.
    """


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its type where it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def short(value: object, most: int = 200) -> str:
    """A value or an error as text for a message, cut where it is long.

    >>> short("ab" * 200, 6)
    'ababab…'
    """
    text = str(value)
    return text if len(text) <= most else f"{text[:most]}…"


class InvalidValue(InputError, ValueError):
    """A value that an option, an argument or a row of a dataset cannot have."""


def first_names(names: Sequence[str], most: int = 3) -> str:
    """Some of many names, for a message.

    >>> first_names(["a", "b"]), first_names("abcde")
    ("'a', 'b'", "'a', 'b', 'c' and 2 more")
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
