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
        is_call: It is a call, or only calls need it.
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


def components_run(
    part: CallPart, runs: Bool[np.ndarray, "n n_actions"]
) -> Bool[np.ndarray, "n n_components"]:
    """Which components are needed for each example, by the actions that are run."""
    if part.needs is None:
        return np.zeros((part.n, 0), dtype=bool)
    return np.asarray(runs.astype(np.int64) @ part.needs > 0)


def component_costs(
    part: CallPart,
    runs: Bool[np.ndarray, "n n_actions"],
    allocated: Mapping[str, tuple[str, ...]] | None = None,
) -> list[ComponentCost]:
    """The cost of each action and of each shared component that is run for some example.

    An action that consists of shared components has no cost of its own, and is left out.
    """
    made = []
    needs = np.zeros((len(part.actions), 0), bool) if part.needs is None else part.needs
    own = ~np.any(needs, axis=1)
    for k, action in enumerate(part.actions):
        rows = runs[:, k]
        if rows.any() and own[k]:
            totals = {name: _total(part.costs[name][rows, k]) for name in COSTS}
            done = (allocated or {}).get(action.name, ())
            made.append(ComponentCost(action.name, action.is_call, int(rows.sum()), totals, done))
    shared = components_run(part, runs)
    for k, name in enumerate(part.components):
        rows = shared[:, k]
        if rows.any():
            totals = {c: _total(part.component_costs[c][rows, k]) for c in COSTS}
            only_calls = bool(part.is_call[needs[:, k]].all())
            made.append(ComponentCost(name, only_calls, int(rows.sum()), totals, ()))
    return made


def costs_by_example(
    part: CallPart, runs: Bool[np.ndarray, "n n_actions"], column: str
) -> Float[np.ndarray, " n"]:
    """What each example costs, in one column of cost; NaN where something needed is unknown."""
    cost = np.where(runs, part.costs[column], 0.0).sum(axis=1)
    if part.needs is None:
        return np.asarray(cost)
    shared = np.where(components_run(part, runs), part.component_costs[column], 0.0)
    return np.asarray(cost + shared.sum(axis=1))


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

    A call waits for all local actions; components of one action follow one another. NaN where a
    component is unknown.
    """
    seconds = np.where(runs, part.costs["wall_s"], 0.0)
    if part.needs is not None:
        each = np.stack([part.component_costs["wall_s"] @ own for own in part.needs], axis=1)
        seconds = np.where(runs, seconds + each, 0.0)
    local, calls = seconds[:, ~part.is_call], seconds[:, part.is_call]
    side_by_side = local.max(axis=1) if local.shape[1] else np.zeros(part.n)
    return costs_by_example(part, runs, "wall_s"), side_by_side + calls.sum(axis=1)


def ledger_rows(part: CallPart, allocated: Mapping[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    """What each action and shared component costs for each example, whichever policy needs it."""
    tables = [
        ([action.name for action in part.actions], part.costs),
        (list(part.components), part.component_costs),
    ]
    return [
        {
            "example_id": str(example),
            "component": name,
            **{column: _known(costs[column][i, k]) for column in COSTS},
            "allocated": ", ".join(allocated.get(name, ())) or None,
        }
        for names, costs in tables
        for k, name in enumerate(names)
        for i, example in enumerate(part.ids)
    ]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _total(values: np.ndarray) -> float | None:
    return None if np.isnan(values).any() else float(values.sum())


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(sum(known)) if len(known) == len(values) else None
