"""Where the audio of a dataset lies: in its cells, or in files that they name.

A path in a cell is relative to the dataset's folder, or to the folder of a table in it. Files of a
Hub repository are downloaded when they are read.
"""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from otoscope.errors import InputError


class NoFile(InputError, ValueError):
    """There is no file of the name that a cell has."""


class AudioFiles(NamedTuple):
    """Files of a folder, or of a Hub repository at a revision.

    Attributes:
        where: The folder or the repository.
        revision: A commit of the repository; None for a folder.
        folders: Folders of its tables, relative to it.
    """

    where: str = ""
    revision: str | None = None
    folders: tuple[str, ...] = ()

    def find(self, named: str) -> Path:
        """The file of a cell.

        Raises:
            NoFile: There is none, or it cannot be had.
        """
        for folder in ("", *self.folders):
            path = self._local(folder, named) if self.revision is None else self._hub(folder, named)
            if path is not None:
                return path
        raise NoFile(f"{named}: No such file")

    def has(self, named: str) -> bool:
        """Whether there is a file of this name."""
        try:
            return self.find(named).is_file()
        except NoFile:
            return False

    def read(self, named: str) -> bytes:
        """The bytes of the file of a cell.

        Raises:
            NoFile: There is none, or it cannot be had.
        """
        try:
            return self.find(named).read_bytes()
        except OSError as error:
            raise NoFile(f"{named}: {error.strerror or error}") from error

    def _local(self, folder: str, named: str) -> Path | None:
        path = Path(self.where, folder, named)
        return path if path.exists() else None

    def _hub(self, folder: str, named: str) -> Path | None:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

        path = PurePosixPath(folder, named)
        if path.is_absolute() or ".." in path.parts:
            raise NoFile(f"{named}: not a file of the repository")
        try:
            return Path(
                hf_hub_download(self.where, str(path), repo_type="dataset", revision=self.revision)
            )
        except EntryNotFoundError:
            return None
        except (HfHubHTTPError, OSError) as error:
            reason = str(error).strip().splitlines()[0]
            raise NoFile(f"{named}: cannot be downloaded ({reason})") from error


def cell_of(value: Any) -> tuple[bytes, str]:
    """The encoded bytes and the path in a cell of audio; each empty where there is none.

    >>> cell_of("a.wav"), cell_of({"bytes": b"RIFF", "path": None}), cell_of(None)
    ((b'', 'a.wav'), (b'RIFF', ''), (b'', ''))
    """
    if isinstance(value, bytes):
        return value, ""
    if isinstance(value, str):
        return b"", value.strip()
    if isinstance(value, dict):
        return value.get("bytes") or b"", value.get("path") or ""
    return b"", ""


def folders_of(files: Iterable[str], root: str) -> tuple[str, ...]:
    """The folders that hold some files, relative to a root; those outside it are left out.

    >>> folders_of(["/d/data/a.csv", "/d/b.csv", "/e/c.csv"], "/d")
    ('data',)
    """
    parents = dict.fromkeys(str(PurePosixPath(file).parent) for file in files)
    inside = (name.removeprefix(f"{root}/") for name in parents if name.startswith(f"{root}/"))
    return tuple(inside)
