"""Folder ownership: does a folder belong to this work, and what differs if it does not?

A run, a build, features, a checkpoint and a study each own a folder. A JSON record in it says what
decides its content. Work that is started again compares its record with the stored one.

    RUNS = FolderKind("run", "run.json", RunError, may_hold=("answers",))
    RUNS.claim(folder, {"model": "observer", "seed": 0})
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from otoscope.atomic import write_json

MOST_SHOWN = 100  # characters of a value in a message


class Difference(NamedTuple):
    """A value that two records do not share; None where a record lacks it.

    Attributes:
        name: Keys joined by dots, such as `model.revision`.
    """

    name: str
    stored: Any
    wanted: Any

    def __str__(self) -> str:
        return f"{self.name} {_short(self.stored)}, now {_short(self.wanted)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN // 2]}…{text[-20:]}"


def differences(
    stored: Mapping[str, Any],
    wanted: Mapping[str, Any],
    *,
    ignored: Set[str] = frozenset(),
    prefix: str = "",
) -> list[Difference]:
    """What differs between two JSON records, by name; nested records are compared key by key.

    Args:
        stored, wanted: Plain data; a missing key equals None, NaN equals NaN.
        ignored: Names that are not compared, with all below them; nested ones with their dots.
        prefix: What all names begin with.

    >>> differences({"a": 1, "m": {"seed": 0, "x": 2}}, {"a": 1, "m": {"seed": 1, "x": 2}})
    [Difference(name='m.seed', stored=0, wanted=1)]
    """
    found: list[Difference] = []
    for key in sorted(stored.keys() | wanted.keys()):
        name, old, new = prefix + key, stored.get(key), wanted.get(key)
        if name in ignored:
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            found += differences(old, new, ignored=ignored, prefix=f"{name}.")
        elif old != new and json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True):
            found.append(Difference(name, old, new))
    return found


@dataclass(frozen=True)
class FolderKind:
    """What a folder is claimed for.

    Attributes:
        name: In messages: `another NAME`.
        record: The file that holds the record, relative to the folder.
        error: Class of the errors raised; it is given the message.
        may_hold: Patterns of names that an unfinished claim leaves in a folder without a record.
        ignored: Names in the record that are not compared, see `differences`.
        way_out: The end of every message.
        may_have_more: Whether a stored record may have keys that the wanted one lacks.
    """

    name: str
    record: str
    error: Callable[[str], Exception]
    may_hold: tuple[str, ...] = ()
    ignored: Set[str] = frozenset()
    way_out: str = "choose another --out"
    may_have_more: bool = False

    def claim(self, folder: Path, wanted: Mapping[str, Any]) -> bool:
        """Writes the record into a free folder, or compares it with the stored one.

        Processes that claim one folder at once and write more than the record need `locked`.

        Returns:
            Whether the record is new.

        Raises:
            error: The folder holds another record, an unreadable one, or something else.
        """
        new = self.matching(folder, wanted) is None
        if new:
            self.write(folder, wanted)
        return new

    def matching(self, folder: Path, wanted: Mapping[str, Any]) -> dict[str, Any] | None:
        """The stored record, which is the wanted one; None in a free folder. Raises as `claim`."""
        wanted, stored = self.plain(wanted), self.read(folder)
        if stored is None:
            self.validate_free(folder)
        else:
            self.validate_same(folder, stored, wanted)
        return stored

    def read(self, folder: Path) -> dict[str, Any] | None:
        """The stored record; None where there is none."""
        try:
            record = json.loads((folder / self.record).read_text(encoding="utf-8"))
            if not isinstance(record, dict):
                raise TypeError(f"it holds {_short(record)}, not names and values")
            return record
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, TypeError, RecursionError) as error:
            raise self.error(f"{folder / self.record} is not readable: {error}") from error

    def write(self, folder: Path, record: Mapping[str, Any]) -> None:
        """Writes the record atomically."""
        write_json(folder / self.record, self.plain(record), sync=True, sort_keys=True)

    def plain(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """A record as JSON gives it back: lists for tuples, text for keys."""
        try:
            return dict(json.loads(json.dumps(record)))
        except TypeError as error:
            raise self.error(f"a description cannot be put in {self.record}: {error}") from None

    def validate_free(self, folder: Path) -> None:
        """Raises where a folder holds anything but what an unfinished claim leaves."""
        allowed = (*self.may_hold, self.record, f".{self.record}.*")
        names = (path.name for path in folder.iterdir()) if folder.is_dir() else ()
        if any(not any(fnmatch(name, pattern) for pattern in allowed) for name in names):
            raise self.error(f"{folder} holds something that is no {self.name}; {self.way_out}")

    def validate_same(
        self, folder: Path, stored: Mapping[str, Any], wanted: Mapping[str, Any]
    ) -> None:
        """Raises where two records differ; every difference is named."""
        wanted = self.plain(wanted)
        if self.may_have_more:
            stored = {key: stored.get(key) for key in wanted}
        if found := differences(stored, wanted, ignored=self.ignored):
            raise self.error(
                f"{folder} holds another {self.name}: {'; '.join(map(str, found))}; {self.way_out}"
            )


@contextmanager
def locked(path: Path, busy: Exception | None = None) -> Iterator[int]:
    """Holds a lock on a file or folder among processes; yields its descriptor.

    Args:
        path: A folder, or a file that is made when absent.
        busy: Raised where another process holds the lock; None waits for it.
    """
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
        except BlockingIOError:
            raise busy or RuntimeError(path) from None
        yield handle
    finally:
        os.close(handle)


@contextmanager
def agreed(path: Path, content: str) -> Iterator[str]:
    """Shares a lock on a file that the first holder writes; yields what it has written."""
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.truncate(0)
            file.write(content)
            file.flush()
        except BlockingIOError:
            pass  # others hold it
        fcntl.flock(file, fcntl.LOCK_SH)
        file.seek(0)
        yield file.read()
