"""The selector: toy utilities by hand, and what a main-effects model can and cannot do."""

from dataclasses import replace

import numpy as np
import pytest

from otoscope.audits.call_value.features import FEATURES, feature_rows, validate_features
from otoscope.audits.call_value.folds import example_folds
from otoscope.audits.call_value.parts import CallAction, CallPart
from otoscope.audits.call_value.schema import CallValueError
from otoscope.audits.call_value.selector import (
    LAMBDAS,
    FittedSelector,
    SelectorSettings,
    choose,
    fit_model,
    fit_selector,
    select,
)

ACTIONS = (
    CallAction("wavlm", "encoder", 0.02),
    CallAction("clap", "encoder", 0.05),
    CallAction("text", "transcript", 0.1),
    CallAction("omni", "generative", 1.0),
)
PAPER = ("conf", "unc", "len", "is_encoder", "is_call", "cost", "action")


def settings(**changes):
    return replace(SelectorSettings(PAPER, False, 1.0, LAMBDAS, 5, 7), **changes)


def make_part(n=200, seed=0):
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 3, n)
    right = rng.uniform(size=(n, 4)) < [0.8, 0.75, 0.4, 0.85]
    conf = np.where(right, rng.beta(6, 2, (n, 4)), rng.beta(3, 4, (n, 4)))
    conf[:, 3] = 0.5
    return CallPart(
        actions=ACTIONS,
        ids=np.array([f"e{i:03d}" for i in range(n)]),
        clusters=np.array([f"c{i // 2:03d}" for i in range(n)]),
        gold=gold,
        predicted=np.where(right, gold[:, None], (gold[:, None] + 1) % 3),
        conf=conf,
        margin=conf,
        numbers={"asr_unc": rng.uniform(size=n), "asr_len": rng.integers(0, 9, n).astype(float)},
        costs={"wall_s": np.ones((n, 4))},
    )


TOY = np.array(
    [
        [0.30, 0.80, 0.78, 0.84],
        [0.95, 0.60, 0.62, 0.84],
        [0.20, 0.55, 0.50, 0.84],
        [0.25, 0.84, 0.70, 0.84],
    ]
)
"""Of the specification; the last action is the call, and the last row a tie without cost."""


@pytest.mark.parametrize(
    ("weight", "chosen"),
    [(0.0, [3, 0, 3, 1]), (0.02, [3, 0, 3, 1]), *((w, [1, 0, 3, 1]) for w in (0.05, 0.1, 0.3))],
)
def test_toy_utilities(weight, chosen):
    costs = (("text", 0.1), ("clap", 0.05), ("wavlm", 0.02))
    local = [CallAction(name, "encoder", cost) for name, cost in costs]
    part = replace(make_part(4), actions=(*local, CallAction("omni", "generative", 1.0)))
    assert choose(TOY, part, weight).tolist() == chosen


def test_calls_that_are_not_allowed_are_never_chosen():
    part = make_part(4)
    assert (choose(TOY, part, 0.0, np.array([True, True, True, False])) < 3).all()


def test_ties_of_lambda_go_to_fewer_calls_then_to_the_larger():
    part = make_part(3)
    gold = np.zeros(3, dtype=int)
    predicted = np.array([[0, 1, 1, 0], [1, 1, 1, 0], [0, 1, 1, 1]])
    part = replace(part, gold=gold, predicted=predicted)
    probabilities = np.array([[0.6, 0, 0, 0.8], [0.3, 0, 0, 0.9], [0.9, 0, 0, 0.1]])
    # at 0 both first examples call and all are correct; at 0.25 to 0.5 only the second calls, all
    # are still correct; at 1 none calls and the second is wrong
    weight, curve = select(part, probabilities, [0.0, 0.25, 0.5, 1.0])
    assert weight == 0.5
    assert [(row["n_correct"], row["n_calls"]) for row in curve] == [(3, 2), (3, 1), (3, 1), (2, 0)]


def test_without_cost_and_interactions_the_transcript_cannot_steer():
    part = make_part()
    model = fit_model(part, settings())
    rng = np.random.default_rng(3)
    shuffled = replace(
        part, numbers={name: rng.permutation(own) for name, own in part.numbers.items()}
    )
    before = choose(model.probabilities(part), part, 0.0)
    after = choose(model.probabilities(shuffled), shuffled, 0.0)
    assert before.tolist() == after.tolist()
    assert len(set(before.tolist())) > 1
    steering = fit_model(part, settings(interactions=True))
    moved = choose(steering.probabilities(shuffled), shuffled, 0.0)
    assert moved.tolist() != choose(steering.probabilities(part), part, 0.0).tolist()


def test_without_cost_it_calls_where_every_local_score_is_below_one_constant():
    part = make_part()
    model = fit_model(part, settings())
    weight = dict(zip(model.columns, model.weights, strict=True))
    at = model.columns.index("conf")
    scaled = (part.conf - model.mean[at]) / model.scale[at]
    at_cost = model.columns.index("cost")
    cost = (part.cost - model.mean[at_cost]) / model.scale[at_cost]
    own = np.array([weight[f"action={action.name}"] for action in part.actions])
    own = own + weight["cost"] * cost + weight["is_call"] * part.is_call
    own = own + weight["is_encoder"] * np.array([a.kind == "encoder" for a in part.actions])
    score = weight["conf"] * scaled + own
    expected = score[:, :3].max(axis=1) < score[0, 3]
    called = choose(model.probabilities(part), part, 0.0) == 3
    assert called.tolist() == expected.tolist()
    assert 0 < called.sum() < part.n


def test_same_optimum_as_lbfgs():
    from sklearn.linear_model import LogisticRegression

    part = make_part()
    model = fit_model(part, settings())
    columns, rows = feature_rows(part, PAPER)
    flat = (rows.reshape(-1, len(columns)) - model.mean) / np.array(model.scale)
    slow = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000)
    slow.fit(flat, part.correct.reshape(-1))
    expected = slow.predict_proba(flat)[:, 1].reshape(part.predicted.shape)
    np.testing.assert_allclose(model.probabilities(part), expected, atol=2e-5)


def test_a_fitted_selector_survives_being_stored():
    fitted = fit_selector(make_part(60), settings())
    assert FittedSelector.from_json(fitted.as_json()) == fitted


def test_actions_that_are_always_correct_leave_the_first_one():
    part = make_part(30)
    part = replace(part, predicted=np.repeat(part.gold[:, None], 4, axis=1))
    assert set(fit_selector(part, settings()).choose(part).tolist()) == {0}


def test_folds_keep_clusters_whole_and_labels_in_equal_shares():
    part = make_part(300)
    fold = example_folds(part, 5, seed=1)
    assert all(len(set(fold[part.clusters == name])) == 1 for name in set(part.clusters))
    for label in range(3):
        per_fold = np.bincount(fold[part.gold == label], minlength=5)
        assert per_fold.max() - per_fold.min() <= 2
    assert fold.tolist() != example_folds(part, 5, seed=2).tolist()


def test_fewer_clusters_than_folds():
    with pytest.raises(CallValueError, match=r"5 folds need at least as many .* there are 4"):
        example_folds(make_part(8), 5, seed=0)


@pytest.mark.parametrize("name", ["logprob", "omni.label", "parse_status", "duration_of_answer"])
def test_features_known_only_after_a_call(name):
    with pytest.raises(CallValueError, match=f"'{name}' is .*there are conf"):
        validate_features([*PAPER, name])


def test_no_feature_reads_what_a_call_returns():
    part = make_part()
    part = replace(
        part, numbers=part.numbers | {"duration": np.ones(200), "no_speech": np.ones(200)}
    )
    calls = part.is_call
    poisoned = replace(
        part,
        predicted=np.where(calls, -999, part.predicted),
        costs={name: np.where(calls, np.nan, own) for name, own in part.costs.items()},
    )
    for interactions in (False, True):
        clean = feature_rows(part, list(FEATURES), interactions=interactions)[1]
        other = feature_rows(poisoned, list(FEATURES), interactions=interactions)[1]
        np.testing.assert_array_equal(clean, other)


def test_lambda_in_sample_is_selected_by_the_final_model():
    """Few examples and a weak penalty: what the model was fitted to looks better than it is."""
    part, weak = make_part(30), settings(interactions=True, inverse_penalty=1e4)
    crossed, own = (fit_selector(part, replace(weak, in_sample=k)) for k in (False, True))
    weight, curve = select(part, fit_model(part, weak).probabilities(part), LAMBDAS)
    assert (own.weight_of_cost, list(own.curve)) == (weight, curve)
    assert max(row["n_correct"] for row in curve) == own.n_correct_in_sample > own.n_correct
    assert list(crossed.curve) != curve
