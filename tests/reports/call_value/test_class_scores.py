"""Macro F1 of policies against scikit-learn, resample by resample."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score

from otoscope.reports.call_value.class_scores import PolicyF1
from otoscope.reports.call_value.outcomes import policy_of
from otoscope.reports.call_value.policy_rows import policies_table
from otoscope.statistics.resampling import cluster_draws


def plain_f1(audit, name, rows):
    gold, predicted = audit.holdout.gold[rows], policy_of(audit, name).predicted[rows]
    labels = sorted(set(gold.tolist()))
    return f1_score(gold, predicted, labels=labels, average="macro", zero_division=0)


def plain_draws(audit, name):
    """Each resample of whole clusters, row by row."""
    names, member = np.unique(audit.holdout.clusters, return_inverse=True)
    rng = np.random.default_rng(audit.contract.settings.seed)
    for times in cluster_draws(len(names), audit.contract.draws, rng):
        yield plain_f1(audit, name, np.repeat(np.arange(audit.holdout.n), times[member]))


@pytest.fixture(params=["audit", "clustered"])
def either(request):
    found = request.getfixturevalue(request.param)
    return replace(found, contract=replace(found.contract, draws=100))


def test_intervals_are_those_of_a_loop_over_resamples(either):
    found = PolicyF1(either, ["full", "clap"])
    draws = {name: np.array(list(plain_draws(either, name))) for name in ("full", "clap")}
    for name in draws:
        assert found.of(name).estimate == pytest.approx(plain_f1(either, name, slice(None)))
        assert found.of(name)[1:] == pytest.approx(np.quantile(draws[name], [0.025, 0.975]))
    difference = found.difference("full", "clap")
    expected = np.quantile(draws["full"] - draws["clap"], [0.025, 0.975])
    assert difference[1:] == pytest.approx(expected)
    assert difference.estimate == pytest.approx(
        found.of("full").estimate - found.of("clap").estimate
    )


def test_random_calls_have_a_range_around_their_expectation(audit):
    row = next(r for r in policies_table(audit).rows if r["policy"] == "as many random calls")
    assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]
