"""The report of an audit: numbers against hand-made policies."""

from dataclasses import replace

import numpy as np
import pytest

from otoscope.audits.call_value.audit import audit_calls
from otoscope.reports.call_value.contrasts import contrasts, contrasts_table, verdict
from otoscope.reports.call_value.policy_rows import policies_table
from tests.audits.call_value.call_tables import (
    example_rows,
    prediction_rows,
    write_contract,
    write_tables,
)


def make_audit(folder, n_holdout=240, per_cluster=1):
    examples = example_rows(60, n_holdout, per_cluster=per_cluster)
    tables = write_tables(folder, examples, prediction_rows(examples))
    return audit_calls(tables, write_contract(folder / "c.json", tables), folder / "out")


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    return make_audit(tmp_path_factory.mktemp("audit"))


def with_right(audit, **right):
    """The audit with policies that are right on given examples."""
    gold = audit.holdout.gold

    def changed(policy):
        own = right.get(policy.name.replace(" ", "_"))
        return policy if own is None else replace(policy, predicted=np.where(own, gold, -1))

    return replace(audit, policies=tuple(map(changed, audit.policies)))


@pytest.fixture(scope="module")
def papers(audit):
    """The paper's Full and No-call: 222 and 221 of 240, 7 and 6 of them alone."""
    i = np.arange(240)
    full, no_call = i < 222, ((i < 215) | ((i >= 222) & (i < 228)))
    local, every = i < 227 + 1, i < 234
    made = {"oracle": every | no_call, "oracle_without_calls": local | no_call}
    return with_right(audit, full=full, no_call=no_call, **made)


def test_the_papers_primary_contrast(papers):
    primary = contrasts(papers)[0]
    counts = primary.evidence.counts
    assert (counts.only_first, counts.only_second, counts.n) == (7, 6, 240)
    assert primary.role == "primary"
    assert primary.bootstrap.low == pytest.approx(-0.0250, abs=1e-4)
    assert primary.bootstrap.high == pytest.approx(0.0333, abs=1e-4)
    assert primary.evidence.p_value == 1


def test_the_papers_sentence(papers):
    first = verdict(papers, contrasts(papers))[0]
    assert first.startswith("No gain detected: of 240 examples 7 are right only with calls and 6")
    assert "Gains above 3.2 points are excluded by Tango's one-sided 95 % bound" in first
    assert "above 3.8 points by the two-sided one" in first
    assert "A difference within ±3 points is not established" in first


def test_the_papers_accuracies(papers):
    rows = {row["policy"]: row for row in policies_table(papers).rows}
    assert f"{rows['full']['accuracy']:.3f}" == "0.925"
    assert f"{rows['no_call']['accuracy']:.3f}" == "0.921"
    assert rows["full"]["accuracy_low"] == pytest.approx(0.8846, abs=1e-4)
    assert rows["full"]["accuracy_high"] == pytest.approx(0.9520, abs=1e-4)


def test_holm_is_over_declared_tests_only(audit):
    made = contrasts(audit)
    n_tests = len(audit.contract.tests)
    assert [own.adjusted is not None for own in made] == [True] * n_tests + [False] * (
        len(made) - n_tests
    )
    assert {own.role for own in made[n_tests:]} == {"exploratory"}
    smallest = min(made[:n_tests], key=lambda own: own.evidence.p_value)
    assert smallest.adjusted == pytest.approx(min(1, n_tests * smallest.evidence.p_value))


def test_a_selector_against_one_encoder_is_exploratory_though_declared(audit):
    role = {(own.policy, own.reference): own.role for own in contrasts(audit)}
    assert role["full", "wavlm"] == "exploratory"
    assert role["wavlm→omni 50 %", "wavlm"] == "secondary"


def test_no_discordant_examples(audit):
    same = np.arange(240) < 200
    made = contrasts(with_right(audit, full=same, no_call=same))
    assert made[0].evidence.p_value == 1
    assert "No gain detected" in verdict(audit, made)[0]
    contrasts_table(audit, made).to_markdown()


def test_clusters_of_several_examples(tmp_path):
    audit = make_audit(tmp_path, n_holdout=60, per_cluster=3)
    made = contrasts(audit)
    assert made[0].evidence.test_name == "cluster sign flip"
    row = policies_table(audit).rows[0]
    assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]


def test_random_calls_have_the_formulas_accuracy(audit):
    rows = {row["policy"]: row for row in policies_table(audit).rows}
    local, call = rows["no_call"]["accuracy"], rows["omni"]["accuracy"]
    rate = rows["full"]["call_rate"]
    expected = local + rate * (call - local)
    assert rows["as many random calls"]["accuracy"] == pytest.approx(expected)
