"""Tables of components: one row for each example and component, with what it cost."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from otoscope.audits.call_value.schema import COSTS, CallValueError
from otoscope.errors import first_names

COMPONENT_COLUMNS = (
    "example_id", "component", "wall_s", "price", "audio_s", "tokens", "tokens_in", "tokens_out",
    "device", "batch",
)  # fmt: skip


def validate_component_columns(path: str, columns: Sequence[str]) -> None:
    """Raises where a table of components has a column that none has."""
    if unknown := [name for name in columns if name not in COMPONENT_COLUMNS]:
        raise CallValueError(
            f"{path} has columns that no table of components has: {first_names(unknown)}; there "
            f"are {', '.join(COMPONENT_COLUMNS)}"
        )


def component_row(where: str, row: Mapping[str, Any], costs: Mapping[str, float]) -> dict[str, Any]:
    """A row of the table; tokens in and out are added up.

    Args:
        costs: The row's columns of cost as numbers.
    """
    if "component" not in row:
        raise CallValueError(f"{where} has no component")
    both: list[Any] = [row.get("tokens_in"), row.get("tokens_out")]
    tokens = {"tokens": float(both[0]) + float(both[1])} if None not in both else {}
    name = str(row["component"]).strip()
    return (
        {"example_id": row["example_id"], "component": name, "where": where} | tokens | dict(costs)
    )


def components_frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """All rows of components, each example and component once.

    Raises:
        CallValueError: One is there twice.
    """
    table = pd.DataFrame(rows, columns=["example_id", "component", "where", *COSTS])
    if (twice := table.duplicated(["example_id", "component"])).any():
        row = table[twice].iloc[0]
        raise CallValueError(
            f"{row['where']}: example {row['example_id']!r} has component {row['component']!r} "
            "twice"
        )
    return table
