"""Scores of all items and of groups of them, as plain numbers ready for JSON."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from otoscope.errors import InvalidValue
from otoscope.statistics.labels import Column

Scores = dict[str, Any]


def break_down(
    n_items: int,
    by: Mapping[str, Column] | None,
    score: Callable[[np.ndarray, np.random.Generator], Scores],
    *,
    seed: int,
) -> Scores:
    """Scores of all items; and, under each name in `by`, of the items of each of its values.

    Values are compared and sorted as text. The generator is seeded once for all items, and again
    for each name, whose values share it in that order: the published way with categories.

    Args:
        by: Name of a breakdown to its value for each item.
        score: From the positions of items and a generator to their scores.

    Raises:
        InvalidValue: A breakdown of another length, or one named like a score.
    """
    result = score(np.arange(n_items), np.random.default_rng(seed))
    for name, values in (by or {}).items():
        if len(values) != n_items:
            raise InvalidValue(f"breakdown {name!r} has {len(values)} values for {n_items} items")
        if name in result:
            raise InvalidValue(f"a breakdown cannot be named {name!r}: that is a score")
        rng = np.random.default_rng(seed)
        result[name] = {value: score(items, rng) for value, items in _groups(values)}
    return result


def _groups(values: Column) -> Iterable[tuple[str, np.ndarray]]:
    texts = [str(value) for value in values]
    names, member = np.unique(np.array(texts, dtype=object), return_inverse=True)
    return [(str(name), np.flatnonzero(member == i)) for i, name in enumerate(names)]


def plain(scores: Mapping[str, Any]) -> Scores:
    """The same with Python numbers, and None for NaN.

    >>> plain({"n": np.int64(0), "accuracy": float("nan")})
    {'n': 0, 'accuracy': None}
    """
    return {name: _plain(value) for name, value in scores.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return plain(value)
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and math.isnan(value) else value
