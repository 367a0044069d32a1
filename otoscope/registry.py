"""The one kind of table that every extension point uses."""

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar

from otoscope.errors import InputError

T = TypeVar("T")


class UnknownName(InputError, LookupError):
    """A name that is not in a table; the message suggests one that is."""


class Registry(dict[str, T]):
    """A dict that knows what it holds and helps whoever mistypes a name.

    >>> TEMPOS = Registry("tempo", {"allegro": 140, "largo": 50})
    >>> TEMPOS["alegro"]
    Traceback (most recent call last):
    otoscope.registry.UnknownName: no tempo named 'alegro'; did you mean 'allegro'?
    """

    def __init__(self, kind: str, entries: Mapping[str, T]) -> None:
        super().__init__(entries)
        self.kind = kind

    def __missing__(self, name: str) -> T:
        near = difflib.get_close_matches(name, self, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {sorted(self)}"
        raise UnknownName(f"no {self.kind} named {name!r}; {hint}")


def imported(reference: str) -> Any:
    """What `module:NAME` names.

    >>> imported("otoscope.registry:Registry").__name__
    'Registry'
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
