"""Tables of saved predictions and of examples, and what is wrong with them.

A table with the column `action` holds predictions, one without it examples; see
`docs/call-value.md`. Labels of held-out examples are validated and dropped, unless they are
asked for.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from otoscope.audits.call_value.component_tables import (
    component_row,
    components_frame,
    validate_component_columns,
)
from otoscope.audits.call_value.schema import (
    COSTS,
    DEVELOPMENT,
    EXAMPLE_COLUMNS,
    EXAMPLE_NUMBERS,
    GENERATIVE,
    HOLDOUT,
    KINDS,
    SHARED_COLUMNS,
    SIMULATED,
    SPLITS,
    CallValueError,
)
from otoscope.audits.call_value.table_checks import (
    validate_columns,
    validate_labels,
    validate_predictions,
)
from otoscope.errors import first_names
from otoscope.tables.files import read_table

WHOLE = re.compile(r"(?<=\d)\.0+$")
TRUTHS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
NUMBERS = (*EXAMPLE_NUMBERS, *COSTS, "conf")


class GivenTable(NamedTuple):
    """A table in memory: its name in messages, and its rows."""

    name: str
    rows: Sequence[Mapping[str, Any]]


TableSource: TypeAlias = Path | str | GivenTable
"""A file, or a table in memory."""


@dataclass(frozen=True)
class CallTables:
    """Examples and predictions, each in the order of its names.

    Attributes:
        task: Its name; empty where no table has one.
        examples: By `example_id`: `split`, `cluster_id`, `label` (None where it is not to be
            read), `speaker`, `group`, `sha256`, `source` and the numbers known before a call.
        predictions: `example_id`, `action`, `kind`, `prompt_id`, `label` (None: unparsed), `conf`,
            `margin`, `fold`, `fold_seed` and costs; `where` says which row.
        components: `example_id`, `component`, `where` and costs; empty where no table has them.
    """

    task: str
    examples: pd.DataFrame
    predictions: pd.DataFrame
    components: pd.DataFrame = field(default_factory=lambda: components_frame(()))


def read_call_tables(
    sources: Iterable[TableSource],
    *,
    labels: Sequence[str] | None = None,
    holdout_labels: bool = False,
) -> CallTables:
    """Reads and validates tables of predictions and of examples.

    Args:
        sources: Files (CSV, TSV, JSON lines or Parquet) or tables in memory, in any order.
        labels: The closed set; by default that of development examples and of all predictions.
        holdout_labels: Whether to keep labels of held-out examples.

    Raises:
        CallValueError: Something is missing, doubled, not finite or contradictory; see
            `docs/call-value.md`. The message names file and row.
        TableError: A file cannot be read.
    """
    examples: dict[str, dict[str, tuple[Any, str]]] = {}
    predictions: list[dict[str, Any]] = []
    components: list[dict[str, Any]] = []
    for source in sources:
        path, columns, rows = _opened(source)
        if "example_id" not in columns:
            raise CallValueError(f"{path} has no column 'example_id'")
        if "component" in columns:
            validate_component_columns(path, columns)
            components += [_component(where, row) for where, row in rows]
            continue
        is_predictions = "action" in columns
        validate_columns(path, columns, is_predictions)
        seen: set[str] = set()
        for where, row in rows:
            own = {key: value for key, value in row.items() if not _empty(value)}
            if "example_id" not in own:
                raise CallValueError(f"{where} has no example_id")
            own["example_id"] = example = str(own["example_id"])
            if is_predictions:
                predictions.append(_prediction(where, own))
                own = {key: own[key] for key in SHARED_COLUMNS if key in own}
            elif example in seen:
                raise CallValueError(f"{where}: example {example!r} is in this table twice")
            seen.add(example)
            _merge(examples.setdefault(example, {}), _example(where, own), where, example)
    if not predictions:
        raise CallValueError("no table has predictions: one needs the column 'action'")
    task = _one_task(examples)
    table = _examples_frame(examples, {row["example_id"] for row in predictions})
    made = pd.DataFrame(predictions)
    for column in (
        "label",
        "conf",
        "margin",
        "logprob",
        "fold",
        "fold_seed",
        "prompt_id",
        "parser",
        *COSTS,
    ):
        if column not in made:
            made[column] = None
    known = set(labels) if labels is not None else label_set(table, made)
    validate_labels(examples, predictions, known)
    if not holdout_labels:
        table.loc[table["split"] == HOLDOUT, "label"] = None
    validate_predictions(made, table)
    order = ["example_id", "action", "prompt_id"]
    made = made.sort_values(order, ignore_index=True)
    return CallTables(task, table.sort_index(), made, components_frame(components))


def _component(where: str, row: Mapping[str, Any]) -> dict[str, Any]:
    own = {key: value for key, value in row.items() if not _empty(value)}
    if "example_id" not in own:
        raise CallValueError(f"{where} has no example_id")
    own["example_id"] = str(own["example_id"])
    costs = {key: _number(where, key, own[key]) for key in COSTS if key in own}
    return component_row(where, own, costs)


def _opened(
    source: TableSource,
) -> tuple[str, Sequence[str], Iterable[tuple[str, Mapping[str, Any]]]]:
    """Name, columns and rows of a table; each row with where it stands."""
    if not isinstance(source, GivenTable):
        columns, rows = read_table(Path(source))
        return str(source), columns, rows
    columns = list(dict.fromkeys(key for row in source.rows for key in row))
    return source.name, columns, [(f"{source.name}, row {i}", r) for i, r in enumerate(source.rows)]


def label_set(examples: pd.DataFrame, predictions: pd.DataFrame) -> set[str]:
    """Labels of development examples and of all predictions."""
    development = examples.loc[examples["split"] == DEVELOPMENT, "label"]
    return set(development.dropna()) | set(predictions["label"].dropna())


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _number(where: str, name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise CallValueError(f"{where}: {name} is {value!r}, not a finite number")
    if name in COSTS and number < 0:
        raise CallValueError(f"{where}: {name} is {value!r}, which is below 0")
    return number


def _numbers(where: str, row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _number(where, key, value) if key in NUMBERS else value for key, value in row.items()
    }


def _example(where: str, row: Mapping[str, Any]) -> dict[str, Any]:
    own = {key: row[key] for key in EXAMPLE_COLUMNS if key in row and key != "asr_text"}
    own = {key: value if key in NUMBERS else str(value).strip() for key, value in own.items()}
    if "split" in own:
        if own["split"].lower() not in SPLITS:
            raise CallValueError(f"{where}: split is {own['split']!r}, not one of {list(SPLITS)}")
        own["split"] = SPLITS[own["split"].lower()]
    return _numbers(where, own)


def _merge(
    into: dict[str, tuple[Any, str]], row: Mapping[str, Any], where: str, example: str
) -> None:
    for key, value in row.items():
        known, place = into.setdefault(key, (value, where))
        if known != value:
            raise CallValueError(
                f"{key} of example {example!r} is {known!r} in {place} and {value!r} in {where}"
            )


def _prediction(where: str, row: Mapping[str, Any]) -> dict[str, Any]:
    for needed in ("action", "kind"):
        if needed not in row:
            raise CallValueError(f"{where} has no {needed}")
    if row["kind"] not in KINDS:
        raise CallValueError(f"{where}: kind is {row['kind']!r}, not one of {list(KINDS)}")
    texts = {
        key: str(row[key]).strip()
        for key in ("action", "kind", "label", "prompt_id", "parser", "fold", "fold_seed")
        if key in row
    }
    for key in ("fold", "fold_seed"):  # whole numbers in a column with gaps are written as floats
        if key in texts:
            texts[key] = WHOLE.sub("", texts[key])
    made = {"prompt_id": "", **texts, "example_id": row["example_id"], "where": where}
    if _is_simulated(where, row) and SIMULATED not in made["action"]:
        made["action"] = f"{made['action']} ({SIMULATED})"
    costs = {key: _number(where, key, row[key]) for key in COSTS if key in row}
    if made["kind"] == GENERATIVE:  # beside its label only `logprob`, for post-call policies
        known = {"logprob": _number(where, "logprob", row["logprob"])} if "logprob" in row else {}
        return made | costs | known
    if "conf" not in row and "scores" not in row:
        raise CallValueError(f"{where}: {made['action']!r} has neither conf nor scores")
    scores = _scores(where, row["scores"]) if "scores" in row else None
    conf = _number(where, "conf", row["conf"]) if "conf" in row else max(scores or ())
    ranked = sorted(scores or (), reverse=True)
    margin = ranked[0] - ranked[1] if ranked else conf
    return made | costs | {"conf": conf, "margin": margin}


def _is_simulated(where: str, row: Mapping[str, Any]) -> bool:
    written = str(row.get(SIMULATED, False)).strip().lower()
    if written not in TRUTHS:
        raise CallValueError(f"{where}: simulated is {row[SIMULATED]!r}, not true or false")
    return TRUTHS[written]


def _scores(where: str, value: Any) -> list[float]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if not isinstance(value, list) or len(value) < 2:
        raise CallValueError(f"{where}: scores are not a list of at least two numbers")
    return [_number(where, "scores", score) for score in value]


def _one_task(examples: Mapping[str, Mapping[str, tuple[Any, str]]]) -> str:
    tasks = sorted({row["task"][0] for row in examples.values() if "task" in row})
    if len(tasks) > 1:
        raise CallValueError(f"the tables are about several tasks: {first_names(tasks)}")
    return tasks[0] if tasks else ""


def _examples_frame(
    examples: Mapping[str, Mapping[str, tuple[Any, str]]], predicted: set[str]
) -> pd.DataFrame:
    rows = {}
    for name, row in examples.items():
        for needed in ("label", "split"):
            if needed not in row:
                raise CallValueError(f"example {name!r} has no {needed} in any table")
        rows[name] = {key: value for key, (value, _) in row.items()}
        rows[name].setdefault("cluster_id", rows[name].get("speaker", name))
    if without := sorted(set(rows) - predicted):
        raise CallValueError(f"no predictions for {len(without)} examples: {first_names(without)}")
    table = pd.DataFrame.from_dict(rows, orient="index")
    for column in ("speaker", "group", "sha256", "source"):
        if column not in table:
            table[column] = None
    for column in EXAMPLE_NUMBERS:
        if column in table and table[column].isna().any():
            name = table.index[table[column].isna()][0]
            raise CallValueError(f"example {name!r} has no {column}, others have")
    for split in (DEVELOPMENT, HOLDOUT):
        if not (table["split"] == split).any():
            raise CallValueError(f"no example is in the split {split}")
    return table
