"""Eight states, conditional Potemkin and lift: by hand, and for judges with closed forms."""

import numpy as np
import pytest

from otoscope.statistics.judge.states import STATES, score_states, state_of, state_shares


def rows(counts):
    """P, O and J of so many rows in each state."""
    digits = [state for state, n in counts.items() for _ in range(n)]
    return tuple(np.array([int(d[k]) for d in digits]) for k in range(3))


def test_conditional_potemkin_by_hand():
    # the specification's example: 19 of 19 + 54
    scores = score_states(*rows({"111": 54, "110": 19, "010": 27}), n_draws=200)
    assert scores["conditional_potemkin"] == pytest.approx(19 / 73)
    assert scores["potemkin"] == pytest.approx(0.19)
    assert scores["component_bottleneck"] == pytest.approx(0.27)
    assert (scores["n"], scores["n_both"]) == (100, 73)
    assert scores["potemkin_null"] == pytest.approx(0.365)


def test_groups_and_shares_add_up_to_one():
    scores = score_states(*rows(dict.fromkeys(STATES, 3)), n_draws=200)
    assert sum(scores[f"state_{digits}"] for digits in STATES) == pytest.approx(1)
    groups = ("reliable", "component_bottleneck", "potemkin", "shortcut", "full_stack")
    assert sum(scores[name] for name in groups) == pytest.approx(1)
    assert scores["shortcut"] == pytest.approx(3 / 8)


def test_lift_by_hand():
    # P and O right: J right in 6 of 8; not both: in 1 of 4
    counts = {"111": 6, "110": 2, "011": 1, "000": 2, "100": 1}
    scores = score_states(*rows(counts), n_draws=200)
    assert scores["lift"] == pytest.approx(6 / 8 - 1 / 4)


def test_a_judge_that_perceives_and_does_not_compose():
    rng = np.random.default_rng(0)
    one = np.ones(4000, dtype=int)
    scores = score_states(one, one, rng.integers(0, 2, 4000), n_draws=500)
    assert scores["conditional_potemkin"] == pytest.approx(0.5, abs=0.024)  # 3 standard errors
    assert scores["conditional_potemkin_low"] < 0.5 < scores["conditional_potemkin_high"]
    assert np.isnan(scores["lift"])  # P and O are always right


def test_without_both_there_is_no_conditional():
    scores = score_states(*rows({"000": 5, "001": 5}), n_draws=200)
    assert np.isnan(scores["conditional_potemkin"])
    assert np.isnan(scores["conditional_potemkin_low"])
    assert scores["n_both"] == 0


def test_bands_hold_all_states_together():
    found = state_shares(np.repeat([0, 7], 50), np.arange(100), n_draws=2000)
    assert found.critical > 1.96
    share = found.shares["111"]
    alone = 1.96 * np.sqrt(0.25 / 100)
    assert share.high - share.low > 2 * alone
    assert found.shares["110"] == (0, 0, 0)


def test_clusters_are_resampled_whole():
    state = np.repeat([0, 7, 0, 7], 25)
    alone = state_shares(state, np.arange(100), n_draws=2000).shares["111"]
    together = state_shares(state, np.repeat(np.arange(4), 25), n_draws=2000).shares["111"]
    assert together.high - together.low > 3 * (alone.high - alone.low)


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="judgment has values other than 0 and 1"):
        state_of(np.array([0]), np.array([1]), np.array([2]))
    with pytest.raises(ValueError, match="2 values of mapping, 1 of perception"):
        state_of(np.array([0]), np.array([1, 1]), np.array([1]))
    with pytest.raises(ValueError, match="0 states"):
        score_states(*(np.array([], dtype=int),) * 3)
