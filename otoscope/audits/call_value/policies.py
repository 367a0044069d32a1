"""Every policy of a contract, applied to a part as it was frozen."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Int

from otoscope.audits.call_value.cascade import accepted
from otoscope.audits.call_value.contract import FULL, NO_CALL, NO_CALL_MASK, Contract
from otoscope.audits.call_value.frozen import Frozen
from otoscope.audits.call_value.ledger import needed
from otoscope.audits.call_value.parts import CallPart
from otoscope.audits.call_value.post_call import PostCall
from otoscope.audits.call_value.routing import follow, oracle
from otoscope.audits.call_value.schema import AGREEMENT, STACKED
from otoscope.audits.call_value.selector import FittedSelector, choose

PolicyRole = Literal["selector", "single", "route", "ablation", "oracle", "post-call"]


@dataclass(frozen=True)
class CallPolicy:
    """What a policy does with each example of a part.

    Attributes:
        predicted: Index of the label, -1 where there is none.
        chosen: The action whose label is taken; None where labels are combined.
        called: Whether each call is made, by example and action.
        local: Local actions whose evidence it reads on every example.
    """

    name: str
    role: PolicyRole
    predicted: Int[np.ndarray, " n"]
    chosen: Int[np.ndarray, " n"] | None
    called: Bool[np.ndarray, "n n_actions"]
    local: frozenset[str]

    @property
    def calls(self) -> Bool[np.ndarray, " n"]:
        """Whether each example has a call."""
        return np.asarray(self.called.any(axis=1))

    def runs(self, part: CallPart) -> Bool[np.ndarray, "n n_actions"]:
        """Which actions are run for each example."""
        return needed(part, self.local, self.called)


def choosing(
    name: str, role: PolicyRole, part: CallPart, chosen: np.ndarray, local: frozenset[str]
) -> CallPolicy:
    """A policy that takes the label of one action for each example."""
    rows = np.arange(part.n)
    called = np.zeros(part.predicted.shape, dtype=bool)
    called[rows, chosen] = part.is_call[chosen]
    return CallPolicy(name, role, part.predicted[rows, chosen], chosen, called, local)


def frozen_policies(part: CallPart, contract: Contract, frozen: Frozen) -> list[CallPolicy]:
    """Selectors, each action alone, routes, ablations, post-call. No label is read."""
    made = [selecting(name, part, frozen.selectors[name]) for name in (FULL, NO_CALL)]
    made.append(masked(part, frozen.selectors[FULL]))
    for k, action in enumerate(part.actions):
        local = frozenset() if action.is_call else frozenset([action.name])
        made.append(choosing(action.name, "single", part, np.full(part.n, k), local))
    for route in contract.routes:
        chosen = follow(route, part, frozen.at(route))
        made.append(choosing(route.name, "route", part, chosen, frozenset([route.first])))
    made += [
        selecting(name, part, fitted)
        for name, fitted in frozen.selectors.items()
        if name not in (FULL, NO_CALL)
    ]
    routes = {route.name: route for route in contract.routes}
    for own in frozen.post_call.cascades:
        route = routes[own.route]
        taken = follow(route, part, frozen.at(route))
        policy = choosing(own.name, "post-call", part, taken, frozenset([route.first]))
        kept = accepted(part, route, taken, own.accept)
        label = part.predicted[np.arange(part.n), kept]
        made.append(replace(policy, predicted=label, chosen=kept))  # rejected calls are paid for
    return made + post_call_policies(part, frozen.post_call)


def post_call_policies(part: CallPart, fitted: PostCall) -> list[CallPolicy]:
    """Policies that read the answers of all calls, and so make them for every example.

    The selector without calls reads local labels only; it is there to be compared with.
    """
    own_calls = [action.is_call and not action.is_controller for action in part.actions]
    every = np.broadcast_to(np.array(own_calls), part.predicted.shape)
    made = []
    for name, own in fitted.selectors.items():
        policy = replace(selecting(name, part, own), role="post-call")
        made.append(replace(policy, called=every) if name == AGREEMENT else policy)
    local = _local(part, _selectable(part))
    predicted = fitted.stacked.predict(part.selectable())
    return [*made, CallPolicy(STACKED, "post-call", predicted, None, every, local)]


def selecting(name: str, part: CallPart, fitted: FittedSelector) -> CallPolicy:
    """A selector's policy; it reads the evidence of all its local actions."""
    own = [part.index(action) for action in fitted.model.actions]
    chosen = np.array(own)[fitted.choose(part.only(own))]
    role: PolicyRole = "selector" if name in (FULL, NO_CALL) else "ablation"
    return choosing(name, role, part, chosen, _local(part, own))


def masked(part: CallPart, full: FittedSelector) -> CallPolicy:
    """The full selector with calls forbidden: the other reading of No-call."""
    kept, own = _selectable(part), part.selectable()
    probabilities = full.model.probabilities(own)
    chosen = np.array(kept)[choose(probabilities, own, full.weight_of_cost, ~own.is_call)]
    return choosing(NO_CALL_MASK, "selector", part, chosen, _local(part, kept))


def oracles(part: CallPart) -> list[CallPolicy]:
    """Choices of whoever knows the labels: over all actions with fewest calls, local, encoders."""
    every = _selectable(part)
    local = [k for k in every if not part.actions[k].is_call]
    encoders = [k for k in local if part.actions[k].kind == "encoder"]
    made = []
    for name, kept in (
        ("oracle", every),
        ("oracle without calls", local),
        ("oracle of encoders", encoders),
    ):
        if kept:
            chosen = np.array(kept)[oracle(part.only(kept))]
            made.append(choosing(name, "oracle", part, chosen, _local(part, kept)))
    return made


def _selectable(part: CallPart) -> list[int]:
    return [k for k, own in enumerate(part.actions) if not own.is_controller]


def _local(part: CallPart, kept: list[int]) -> frozenset[str]:
    return frozenset(part.actions[k].name for k in kept if not part.actions[k].is_call)
