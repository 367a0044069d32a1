"""Two policies scored together: the specification's cases, edges and bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otoscope.errors import InvalidValue
from otoscope.statistics.policy_pair import score_policy_pair


def columns(b, c, n):
    gold = ["cough"] * n
    policy = ["cough"] * b + ["sigh"] * c + ["cough"] * (n - b - c)
    baseline = ["sigh"] * b + ["cough"] * c + ["cough"] * (n - b - c)
    return gold, policy, baseline


def test_seven_to_six_of_240():
    found = score_policy_pair(*columns(7, 6, 240))
    assert found["difference"] == pytest.approx(1 / 240)
    assert found["difference_low"] == pytest.approx(-0.0284, abs=1e-4)
    assert found["difference_high"] == pytest.approx(0.0375, abs=1e-4)
    assert found["upper_bound"] == pytest.approx(0.0313, abs=1e-4)
    assert found["bootstrap_low"] == pytest.approx(-0.0250, abs=1e-4)
    assert found["bootstrap_high"] == pytest.approx(0.0333, abs=1e-4)
    assert (found["only_policy_correct"], found["only_baseline_correct"]) == (7, 6)
    assert found["mcnemar_p"] == 1
    assert found["within_margin"] is False
    assert score_policy_pair(*columns(7, 6, 240), margin=0.035)["within_margin"] is True
    assert "sign_flip_p" not in found
    assert "n_calls" not in found


def test_six_speakers_of_the_specification():
    differences = [[1, 1], [1, -1], [0, 0, 1], [-1], [1, 0], [0, -1]]
    gains = [gain for speaker in differences for gain in speaker]
    policy = ["yes" if gain == 1 else "no" for gain in gains]
    baseline = ["yes" if gain == -1 else "no" for gain in gains]
    speakers = np.repeat(np.arange(6), [len(speaker) for speaker in differences])
    found = score_policy_pair(["yes"] * 12, policy, baseline, clusters=speakers)
    assert found["difference"] == pytest.approx(2 / 12)
    assert (found["only_policy_correct"], found["only_baseline_correct"]) == (5, 3)
    assert found["mcnemar_p"] == pytest.approx(0.7266, abs=1e-4)
    assert found["sign_flip_p"] == pytest.approx(0.75)
    assert found["n_clusters"] == 6


def test_zero_discordants_one_example_and_none():
    for n in (1, 240):
        found = score_policy_pair(*columns(0, 0, n))
        assert found["difference_low"] < 0 < found["difference_high"]
        assert found["mcnemar_p"] == 1
        assert found["minimum_detectable_gain"] is None
    nothing = score_policy_pair([], [], [])
    assert nothing["n"] == 0
    assert nothing["difference"] is nothing["accuracy"] is nothing["bootstrap_low"] is None


def test_calls_and_their_cost():
    gold = ["a"] * 6
    policy, baseline = ["a", "a", "b", "b", "a", "a"], ["b", "b", "a", "b", "a", "b"]
    called = [1, 1, 1, 1, 0, 0]
    found = score_policy_pair(
        gold, policy, baseline, called=called, cost=[0.1, 0.2, 0.3, 0.4, None, 9.0]
    )
    assert (found["n_calls"], found["corrections"], found["harms"]) == (4, 2, 1)
    assert found["changed_elsewhere"] == 1
    assert found["call_rate"] == pytest.approx(2 / 3)
    assert found["net_per_call"] == 0.25
    assert found["call_cost"] == pytest.approx(1.0)
    assert found["cost_per_net_correction"] == pytest.approx(1.0)
    unknown = score_policy_pair(gold, policy, baseline, called=called, cost=[None] * 6)
    assert unknown["call_cost"] is unknown["cost_per_net_correction"] is None
    never = score_policy_pair(gold, policy, baseline, called=[False] * 6)
    assert (never["n_calls"], never["net_per_call"]) == (0, None)


def test_what_is_no_label_is_wrong_and_counted_and_a_class_may_never_occur():
    labels = ["a", "b", "c"]
    found = score_policy_pair(["a", "b", 0], ["a", None, "rain"], ["a", "c", 1], labels=labels)
    assert (found["n"], found["n_parsed"], found["n_parsed_baseline"]) == (3, 1, 3)
    assert found["accuracy"] == pytest.approx(1 / 3)
    # F1 of a: 2 · 1 / (1 answered + 2 true); of b: 0; c does not occur
    assert found["macro_f1"] == pytest.approx((2 / 3 + 0) / 2)


ANSWER = st.sampled_from(["a", "b", None])
ROW = st.tuples(ANSWER, ANSWER, st.sampled_from("ab"), st.integers(0, 4))


@settings(max_examples=40)
@given(st.lists(ROW, min_size=1, max_size=40), st.randoms())
def test_order_does_not_matter_and_swapped_arms_mirror(rows, random):
    def score(rows, swap=False):
        policy, baseline, gold, clusters = (list(column) for column in zip(*rows, strict=True))
        pair = (baseline, policy) if swap else (policy, baseline)
        return score_policy_pair(gold, *pair, clusters=clusters)

    found, other = score(rows), score(random.sample(rows, len(rows)))
    assert found.keys() == other.keys()
    for key, value in found.items():
        assert other[key] == (value if isinstance(value, str) else pytest.approx(value)), key
    mirrored = score(rows, swap=True)
    assert mirrored["difference"] == pytest.approx(-found["difference"])
    assert mirrored["difference_low"] == pytest.approx(-found["difference_high"], abs=1e-9)
    assert mirrored["upper_bound"] == pytest.approx(-found["lower_bound"], abs=1e-9)
    assert mirrored["only_policy_correct"] == found["only_baseline_correct"]
    assert mirrored["sign_flip_p"] == pytest.approx(found["sign_flip_p"])


NAN = float("nan")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"references": ["a", None]}, "reference 1 is null"),
        ({"references": ["a", NAN]}, "reference 1 is null"),
        ({"references": ["a", "d"], "labels": ["a", "b"]}, "reference 1 is 'd', which is none of"),
        ({"policy": ["a"]}, "1 predictions for 2 references"),
        ({"baseline": ["a"] * 3}, "3 baselines for 2 references"),
        ({"clusters": ["s1", None]}, "cluster 1 is null"),
        ({"clusters": [NAN, 1.0]}, "cluster 0 is null"),
        ({"called": [True, None]}, "called 1 is None; it is true or false"),
        ({"called": ["no", True]}, "called 0 is 'no'; it is true or false"),
        ({"cost": [1.0, 2.0]}, "say with called= which examples were called"),
        ({"called": [1, 1], "cost": [1.0, -2.0]}, "cost 1 is -2.0; it is a number of 0 or more"),
        ({"called": [1, 1], "cost": [float("inf"), 1]}, "cost 0 is inf"),
        ({"by": {"n": ["a", "b"]}}, "cannot be named 'n'"),
    ],
)
def test_bad_input_is_named(arguments, message):
    given_columns = {"references": ["a", "b"], "policy": ["a", "b"], "baseline": ["a", "b"]}
    with pytest.raises(InvalidValue, match=message):
        score_policy_pair(**given_columns | arguments)


@pytest.mark.parametrize("column", ["clusters", "called"])
def test_columns_of_another_length_are_named(column):
    with pytest.raises(ValueError, match=r"1 .* for 2 answers"):
        score_policy_pair(["a", "b"], ["a", "b"], ["a", "b"], **{column: [1]})
