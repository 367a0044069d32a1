"""The output folder: its owner, its lock, and errors of the disk."""

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from builders.building.plan import BuildPlan
from builders.splits import FILE_SPLITS
from otoscope.atomic import write_json
from otoscope.claims import FolderKind, locked
from otoscope.errors import InputError

STATE = ".otoscope"
PLAN = f"{STATE}/plan.json"


class BuildError(InputError, RuntimeError):
    """A build that cannot continue; the message names the way out."""


BUILDS = FolderKind("build", PLAN, BuildError, ignored=frozenset({"fingerprint", "folders"}))
OVERWRITABLE = replace(BUILDS, way_out=f"{BUILDS.way_out}, or --overwrite it")


def staging_folder(folder: Path) -> Path:
    """Folder of unfinished files; its content can be deleted when no build runs."""
    return folder / STATE / "making"


def outline_of(plan: BuildPlan) -> dict[str, object]:
    """What `.otoscope/plan.json` holds."""
    return {
        **plan.outline,
        "fingerprint": plan.fingerprint,
        "libraries": list(plan.libraries),
        "n_shards": len(plan.shards),
        "folders": sorted({path.split("/")[0] for s in plan.shards for path in s.files.values()}),
    }


@contextlib.contextmanager
def claimed_folder(out: Path, plan: BuildPlan, *, overwrite: bool = False) -> Iterator[None]:
    """Holds `out` for one build: claims it, and locks it against other processes.

    Raises:
        BuildError: It is in use, holds another build or something else, or cannot be written.
    """
    state = out / STATE
    with plain_disk_errors(out):
        if out.exists() and not out.is_dir():
            raise BuildError(f"{out} is a file, not a folder")
        if not state.is_dir():
            BUILDS.validate_free(out)
        state.mkdir(parents=True, exist_ok=True)
        (state / "lock").touch()
    with locked(state / "lock", BuildError(f"another build is at work in {out}; wait or end it")):
        try:
            shutil.rmtree(staging_folder(out), ignore_errors=True)
            with plain_disk_errors(out):
                _claim(out, plan, overwrite)
            yield
        finally:
            shutil.rmtree(staging_folder(out), ignore_errors=True)


def _claim(out: Path, plan: BuildPlan, overwrite: bool) -> None:
    outline = outline_of(plan)
    stored = stored_outline(out)
    if stored.get("fingerprint") != plan.fingerprint and not _empty(out):
        if not overwrite:
            before, now = (each.get("generator_version") for each in (stored, outline))
            if before and now and before != now:
                raise BuildError(
                    f"{out} was made by generator {before}, and this is generator {now}, which "
                    f"makes other bytes: it cannot go on there; {OVERWRITABLE.way_out}"
                )
            OVERWRITABLE.validate_same(out, _by_library(stored), _by_library(outline))
            raise BuildError(f"{out} holds another build: other sources; {OVERWRITABLE.way_out}")
        _delete_build(out, stored.get("folders"))
    write_json(out / PLAN, outline, via=staging_folder(out), sort_keys=True)


def stored_outline(out: Path) -> dict[str, Any]:
    """What the folder's last build was; nothing where that cannot be read."""
    try:
        return BUILDS.read(out) or {}
    except (BuildError, OSError):
        return {}


def _by_library(outline: dict[str, object]) -> dict[str, object]:
    """The outline with its libraries as names and versions, to name those that differ."""
    listed = outline.get("libraries")
    versions = [str(text).partition(" ") for text in listed] if isinstance(listed, list) else []
    return {**outline, "libraries": {name: version for name, _, version in versions}}


def _delete_build(out: Path, folders: Any) -> None:
    """Deletes what a build has written, and the folders that this empties; all else stays.

    Args:
        out: Where the build is.
        folders: Those of its Parquet files, as its outline names them; otherwise those that its
            records name.
    """
    if not isinstance(folders, list):
        folders = _recorded_folders(out)
    files = [out / "README.md", out / "index.html"]
    for folder, split in product(folders, FILE_SPLITS):
        if not (out / folder).is_symlink():
            files += (out / folder).glob(f"{split}-[0-9]*-of-[0-9]*.parquet")
    for path in files:
        path.unlink(missing_ok=True)
    for folder in folders:
        with contextlib.suppress(OSError):  # it holds something else
            (out / folder).rmdir()
    for name in ("shards", "measured"):
        shutil.rmtree(out / STATE / name, ignore_errors=True)
    (out / STATE / "findings.json").unlink(missing_ok=True)


def _recorded_folders(out: Path) -> list[str]:
    names = set[str]()
    for path in (out / STATE / "shards").glob("*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            names |= {Path(name).parts[0] for name in json.loads(path.read_text())["files"]}
    return sorted(names - {"..", "/"})


def _visible(out: Path) -> list[Path]:
    """What a build may have put there; a `.git` and its like are the user's."""
    return [path for path in out.iterdir() if not path.name.startswith(".")]


def _empty(out: Path) -> bool:
    return not _visible(out) and not (out / STATE / "shards").exists()


def size_text(n_bytes: float) -> str:
    """A number of bytes for people.

    >>> [size_text(n) for n in (0, 999, 1_500, 12_345_678, 2.5e12)]
    ['0 bytes', '999 bytes', '1.5 kB', '12 MB', '2.5 TB']
    """
    if n_bytes < 1000:
        return f"{n_bytes:.0f} bytes"
    for unit in ("kB", "MB", "GB"):
        n_bytes /= 1000
        if n_bytes < 999.5:
            return f"{n_bytes:.{1 if n_bytes < 9.95 else 0}f} {unit}"
    return f"{n_bytes / 1000:.1f} TB"


def check_space(likely_bytes: int, out: Path) -> None:
    """Rejects a build that does not fit on the disk.

    Raises:
        BuildError: With both sizes.
    """
    free = shutil.disk_usage(out).free
    if likely_bytes > free:
        raise BuildError(
            f"{out}: about {size_text(likely_bytes)} are needed but {size_text(free)} are free; "
            "choose another --out or take fewer sources with --limit-sources"
        )


@contextlib.contextmanager
def plain_disk_errors(out: Path) -> Iterator[None]:
    """Turns errors of the disk into a `BuildError`."""
    try:
        yield
    except OSError as error:
        name = error.filename or out
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise BuildError(
                f"{name}: the disk is full; finished shards stay, free some space and run again"
            ) from error
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            raise BuildError(f"{name}: cannot be written ({os.strerror(error.errno)})") from error
        if error.errno is not None:
            raise BuildError(f"{name}: {os.strerror(error.errno)}") from error
        raise
