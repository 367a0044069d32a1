"""Cascades: hand-made log-probabilities, and a whole audit of calls that have them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from otoscope.audits.call_value.audit import audit_calls
from otoscope.audits.call_value.cascade import accepted, fit_cascade
from otoscope.audits.call_value.contract import Route
from otoscope.audits.call_value.frozen import read_frozen
from otoscope.audits.call_value.run_tables import _logprob
from otoscope.reports.call_value.contrasts import contrasts
from tests.audits.call_value.call_tables import (
    example_rows,
    prediction_rows,
    write_contract,
    write_tables,
)
from tests.audits.call_value.test_post_call import part_of

ROUTE = Route("clap", "omni", 0.5, False)
LOGPROB = np.array([-0.1, -0.2, -0.9, -0.3, -0.5])


def five(logprob=LOGPROB):
    """The call is right on the first two and the last, clap on the third and fourth."""
    part = part_of([[0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0]], [0] * 5)
    return replace(part, logprob=np.column_stack([np.full((5, 2), np.nan), logprob]))


def test_the_threshold_has_most_correct_examples_and_keeps_most_of_equals():
    """Keeping from −0.2 up is right on all four that are called; the last is local and wrong."""
    part, chosen = five(), np.array([2, 2, 2, 2, 1])
    fitted = fit_cascade(part, ROUTE, chosen, gold=part.gold)
    assert (fitted.accept, fitted.n_correct, fitted.n) == (-0.2, 4, 5)
    assert fitted.conf_source == "logprob"
    assert accepted(part, ROUTE, chosen, fitted.accept).tolist() == [2, 2, 1, 1, 1]
    assert accepted(part, ROUTE, chosen, None).tolist() == chosen.tolist()


def test_every_label_is_kept_where_that_is_best_and_none_where_nothing_helps():
    part = five()
    called = np.full(5, 2)
    always = replace(part, predicted=np.array([[0, 1, 0]] * 5))
    assert fit_cascade(always, ROUTE, called, gold=part.gold).accept is None
    never = replace(part, predicted=np.array([[0, 0, 1]] * 5))
    fitted = fit_cascade(never, ROUTE, called, gold=part.gold)
    assert fitted.n_correct == 5
    assert (accepted(never, ROUTE, called, fitted.accept) == 1).all()


@pytest.mark.parametrize("logprob", [np.full(5, np.nan), np.array([-1, -1, np.nan, -1, -1])])
def test_no_cascade_without_a_log_probability(logprob):
    part = five(logprob)
    assert fit_cascade(part, ROUTE, np.full(5, 2), gold=part.gold) is None


def test_an_unparsed_answer_is_rejected():
    part = five(np.array([-0.1, np.nan, -0.9, -0.3, -0.5]))
    part.predicted[1, 2] = -1
    fitted = fit_cascade(part, ROUTE, np.full(5, 2), gold=part.gold)
    assert accepted(part, ROUTE, np.full(5, 2), fitted.accept)[1] == 1


def test_log_probability_of_a_runs_label():
    """Of e^-1 and e^-2 the first has 1 / (1 + e^-1) = 0.7311."""
    stored = '{"cough": -1.0, "sigh": -2.0}'
    assert np.exp(_logprob(stored, "cough")) == pytest.approx(0.7311, abs=1e-4)
    assert _logprob(stored, None) is None
    assert _logprob(None, "cough") is None


def test_an_audit_of_calls_with_log_probabilities(tmp_path):
    examples = example_rows()
    predictions = prediction_rows(examples)
    gold = {row["example_id"]: row["label"] for row in examples}
    for row in predictions:
        if row["action"] == "omni":
            row["logprob"] = -0.1 if row["label"] == gold[row["example_id"]] else -2.0
    tables = write_tables(tmp_path, examples, predictions)
    contract = write_contract(tmp_path / "c.json", tables, draws=200, lambda_from="in_sample")
    audit = audit_calls(tables, contract, tmp_path / "out")
    policies = {own.name: own for own in audit.policies}
    cascades = {name: own for name, own in policies.items() if "cascade" in name}
    assert len(cascades) == len(audit.contract.routes) == 3
    for name, own in cascades.items():
        route = policies[name.removeprefix("post-call cascade ")]
        assert own.role == "post-call"
        assert (own.called == route.called).all()  # a rejected answer has been paid for
        kept = own.predicted != route.predicted
        assert not (route.predicted == audit.holdout.gold)[kept].any()
    assert read_frozen(tmp_path / "out", audit.frozen_sha256) == audit.frozen
    outcome = {check.name: check.outcome for check in audit.checks}
    assert outcome["choices that change when calls return nonsense"] == "passed"
    assert sum(own.role == "post-call" for own in contrasts(audit)) == 2 + 3
    choices = pd.read_parquet(tmp_path / "out" / "choices.parquet")
    assert set(cascades) <= set(choices["policy"])
    for fitted in audit.frozen.selectors.values():
        at = next(own for own in fitted.curve if own["lambda"] == fitted.weight_of_cost)
        assert at["n_correct"] == fitted.n_correct_in_sample
