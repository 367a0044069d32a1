"""Costs by component: the paper's arithmetic, one payment for what is shared, what is unknown."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from otoscope.audits.call_value.component_tables import components_frame
from otoscope.audits.call_value.components import with_components
from otoscope.audits.call_value.ledger import (
    component_costs,
    costs_by_example,
    latencies,
    needed,
    policy_totals,
)
from otoscope.audits.call_value.parts import CallAction, CallPart
from otoscope.audits.call_value.schema import COSTS, CallValueError
from otoscope.audits.call_value.tables import GivenTable, read_call_tables

N = 240
ACTIONS = (
    CallAction("text", "transcript", 0.5),
    CallAction("text, other labeller", "transcript", 0.5),
    CallAction("clap", "encoder", 0.2),
    CallAction("wavlm", "encoder", 0.1),
    CallAction("omni", "generative", 1.0),
)
NEEDS = {"text": ["asr", "labeller"], "text, other labeller": ["asr", "labeller_b"]}


def part(**seconds):
    """A part whose actions cost so many seconds in all."""
    own = np.full((N, len(ACTIONS)), np.nan)
    for k, action in enumerate(ACTIONS):
        if action.name in seconds:
            own[:, k] = seconds[action.name] / N
    nothing = np.zeros((N, len(ACTIONS)), dtype=np.int64)
    return CallPart(
        ACTIONS, np.array([f"e{i:03d}" for i in range(N)]), np.arange(N), None, nothing,
        nothing.astype(float), nothing.astype(float), {},
        {name: own.copy() for name in COSTS},
    )  # fmt: skip


def table(**seconds):
    rows = [
        {"example_id": f"e{i:03d}", "component": name, "where": "t", "wall_s": s / N}
        for name, s in seconds.items()
        for i in range(N)
    ]
    return components_frame(rows)


def total(made, local, calls=()):
    called = np.zeros((N, len(ACTIONS)), dtype=bool)
    called[: len(calls), made.index("omni")] = list(calls)
    return policy_totals(component_costs(made, needed(made, frozenset(local), called)))["wall_s"]


def test_the_papers_arithmetic():
    # 34.4 text route, 8.9 CLAP, 2.5 WavLM; 30 calls of 5.6 s in all
    made = part(text=34.4, clap=8.9, wavlm=2.5, omni=5.6 * N / 30)
    assert total(made, ["text", "clap", "wavlm"]) == pytest.approx(45.8)
    assert total(made, ["text", "clap", "wavlm"], [True] * 30) == pytest.approx(51.4)
    assert total(made, ["clap", "wavlm"]) == pytest.approx(11.4)
    routed = part(clap=8.8, omni=21.7 * N / 122)
    assert total(routed, ["clap"], [True] * 122) == pytest.approx(30.5)


def test_a_shared_component_is_paid_once():
    made = with_components(part(clap=8.9, text=99), table(asr=30, labeller=4, labeller_b=6), NEEDS)
    assert total(made, ["text"]) == pytest.approx(34)  # its own column is not read
    assert total(made, ["text, other labeller"]) == pytest.approx(36)
    assert total(made, ["text", "text, other labeller"]) == pytest.approx(40)
    assert total(made, ["text", "clap"]) == pytest.approx(42.9)


def test_the_rows_of_a_policy():
    made = with_components(part(clap=8.9), table(asr=30, labeller=4, labeller_b=6), NEEDS)
    runs = needed(made, frozenset(["text", "clap"]), np.zeros((N, len(ACTIONS)), dtype=bool))
    costs = {own.component: own.totals["wall_s"] for own in component_costs(made, runs)}
    assert costs == pytest.approx({"clap": 8.9, "asr": 30, "labeller": 4})
    assert costs_by_example(made, runs, "wall_s").sum() == pytest.approx(42.9)
    one, side_by_side = latencies(made, runs)
    assert one[0] == pytest.approx(42.9 / N)
    assert side_by_side[0] == pytest.approx(34 / N)  # the recogniser, then the labeller


def test_an_unknown_component_blocks_the_total():
    rows = table(asr=30, labeller=4, labeller_b=6)
    made = with_components(part(clap=8.9), rows[rows.index != 3], NEEDS)
    assert total(made, ["text"]) is None
    assert total(made, ["clap"]) == pytest.approx(8.9)


def test_what_a_component_of_calls_only_is():
    made = with_components(part(), table(prompt=2), {"omni": ["prompt"]})
    called = np.zeros((N, len(ACTIONS)), dtype=bool)
    called[:3, made.index("omni")] = True
    (own,) = component_costs(made, needed(made, frozenset(), called))
    assert (own.component, own.is_call, own.n) == ("prompt", True, 3)
    assert own.totals["wall_s"] == pytest.approx(3 * 2 / N)


def test_parts_of_a_part_keep_their_components():
    made = with_components(part(), table(asr=30, labeller=4, labeller_b=6), NEEDS)
    some = made.rows(np.arange(10)).only([0])
    runs = needed(some, frozenset(["text"]), np.zeros((10, 1), dtype=bool))
    assert costs_by_example(some, runs, "wall_s").sum() == pytest.approx(10 * 34 / N)
    assert replace(made).components == ("asr", "labeller", "labeller_b")


@pytest.mark.parametrize(
    ("needs", "message"),
    [({"txt": ["asr"]}, "'txt', which is no action"), ({"text": ["ars"]}, "component 'ars'")],
)
def test_what_is_missing_is_named(needs, message):
    with pytest.raises(CallValueError, match=message):
        with_components(part(), table(asr=1), needs)


def test_tables_of_components_are_read():
    predictions = [
        {"example_id": e, "action": "clap", "kind": "encoder", "label": "cow", "conf": 1.0,
         "fold": fold, "split": split}
        for e, split, fold in (("a", "dev", 0), ("b", "dev", 1), ("c", "test", None))
    ]  # fmt: skip
    examples = [
        {"example_id": e, "label": label}
        for e, label in zip("abc", ("cow", "hen", "cow"), strict=True)
    ]
    rows = [
        {"example_id": e, "component": "asr", "wall_s": 1.5, "tokens_in": 3, "tokens_out": 4}
        for e in "abc"
    ]
    sources = [GivenTable("p", predictions), GivenTable("e", examples)]
    found = read_call_tables([*sources, GivenTable("c", rows)]).components
    assert found["tokens"].tolist() == [7, 7, 7]
    assert found["wall_s"].sum() == 4.5
    with pytest.raises(CallValueError, match="'a' has component 'asr' twice"):
        read_call_tables([*sources, GivenTable("c", [*rows, rows[0]])])
    with pytest.raises(CallValueError, match="no table of components has: 'hours'"):
        read_call_tables([*sources, GivenTable("c", [rows[0] | {"hours": 1}])])
    assert isinstance(read_call_tables(sources).components, pd.DataFrame)
