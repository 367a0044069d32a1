"""Archives that nobody unpacked yet."""

from pathlib import Path

SUFFIXES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".rar", ".7z")


def is_archive(path: Path) -> bool:
    """Whether a path is that of an archive, by its name."""
    return path.name.lower().endswith(SUFFIXES)


def unpack_hint(folder: Path) -> str:
    """The end of a message about a folder in which something is missing.

    Names the archives that lie in the folder; empty where none does.
    """
    names = sorted(path.name for path in folder.iterdir() if is_archive(path))
    return f"; unpack {' and '.join(names)} there first" if names else ""
