"""Components that several actions share, such as one recogniser under two transcripts.

A table of components has a row for each example and component. The contract's `needs` says which
components an action consists of; such an action costs what they cost, and its own columns of cost
are not read. A policy pays for each component once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from otoscope.audits.call_value.parts import CallPart
from otoscope.audits.call_value.schema import COSTS, CallValueError
from otoscope.errors import first_names


def with_components(
    part: CallPart, table: pd.DataFrame, needs: Mapping[str, Sequence[str]]
) -> CallPart:
    """The part with the components of its actions.

    Args:
        table: From `component_tables.components_frame`.
        needs: Action to components; others keep their own columns of cost.

    Raises:
        CallValueError: An action or a component that there is not.
    """
    if not needs:
        return part
    known = {action.name for action in part.actions}
    if unknown := sorted(set(needs) - known):
        raise CallValueError(f"contract: needs names {unknown[0]!r}, which is no action")
    names = tuple(dict.fromkeys(name for own in needs.values() for name in own))
    if missing := sorted(set(names) - set(table["component"])):
        raise CallValueError(
            f"contract: needs names the component {missing[0]!r}, which no table has; there are "
            f"{first_names(sorted(set(table['component'])))}"
        )
    costs = {name: values.copy() for name, values in part.costs.items()}
    matrix = np.zeros((len(part.actions), len(names)), dtype=bool)
    for action, own in needs.items():
        k = part.index(action)
        matrix[k, [names.index(name) for name in own]] = True
        for values in costs.values():
            values[:, k] = 0.0
    by_name = {
        name: table[table["component"] == name].set_index("example_id").reindex(part.ids)
        for name in names
    }
    shared = {
        column: np.stack([by_name[name][column].to_numpy(dtype=float) for name in names], axis=1)
        for column in COSTS
    }
    return replace(part, costs=costs, components=names, component_costs=shared, needs=matrix)
