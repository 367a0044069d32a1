"""What is wrong with tables of predictions and examples, as errors that name file and row."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from otoscope.audits.call_value.schema import (
    DEVELOPMENT,
    ENCODER,
    EXAMPLE_COLUMNS,
    GENERATIVE,
    HOLDOUT,
    NOT_FITTED,
    PREDICTION_COLUMNS,
    CallValueError,
)
from otoscope.errors import first_names


def validate_columns(path: Path | str, columns: Sequence[str], is_predictions: bool) -> None:
    """Raises where a table lacks a column that it needs, or has one that no table has."""
    known = PREDICTION_COLUMNS if is_predictions else EXAMPLE_COLUMNS
    for needed in ("action", "kind", "label") if is_predictions else ("label",):
        if needed not in columns:
            raise CallValueError(f"{path} has no column {needed!r}")
    if unknown := [name for name in columns if name not in known]:
        raise CallValueError(
            f"{path} has columns that no call-value table has: {first_names(unknown)}; remove or "
            f"rename them (there are {', '.join(known)})"
        )


def validate_labels(
    examples: Mapping[str, Mapping[str, tuple[Any, str]]],
    predictions: Sequence[Mapping[str, Any]],
    known: set[str],
) -> None:
    """Raises where an example's or a prediction's label is not in the closed set."""
    for label, where in (row["label"] for row in examples.values()):
        if label not in known:
            raise CallValueError(
                f"{where}: the example's label {label!r} is not in the closed set {sorted(known)}"
            )
    wrong = [
        (row["label"], row["where"]) for row in predictions if row.get("label", None) is not None
        and row["label"] not in known
    ]  # fmt: skip
    if wrong:
        label, where = wrong[0]
        raise CallValueError(
            f"{where}: label {label!r} is not in the set {sorted(known)}; leave the label of an "
            "answer that could not be parsed empty"
        )


def validate_predictions(made: pd.DataFrame, examples: pd.DataFrame) -> None:
    """Raises where a prediction is missing, doubled, of two kinds, or not out of fold."""
    kinds = made.groupby("action")["kind"].unique()
    for action, kind in kinds.items():
        if len(kind) > 1:
            raise CallValueError(f"action {action!r} is of two kinds: {first_names(list(kind))}")
    key = ["example_id", "action", "prompt_id", "fold_seed"]
    if (twice := made.duplicated(key)).any():
        row = made[twice].iloc[0]
        raise CallValueError(
            f"{row['where']}: example {row['example_id']!r} has two predictions of "
            f"{row['action']!r}"
        )
    _validate_seeds(made, examples)
    main = made[made["fold_seed"].isna()]
    if seeded := sorted(set(made["action"]) - set(main["action"])):
        raise CallValueError(
            f"{seeded[0]!r} has predictions with a fold_seed only; those that decide have none"
        )
    for (action, prompt), rows in main.groupby(["action", "prompt_id"]):
        if missing := sorted(set(examples.index) - set(rows["example_id"])):
            of = f" with prompt_id {prompt!r}" if prompt else ""
            raise CallValueError(
                f"{len(missing)} examples have no prediction of {action!r}{of}: "
                f"{first_names(missing)}"
            )
    for action, rows in main[main["kind"] != GENERATIVE].groupby("action"):
        if rows["prompt_id"].nunique() > 1:
            raise CallValueError(f"{action!r} is no generative action and has several prompt_id")
    _validate_folds(main, examples)


def _validate_seeds(made: pd.DataFrame, examples: pd.DataFrame) -> None:
    seeded = made[made["fold_seed"].notna()]
    development = set(examples.index[examples["split"] == DEVELOPMENT])
    wrong = seeded[(seeded["kind"] != ENCODER) | ~seeded["example_id"].isin(development)]
    if len(wrong):
        raise CallValueError(
            f"{wrong.iloc[0]['where']} has a fold_seed; only development predictions of encoders do"
        )
    for (action, seed), rows in seeded.groupby(["action", "fold_seed"]):
        if missing := sorted(development - set(rows["example_id"])):
            raise CallValueError(
                f"{len(missing)} examples have no prediction of {action!r} with fold_seed {seed}: "
                f"{first_names(missing)}"
            )


def _validate_folds(made: pd.DataFrame, examples: pd.DataFrame) -> None:
    encoders = made[made["kind"] == ENCODER]
    split = examples["split"].reindex(encoders["example_id"]).to_numpy()
    development = encoders[split == DEVELOPMENT]
    holdout = encoders[split == HOLDOUT]
    if (none := development["fold"].isna()).any():
        row = development[none].iloc[0]
        raise CallValueError(
            f"{row['where']}: the development prediction of encoder {row['action']!r} has no fold; "
            f"it must come from a probe that was not fitted on the example (fold {NOT_FITTED!r}: "
            "nothing was fitted)"
        )
    if (some := holdout["fold"].notna() & (holdout["fold"] != NOT_FITTED)).any():
        row = holdout[some].iloc[0]
        raise CallValueError(
            f"{row['where']}: the held-out prediction of encoder {row['action']!r} has the fold "
            f"{row['fold']!r}, so its probe was fitted on held-out examples"
        )
    for action, rows in development.groupby("action"):
        folds = sorted(rows["fold"].unique())
        if folds == [NOT_FITTED]:
            continue
        if len(folds) < 2:
            raise CallValueError(
                f"encoder {action!r} has one fold, {folds[0]!r}: its development predictions are "
                "not out of fold"
            )
        if all(fold.isdigit() for fold in folds):
            numbers = set(map(int, folds))
            if gaps := sorted(set(range(min(numbers), max(numbers) + 1)) - numbers):
                raise CallValueError(f"encoder {action!r} has no examples in fold {gaps[0]}")
