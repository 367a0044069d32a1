"""What a policy costs: the sum over what it needs, for each example.

A policy needs every local action whose evidence it reads, whether its label is taken or not, and
each call that it makes. What is unknown stays unknown, and blocks the total.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from otoscope.audits.call_value.parts import CallPart
from otoscope.audits.call_value.schema import COSTS


@dataclass(frozen=True)
class ComponentCost:
    """Cost of one action in a policy, by column of cost; None where it is unknown.

    Attributes:
        n: Examples that need it.
        allocated: Columns whose total was declared and is spread evenly.
    """

    component: str
    is_call: bool
    n: int
    totals: Mapping[str, float | None]
    allocated: tuple[str, ...]


def allocate(
    part: CallPart, allocated: Mapping[str, Mapping[str, float]]
) -> tuple[CallPart, dict[str, tuple[str, ...]]]:
    """Spreads declared totals evenly over examples; only where no cost of the action is known.

    Returns:
        The part, and for each action which columns were allocated.
    """
    costs = {name: values.copy() for name, values in part.costs.items()}
    done: dict[str, tuple[str, ...]] = {}
    for action, totals in allocated.items():
        k = part.index(action)
        for column, total in totals.items():
            if np.isnan(costs[column][:, k]).all():
                costs[column][:, k] = total / part.n
                done[action] = (*done.get(action, ()), column)
    return replace(part, costs=costs), done


def needed(
    part: CallPart, local: frozenset[str], called: Bool[np.ndarray, "n n_actions"]
) -> Bool[np.ndarray, "n n_actions"]:
    """Which actions are run for each example.

    Args:
        local: Local actions whose evidence the policy reads on every example.
        called: The calls that it makes.
    """
    always = np.array([action.name in local for action in part.actions])
    return always[None, :] | called


def component_costs(
    part: CallPart,
    runs: Bool[np.ndarray, "n n_actions"],
    allocated: Mapping[str, tuple[str, ...]] | None = None,
) -> list[ComponentCost]:
    """The cost of each action that is run for some example."""
    made = []
    for k, action in enumerate(part.actions):
        rows = runs[:, k]
        if rows.any():
            totals = {name: _total(part.costs[name][rows, k]) for name in COSTS}
            done = (allocated or {}).get(action.name, ())
            made.append(ComponentCost(action.name, action.is_call, int(rows.sum()), totals, done))
    return made


def policy_totals(costs: list[ComponentCost]) -> dict[str, Any]:
    """Totals of a policy, of all it needs and of its calls; None where a component is unknown.

    Without a component of any kind nothing is run, and the totals are 0.
    """
    totals: dict[str, Any] = {}
    for name in COSTS:
        totals[name] = _sum([own.totals[name] for own in costs])
        totals[f"{name}_calls"] = _sum([own.totals[name] for own in costs if own.is_call])
    return totals


def latencies(
    part: CallPart, runs: Bool[np.ndarray, "n n_actions"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Seconds for each example, one after the other and with local actions side by side.

    A call waits for all local actions. NaN where a component is unknown.
    """
    seconds = np.where(runs, part.costs["wall_s"], 0.0)
    local, calls = seconds[:, ~part.is_call], seconds[:, part.is_call]
    side_by_side = local.max(axis=1) if local.shape[1] else np.zeros(part.n)
    return seconds.sum(axis=1), side_by_side + calls.sum(axis=1)


def _total(values: np.ndarray) -> float | None:
    return None if np.isnan(values).any() else float(values.sum())


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(sum(known)) if len(known) == len(values) else None
