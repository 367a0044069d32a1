"""Which versions of libraries write a build's bytes; one build is made with one set of them."""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

import soundfile

from builders.building.folder import BuildError

LIBSNDFILE = "libsndfile"
"""Makes the FLAC; `soundfile` brings its own on most machines, and takes the system's on others."""


def library_versions(names: Sequence[str]) -> tuple[str, ...]:
    """Each name with the version that this process has.

    >>> library_versions(["libsndfile", "no-such-library"])[1]
    'no-such-library (absent)'
    """
    return tuple(f"{name} {_version(name)}" for name in names)


def check_libraries(planned: Sequence[str]) -> None:
    """Compares this process with a plan's `library_versions`.

    Raises:
        BuildError: Another version, with which the bytes might differ.
    """
    here = library_versions([text.partition(" ")[0] for text in planned])
    differ = [f"{h} where the plan has {p}" for h, p in zip(here, planned, strict=True) if h != p]
    if differ:
        raise BuildError(
            f"installed here: {'; '.join(differ)}; one build is made with one set of versions: "
            "install the plan's, or plan again with these"
        )


def _version(name: str) -> str:
    try:
        return soundfile.__libsndfile_version__ if name == LIBSNDFILE else version(name)
    except PackageNotFoundError:
        return "(absent)"
