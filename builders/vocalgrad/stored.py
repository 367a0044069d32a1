"""Single rows out of a finished build's Parquet files."""

from collections.abc import Iterable
from typing import Any

import pyarrow.parquet as pq

from builders.vocalgrad.making import Built


def stored_rows(built: Built, config: str, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Rows of one config by id, read one row group at a time.

    Raises:
        LookupError: The build has no such row.
    """
    wanted, found = set(ids), {}
    for path, file in built.files.items():
        if file["config"] != config or not wanted:
            continue
        with pq.ParquetFile(built.folder / path) as parquet:
            for group in range(parquet.num_row_groups):
                names = parquet.read_row_group(group, columns=["id"])["id"].to_pylist()
                places = [i for i, name in enumerate(names) if name in wanted]
                if places:
                    for row in parquet.read_row_group(group).take(places).to_pylist():
                        found[row["id"]] = row
                        wanted.discard(row["id"])
    if wanted:
        raise LookupError(f"{built.folder} has no row {sorted(wanted)[0]!r} in config {config!r}")
    return found
