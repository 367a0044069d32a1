"""Curves of accuracy over calls and cost, and resamples of all of them at once.

Selectors over λ, routes over budgets, and as many random calls. Descriptive: the curves are drawn
with held-out labels, and no policy is selected on them. Each threshold of a route is a quantile of
development examples.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.contract import FULL, NO_CALL, Route
from otoscope.audits.call_value.ledger import costs_by_example
from otoscope.audits.call_value.parts import CallPart
from otoscope.audits.call_value.policies import CallPolicy, choosing
from otoscope.audits.call_value.routing import doubt_of, follow, threshold
from otoscope.audits.call_value.selector import choose
from otoscope.reports.call_value.outcomes import policy_of, right_of

AXES = ("call_rate", "wall_s", "price", "audio_s")
"""What a curve runs over: the share of calls, then seconds, money and seconds of audio sent."""

BUDGETS = tuple(k / 10 for k in range(11))
RANDOM = "random"


@dataclass(frozen=True)
class CurvePoint:
    """One policy on a curve.

    Attributes:
        curve: Its name.
        at: `lambda` or `budget`.
        right: How likely each held-out example is right: 0 or 1 but for random calls.
        costs: By axis, of each example; NaN where unknown.
        is_policy: Whether it may be followed; random calls are for comparison only.
    """

    curve: str
    at: dict[str, float]
    right: Float[np.ndarray, " n"]
    costs: dict[str, Float[np.ndarray, " n"]]
    is_policy: bool = True

    @property
    def selector(self) -> str | None:
        """The selector whose λ this is."""
        return self.curve if self.curve in (FULL, NO_CALL) else None


def curve_points(audit: CallAudit) -> list[CurvePoint]:
    """Every point of every curve."""
    selectors = list(_selectors(audit))
    most = max(float(point.costs["call_rate"].mean()) for point in selectors)
    return [*selectors, *_routes(audit), *_random(audit, most)]


def _of_policy(part: CallPart, policy: CallPolicy) -> dict[str, Any]:
    runs = policy.runs(part)
    return {
        "right": np.asarray(policy.predicted == part.gold, dtype=float),
        "costs": {"call_rate": policy.calls.astype(float)}
        | {name: costs_by_example(part, runs, name) for name in AXES[1:]},
    }


def _selectors(audit: CallAudit) -> Iterator[CurvePoint]:
    for name in (FULL, NO_CALL):
        model = audit.frozen.selectors[name].model
        own = [audit.holdout.index(action) for action in model.actions]
        part = audit.holdout.only(own)
        probabilities = model.probabilities(part)
        local = frozenset(action.name for action in part.actions if not action.is_call)
        for weight in sorted(audit.contract.settings.lambdas):
            chosen = np.array(own)[choose(probabilities, part, weight)]
            policy = choosing(name, "selector", audit.holdout, chosen, local)
            yield CurvePoint(name, {"lambda": weight}, **_of_policy(audit.holdout, policy))


def _routes(audit: CallAudit) -> Iterator[CurvePoint]:
    for first, call in dict.fromkeys((own.first, own.call) for own in audit.contract.routes):
        values = doubt_of(audit.development, first)
        for budget in BUDGETS:
            route = Route(first, call, budget, False)
            chosen = follow(route, audit.holdout, threshold(values, budget))
            policy = choosing(route.name, "route", audit.holdout, chosen, frozenset([first]))
            at = {"budget": budget}
            yield CurvePoint(f"{first}→{call}", at, **_of_policy(audit.holdout, policy))


def _random(audit: CallAudit, most: float) -> Iterator[CurvePoint]:
    """Expected accuracy and cost where a share of examples, drawn at random, has a call.

    Args:
        most: The largest share that full calls for at any λ, a point of its own.
    """
    part = audit.holdout
    local = _of_policy(part, policy_of(audit, NO_CALL))
    right = right_of(audit, NO_CALL)
    for k in np.flatnonzero(part.is_call):
        for budget in sorted({*BUDGETS, most}):
            share = np.floor(budget * part.n + 0.5) / part.n
            costs = {
                name: local["costs"][name] + share * part.costs[name][:, k] for name in AXES[1:]
            }
            yield CurvePoint(
                f"no_call→{part.actions[k].name}, {RANDOM}",
                {"budget": budget},
                right + share * (part.correct[:, k].astype(float) - right),
                {"call_rate": np.full(part.n, share), **costs},
                is_policy=False,
            )
