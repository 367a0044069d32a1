"""A finished build: what its folder holds, for whoever built it and for whoever did not."""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import soundfile

from builders.building.folder import PLAN, STATE, BuildError, staging_folder, stored_outline
from builders.building.shards import changed_files, read_record
from builders.splits import FILE_SPLITS
from otoscope.atomic import write_json
from otoscope.errors import first_line


class FinishedBuild(NamedTuple):
    """A dataset folder whose shards are all there.

    Attributes:
        folder: The Hub repository folder.
        outline: What `.otoscope/plan.json` has of its plan.
        files: Path to its record: config, split, rows, bytes, sha256, and what the dataset counts.
        n_rows_made: Rows made by this run; the others were there from an earlier one.
        changed: Files that were not as an earlier run had written them, and were made again.
    """

    folder: Path
    outline: Mapping[str, Any]
    files: Mapping[str, Mapping[str, Any]]
    n_rows_made: int = 0
    changed: tuple[str, ...] = ()

    @property
    def configs(self) -> dict[str, list[str]]:
        """The configs that have rows of their own, each with its splits."""
        found: dict[str, set[str]] = {}
        for file in self.files.values():
            if file["rows"]:
                found.setdefault(file["config"], set()).add(file["split"])
        return {name: [s for s in FILE_SPLITS if s in splits] for name, splits in found.items()}

    @property
    def findings(self) -> dict[str, Any]:
        """What was measured of the build.

        Raises:
            BuildError: Nothing was, or not by this version.
        """
        try:
            return json.loads(_findings_path(self.folder).read_text())
        except (OSError, ValueError) as error:
            raise BuildError(
                f"{self.folder} holds no finished build with measurements; run the same build "
                "again, which makes nothing twice"
            ) from error

    def write_findings(self, content: Mapping[str, Any]) -> None:
        """Stores what was measured, for `findings`."""
        staging = staging_folder(self.folder)
        write_json(_findings_path(self.folder), content, via=staging, sort_keys=True)


def open_build(folder: Path) -> FinishedBuild:
    """Reads a build of any dataset, and any plan, from its folder alone.

    Raises:
        BuildError: The folder holds none, or one that is not finished.
    """
    outline = stored_outline(folder)
    fingerprint, n_shards = outline.get("fingerprint"), outline.get("n_shards")
    if fingerprint is None or n_shards is None:
        raise BuildError(f"{folder} holds no finished build: {PLAN} is absent or unreadable")
    records = [
        record
        for path in sorted((folder / STATE / "shards").glob("*.json"))
        if (record := read_record(path, fingerprint)) is not None
    ]
    for record in records:
        if changed := changed_files(record, folder):
            raise BuildError(
                f"{folder / changed[0]} is gone or is not as it was written; run the same build "
                "again, it makes anew what differs"
            )
    if len(records) != n_shards:
        raise BuildError(
            f"{folder} holds no finished build: {len(records)} of {n_shards} shards are complete; "
            "run the same build again, it goes on from there"
        )
    return FinishedBuild(folder, outline, {name: f for r in records for name, f in r.items()})


def stored_rows(build: FinishedBuild, config: str, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Rows of one config by id, read one row group at a time.

    Raises:
        LookupError: The build has no such row.
        BuildError: A file is damaged.
    """
    wanted, found = set(ids), {}
    for path, file in build.files.items():
        if file["config"] != config or not wanted:
            continue
        with naming_damage(build.folder / path), pq.ParquetFile(build.folder / path) as parquet:
            for group in range(parquet.num_row_groups):
                names = parquet.read_row_group(group, columns=["id"])["id"].to_pylist()
                at = [i for i, name in enumerate(names) if name in wanted]
                if at:
                    for row in parquet.read_row_group(group).take(at).to_pylist():
                        found[row["id"]] = row
                        wanted.discard(row["id"])
    if wanted:
        raise LookupError(f"{build.folder} has no row {sorted(wanted)[0]!r} in config {config!r}")
    return found


@contextlib.contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Turns what reading a damaged Parquet file, or audio in it, raises into a `BuildError`."""
    try:
        yield
    except (pa.ArrowException, OSError, soundfile.LibsndfileError) as error:
        raise BuildError(
            f"{path}: damaged ({first_line(error)}); run the same build again, it makes this file "
            "anew"
        ) from error


def _findings_path(folder: Path) -> Path:
    return folder / STATE / "findings.json"
