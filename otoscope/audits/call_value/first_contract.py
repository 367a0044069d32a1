"""A first contract from tables: what `--init` writes, to be read and edited before a run."""

from typing import Any

import numpy as np
import pandas as pd

from otoscope.audits.call_value.contract import (
    FULL,
    NO_CALL,
    REPEATS,
    SCHEMA,
    Route,
    split_record,
)
from otoscope.audits.call_value.contract_checks import PARSED, parsed_labels
from otoscope.audits.call_value.features import NUMBER_OF, PAPER_FEATURES
from otoscope.audits.call_value.schema import (
    DEVELOPMENT,
    ENCODER,
    GENERATIVE,
    HOLDOUT,
    CallValueError,
)
from otoscope.audits.call_value.selector import LAMBDAS
from otoscope.audits.call_value.tables import CallTables, label_set

BUDGET = 0.5
SEED = 20260821


def first_contract(tables: CallTables) -> dict[str, Any]:
    """A contract with our defaults for everything that the paper leaves open.

    The tests compare the selectors with each other and with the encoder that is best on
    development examples, and each call's route from that encoder with it.

    Raises:
        CallValueError: No generative or no local action.
    """
    main = tables.predictions[tables.predictions["fold_seed"].isna()]
    kinds = dict(zip(main["action"], main["kind"], strict=True))
    calls = sorted(name for name, kind in kinds.items() if kind == GENERATIVE)
    local = sorted(set(kinds) - set(calls))
    if not calls or not local:
        raise CallValueError("the tables need at least one generative and one local action")
    known = {NUMBER_OF[name]: name for name in NUMBER_OF}
    absent = {name for column, name in known.items() if column not in tables.examples}
    costs, best = _costs(tables, kinds), _best(tables, kinds)
    routes = [Route(first, call, BUDGET, False) for first in local for call in calls]
    return {
        "schema": SCHEMA,
        "task": tables.task,
        "labels": sorted(label_set(tables.examples, tables.predictions)),
        "splits": {split: split_record(tables, split) for split in (DEVELOPMENT, HOLDOUT)},
        "actions": {name: {"kind": kinds[name], "cost": costs[name]} for name in (*local, *calls)},
        "features": [name for name in PAPER_FEATURES if name not in absent],
        "interactions": False,
        "C": 1.0,
        "lambdas": list(LAMBDAS),
        "folds": 5,
        "seed": SEED,
        "routes": [{"first": r.first, "call": r.call, "budget": r.budget} for r in routes],
        "primary": [FULL, NO_CALL],
        "tests": [
            [FULL, NO_CALL],
            [FULL, best],
            [NO_CALL, best],
            *([route.name, best] for route in routes if route.first == best),
        ],
        "margin": 0.03,
        "alpha": 0.05,
        "draws": 10_000,
        "repeats": REPEATS,
        "allocated": {},
        PARSED: parsed_labels(tables),
    }


def _development(tables: CallTables) -> pd.DataFrame:
    main = tables.predictions[tables.predictions["fold_seed"].isna()]
    gold = tables.examples.loc[tables.examples["split"] == DEVELOPMENT, "label"]
    rows = main[main["example_id"].isin(gold.index)]
    right = rows["label"].to_numpy() == gold.reindex(rows["example_id"]).to_numpy()
    return rows.assign(right=right)


def _costs(tables: CallTables, kinds: dict[str, str]) -> dict[str, float]:
    """Mean seconds on development examples, that of the dearest 1; 0 and 1 where any is unknown."""
    seconds = _development(tables).groupby("action")["wall_s"]
    mean = seconds.apply(lambda own: np.mean(own.to_numpy(dtype=float)))
    if mean.isna().any() or not mean.max() > 0:
        return {name: float(kind == GENERATIVE) for name, kind in kinds.items()}
    return {name: float(f"{mean[name] / mean.max():.6g}") for name in kinds}


def _best(tables: CallTables, kinds: dict[str, str]) -> str:
    """The encoder most often right on development examples; else the local action."""
    right = _development(tables).groupby("action")["right"].mean()
    encoders = [name for name, kind in kinds.items() if kind == ENCODER]
    among = encoders or [name for name, kind in kinds.items() if kind != GENERATIVE]
    return max(sorted(among), key=lambda name: right[name])
