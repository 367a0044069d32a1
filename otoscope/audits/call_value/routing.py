"""Policies that need no fitted model: routes by confidence, and oracles.

Source: M. Geng (2026), arXiv 2608.27817, section 3.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from otoscope.audits.call_value.contract import Route
from otoscope.audits.call_value.parts import CallPart
from otoscope.audits.call_value.schema import TRANSCRIPT


def doubt_of(part: CallPart, first: str) -> Float[np.ndarray, " n"]:
    """What a route orders examples by: a transcript's confidence, an encoder's margin."""
    k = part.index(first)
    return (part.conf if part.actions[k].kind == TRANSCRIPT else part.margin)[:, k]


def threshold(values: Float[np.ndarray, " n"], budget: float) -> float:
    """The quantile below or at which a route calls; no number lies below it for a budget of 0.

    >>> threshold(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), 0.5), threshold(np.array([0.1]), 0.0)
    (0.3, -inf)
    """
    if budget <= 0:
        return -np.inf
    return float(np.quantile(values, budget)) if budget < 1 else np.inf


def lowest(values: Float[np.ndarray, " n"], budget: float) -> Bool[np.ndarray, " n"]:
    """Exactly the planned share of examples, those with the lowest values; ties by position.

    >>> lowest(np.array([0.5, 0.1, 0.1, 0.9]), 0.25).tolist()
    [False, True, False, False]
    """
    called = np.zeros(len(values), dtype=bool)
    called[np.argsort(values, kind="stable")[: int(np.floor(budget * len(values) + 0.5))]] = True
    return called


def follow(route: Route, part: CallPart, at: float) -> Int[np.ndarray, " n"]:
    """The action of each example on a route.

    Args:
        at: Its threshold from development examples; not used with an exact quota.
    """
    values = doubt_of(part, route.first)
    called = lowest(values, route.budget) if route.quota else values <= at
    return np.where(called, part.index(route.call), part.index(route.first))


def oracle(part: CallPart) -> Int[np.ndarray, " n"]:
    """A correct action for each example where there is one, a local one before a call.

    Where no action is correct, the first local one.
    """
    return np.argmax(part.correct, axis=1)
