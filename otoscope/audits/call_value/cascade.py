"""Cascades: a route calls, then the answer's log-probability says whether its label is kept.

Only where predictions of calls have `logprob`. That is known after a call, so cascades are
post-call policies: a rejected answer has been paid for.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from otoscope.audits.call_value.contract import Route
from otoscope.audits.call_value.parts import CallPart

CONF_SOURCE = "logprob"


@dataclass(frozen=True)
class Cascade:
    """What is accepted behind a route.

    Attributes:
        route: Its name.
        accept: The least log-probability of a label that is kept; None keeps every label.
        n_correct: Of development examples, of which the threshold was selected.
    """

    route: str
    accept: float | None
    n_correct: int
    n: int
    conf_source: str = CONF_SOURCE

    @property
    def name(self) -> str:
        """Of the policy."""
        return f"post-call cascade {self.route}"

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return asdict(self)


def fit_cascade(
    part: CallPart, route: Route, chosen: Int[np.ndarray, " n"], *, gold: Int[np.ndarray, " n"]
) -> Cascade | None:
    """The threshold with most correct development examples; of equals the one that keeps most.

    None where a parsed answer of the route's call has no log-probability.

    Args:
        chosen: The action of each example on the route.
    """
    k = part.index(route.call)
    values = logprob_of(part, k)
    parsed = part.predicted[:, k] >= 0
    if not parsed.any() or np.isnan(values[parsed]).any():
        return None
    called = np.unique(values[(chosen == k) & ~np.isnan(values)])
    found = []
    for at in (None, *called.tolist(), *(np.nextafter(called[-1:], np.inf).tolist())):
        kept = accepted(part, route, chosen, at)
        right = part.predicted[np.arange(part.n), kept] == gold
        found.append(Cascade(route.name, at, int(right.sum()), part.n))
    return max(found, key=lambda own: own.n_correct)


def accepted(
    part: CallPart, route: Route, chosen: Int[np.ndarray, " n"], at: float | None
) -> Int[np.ndarray, " n"]:
    """The action whose label is taken; a call whose answer is rejected gives way to the local one.

    An answer without a log-probability is rejected, unless every one is kept.
    """
    k = part.index(route.call)
    rejected = np.zeros(part.n, bool) if at is None else ~(logprob_of(part, k) >= at)
    return np.where((chosen == k) & rejected, part.index(route.first), chosen)


def logprob_of(part: CallPart, k: int) -> Float[np.ndarray, " n"]:
    """Log-probability of the label that action `k` predicted; NaN where it is not known."""
    return np.full(part.n, np.nan) if part.logprob is None else part.logprob[:, k]
