"""Routes and oracles, and what policies cost."""

from dataclasses import replace

import numpy as np
import pytest

from otoscope.audits.call_value.contract import Route
from otoscope.audits.call_value.ledger import allocate, component_costs, policy_totals
from otoscope.audits.call_value.parts import CallAction, CallPart
from otoscope.audits.call_value.policies import choosing, oracles
from otoscope.audits.call_value.routing import follow, lowest, oracle, threshold

ACTIONS = (
    CallAction("clap", "encoder", 0.1),
    CallAction("text", "transcript", 0.2),
    CallAction("omni", "generative", 1.0),
)


def make_part(predicted, conf=None, wall_s=None):
    predicted = np.array(predicted)
    shape = predicted.shape
    return CallPart(
        actions=ACTIONS,
        ids=np.array([f"e{i}" for i in range(shape[0])]),
        clusters=np.array([f"e{i}" for i in range(shape[0])]),
        gold=np.zeros(shape[0], dtype=int),
        predicted=predicted,
        conf=np.full(shape, 0.5) if conf is None else np.array(conf),
        margin=np.full(shape, 0.5) if conf is None else np.array(conf),
        numbers={},
        costs={
            "wall_s": np.full(shape, np.nan) if wall_s is None else np.array(wall_s),
            "price": np.full(shape, np.nan),
            "audio_s": np.full(shape, np.nan),
            "tokens": np.full(shape, np.nan),
        },
    )


def test_threshold_of_development_is_applied_unchanged():
    at = threshold(np.array([0.1, 0.2, 0.3, 0.4]), 0.5)
    part = make_part([[0, 0, 0]] * 3, conf=[[0.24, 0, 0.5], [0.25, 0, 0.5], [0.26, 0, 0.5]])
    assert at == pytest.approx(0.25)
    assert follow(Route("clap", "omni", 0.5, False), part, at).tolist() == [2, 2, 0]


@pytest.mark.parametrize(("budget", "n_called"), [(0.0, 0), (0.25, 1), (0.5, 2), (1.0, 4)])
def test_exact_quota(budget, n_called):
    values = np.array([0.3, 0.1, 0.3, 0.3])
    called = lowest(values, budget)
    assert called.sum() == n_called
    assert called.tolist() == [n_called in (2, 4), n_called > 0, n_called == 4, n_called == 4]


def test_oracle_calls_only_where_no_local_action_is_right():
    part = make_part([[0, 1, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]])
    assert oracle(part).tolist() == [0, 1, 2, 0]
    every, local, encoders = oracles(part)
    right = [(own.predicted == part.gold).sum() for own in (every, local, encoders)]
    assert right == [3, 2, 1]
    assert [int(own.calls.sum()) for own in (every, local, encoders)] == [1, 0, 0]


PAPER = {"text": 34.4, "clap": 8.9, "omni": 5.6}


def paper_part(n_calls=30):
    """The paper's runtimes over 240 examples, with WavLM's in that of a second encoder."""
    wavlm = CallAction("wavlm", "encoder", 0.05)
    part = make_part(np.zeros((240, 3), dtype=int))
    part = replace(
        part,
        actions=(wavlm, *ACTIONS),
        predicted=np.zeros((240, 4), dtype=int),
        conf=np.full((240, 4), 0.5),
        margin=np.full((240, 4), 0.5),
        costs={name: np.full((240, 4), np.nan) for name in part.costs},
    )
    part.costs["wall_s"][:, 1] = 8.9 / 240
    part.costs["wall_s"][:, 2] = 34.4 / 240
    part.costs["wall_s"][:, 3] = 5.6 / 30
    chosen = np.where(np.arange(240) < n_calls, 3, 0)
    return part, chosen


def test_ledger_has_the_papers_totals():
    part, chosen = paper_part()
    part, allocated = allocate(part, {"wavlm": {"wall_s": 2.5}})
    assert allocated == {"wavlm": ("wall_s",)}
    local = frozenset(["wavlm", "clap", "text"])
    full = choosing("full", "selector", part, chosen, local)
    no_call = choosing("no_call", "selector", part, np.zeros(240, dtype=int), local)
    totals = [policy_totals(component_costs(part, own.runs(part))) for own in (full, no_call)]
    assert totals[0]["wall_s"] == pytest.approx(51.4)
    assert totals[0]["wall_s_calls"] == pytest.approx(5.6)
    assert totals[1]["wall_s"] == pytest.approx(45.8)
    assert totals[1]["wall_s_calls"] == 0


def test_an_unknown_cost_blocks_the_total_unless_it_is_declared():
    part, chosen = paper_part()
    full = choosing("full", "selector", part, chosen, frozenset(["wavlm", "clap", "text"]))
    assert policy_totals(component_costs(part, full.runs(part)))["wall_s"] is None
    route = choosing("route", "route", part, np.where(chosen == 3, 3, 1), frozenset(["clap"]))
    known = policy_totals(component_costs(part, route.runs(part)))
    assert known["wall_s"] == pytest.approx(8.9 + 5.6)  # what it does not need blocks nothing


def test_measured_costs_are_not_replaced_by_declared_ones():
    part, _ = paper_part()
    _, allocated = allocate(part, {"clap": {"wall_s": 1.0}})
    assert allocated == {}
