"""What a selector may know before a call, as one row for each example and action.

`FEATURES` is the list of what is allowed; a contract that names anything else is rejected.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxtyping import Float

from otoscope.audits.call_value.parts import CallPart
from otoscope.audits.call_value.schema import ENCODER, PREDICTION_COLUMNS, CallValueError

PAPER_FEATURES = ("conf", "unc", "len", "is_encoder", "is_call", "cost", "action")
"""Features of the paper's selector, where all are taken to be listed there."""


def _of_example(name: str) -> Callable[[CallPart], np.ndarray]:
    return lambda part: np.repeat(part.numbers[name][:, None], len(part.actions), axis=1)


def _of_action(values: Callable[[CallPart], np.ndarray]) -> Callable[[CallPart], np.ndarray]:
    return lambda part: np.repeat(values(part).astype(float)[None, :], part.n, axis=0)


def _agreement_of_all(part: CallPart) -> np.ndarray:
    """Share of the other local actions that predict the label of the one; it may be a call's."""
    local = ~part.is_call
    same = (part.predicted[:, :, None] == part.predicted[:, None, :]) & (
        part.predicted[:, :, None] >= 0
    )
    itself = np.where(local, same.diagonal(axis1=1, axis2=2), False)
    n_others = np.maximum(1, int(local.sum()) - local)
    return (same[:, :, local].sum(axis=2) - itself) / n_others


def _agreement(part: CallPart) -> np.ndarray:
    """The same, 0 for a call: its label is not known before it."""
    return np.where(part.is_call, 0.0, _agreement_of_all(part))


FEATURES: Mapping[str, Callable[[CallPart], np.ndarray]] = {
    "conf": lambda part: part.conf,
    "margin": lambda part: part.margin,
    "agreement": _agreement,
    "unc": _of_example("asr_unc"),
    "len": _of_example("asr_len"),
    "duration": _of_example("duration"),
    "no_speech": _of_example("no_speech"),
    "is_encoder": _of_action(lambda p: np.array([a.kind == ENCODER for a in p.actions])),
    "is_call": _of_action(lambda part: part.is_call),
    "cost": _of_action(lambda part: part.cost),
    "action": lambda part: np.zeros((part.n, len(part.actions))),  # its identity, one-hot
}
"""Name to values by example and action. All are known before any call."""

AGREEMENT_OF_ALL = "agreement_of_all"
"""Share of the other local actions that predict an action's label, for calls too: post-call."""

NUMBER_OF = {"unc": "asr_unc", "len": "asr_len", "duration": "duration", "no_speech": "no_speech"}
"""The column of the examples table that a feature is."""

UNSCALED = ("is_encoder", "is_call")
INTERACTING = ("unc", "len", "agreement", "duration", "no_speech")


def validate_features(names: Sequence[str]) -> None:
    """Raises `CallValueError` where a feature is not known before a call."""
    for name in names:
        if name in FEATURES:
            continue
        why = (
            "is known only after a call, or is no feature"
            if name.rpartition(".")[2] in PREDICTION_COLUMNS
            else "is no feature that is known before a call"
        )
        raise CallValueError(f"contract: {name!r} {why}; there are {', '.join(FEATURES)}")
    if not names or len(set(names)) < len(names):
        raise CallValueError("contract: features are missing, or one is listed twice")


def feature_rows(
    part: CallPart, names: Sequence[str], *, interactions: bool = False
) -> tuple[list[str], Float[np.ndarray, "n n_actions n_columns"]]:
    """Columns by name, and their values for each example and action, unscaled.

    Args:
        names: Keys of `FEATURES`, or `AGREEMENT_OF_ALL` for a post-call policy.
        interactions: Add the product of each of `INTERACTING` with each action's identity.

    Raises:
        CallValueError: The table of examples lacks a column that a feature needs.
    """
    columns: list[str] = []
    values: list[np.ndarray] = []
    identity = np.broadcast_to(
        np.eye(len(part.actions)), (part.n, len(part.actions), len(part.actions))
    )
    for name in names:
        if name in NUMBER_OF and NUMBER_OF[name] not in part.numbers:
            raise CallValueError(
                f"contract: the feature {name!r} needs the column {NUMBER_OF[name]!r} in a table "
                "of examples"
            )
        if name == "action":
            columns += [f"action={action.name}" for action in part.actions]
            values += list(np.moveaxis(identity, 2, 0))
            continue
        columns.append(name)
        known = {**FEATURES, AGREEMENT_OF_ALL: _agreement_of_all}
        values.append(known[name](part))
        if interactions and name in INTERACTING:
            columns += [f"{name}×{action.name}" for action in part.actions]
            values += list(np.moveaxis(identity * values[-1][..., None], 2, 0))
    return columns, np.stack(values, axis=2)


def is_continuous(column: str) -> bool:
    """Whether a column is standardised: neither an indicator nor an identity."""
    return column not in UNSCALED and not column.startswith("action=")
