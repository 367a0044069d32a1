"""The report of an audit: numbers against hand-made policies."""

from dataclasses import replace

import numpy as np
import pytest

from otoscope.audits.call_value.audit import audit_calls
from otoscope.reports.call_value.breakdowns import by_prompt, changed_examples
from otoscope.reports.call_value.components import ledger_table
from otoscope.reports.call_value.contrasts import contrasts, contrasts_table, verdict
from otoscope.reports.call_value.diagnostics import fits
from otoscope.reports.call_value.frontier import frontier
from otoscope.reports.call_value.gains import by_class, by_stage
from otoscope.reports.call_value.policy_rows import policies_table
from otoscope.reports.call_value.report import write_call_report
from tests.audits.call_value.call_tables import (
    example_rows,
    prediction_rows,
    write_contract,
    write_tables,
)
from tests.reports.call_value.audits import with_right


@pytest.fixture(scope="module")
def papers(audit):
    """The paper's Full and No-call: 222 and 221 of 240, 7 and 6 of them alone."""
    i = np.arange(240)
    full, no_call = i < 222, ((i < 215) | ((i >= 222) & (i < 228)))
    local, every = i < 227 + 1, i < 234
    made = {"oracle": every | no_call, "oracle_without_calls": local | no_call}
    contract = replace(audit.contract, draws=10_000)
    return with_right(replace(audit, contract=contract), full=full, no_call=no_call, **made)


def test_the_papers_primary_contrast(papers):
    primary = contrasts(papers)[0]
    counts = primary.evidence.counts
    assert (counts.only_first, counts.only_second, counts.n) == (7, 6, 240)
    assert primary.role == "primary"
    assert primary.bootstrap.low == pytest.approx(-0.0250, abs=1e-4)
    assert primary.bootstrap.high == pytest.approx(0.0333, abs=1e-4)
    assert primary.evidence.p_value == 1


def test_two_one_sided_tests_of_the_papers_contrast(papers, clustered):
    row = contrasts_table(papers, contrasts(papers)).rows[0]
    assert row["p_tost_wald"] == pytest.approx(0.0427, abs=1e-4)
    assert row["p_tost"] > 0.05  # not established by the score test
    assert row["equivalent"] == "not established"
    assert "p_tost" not in contrasts_table(clustered, contrasts(clustered)).rows[0]


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
    assert {own.role for own in made[n_tests:]} == {"exploratory", "post-call"}
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


def test_power_of_the_largest_gain_counts_clusters(clustered):
    """Clusters of three equals: 60 examples count as 60 / (3 · 20/19) = 19.

    Of four tests Holm's first has α = 0.0125, so eight to none are needed; P(Bin(19, 0.3) ≥ 8).
    """
    assert len(clustered.contract.tests) == 4
    i = np.arange(60)
    made = with_right(clustered, no_call=i >= 18, oracle=i >= 0)
    room = verdict(made, contrasts(made))[2]
    assert room.startswith("There was room for 18 of 60 examples")
    assert room.endswith(
        "probability of 18 %, whatever the other tests find (60 examples in their clusters count "
        "as 19)."
    )


def test_clusters_of_several_examples(clustered):
    made = contrasts(clustered)
    assert made[0].evidence.test_name == "cluster sign flip"
    row = policies_table(clustered).rows[0]
    assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]


def test_random_calls_have_the_formulas_accuracy(audit):
    rows = {row["policy"]: row for row in policies_table(audit).rows}
    local, call = rows["no_call"]["accuracy"], rows["omni"]["accuracy"]
    rate = rows["full"]["call_rate"]
    expected = local + rate * (call - local)
    assert rows["as many random calls"]["accuracy"] == pytest.approx(expected)


def test_gains_by_class_and_stage_add_up(audit):
    total = by_class(audit).rows[-1]
    counts = contrasts(audit)[0].evidence.counts
    net = total["corrections"] - total["harms"]
    elsewhere = total["changed_elsewhere"]
    discordant = counts.only_first + counts.only_second
    assert total["corrections"] + total["harms"] + elsewhere == discordant
    assert total["net_per_call"] == pytest.approx(net / total["n_calls"])
    for table in (by_class(audit).rows[:-1], by_stage(audit).rows):
        for key in ("n", "n_calls", "corrections", "harms", "changed_elsewhere"):
            assert sum(row[key] for row in table) == total[key]
    assert len(changed_examples(audit).rows) == discordant


def test_an_action_that_is_never_chosen_is_shown_without_an_accuracy(audit):
    never = np.zeros(audit.holdout.n, dtype=int)
    policies = tuple(
        replace(own, chosen=never, called=own.called & False) if own.name == "full" else own
        for own in audit.policies
    )
    rows = {row["action"]: row for row in by_stage(replace(audit, policies=policies)).rows}
    assert rows["omni"]["n"] == 0
    assert rows["omni"]["full"] is None
    sentences = verdict(replace(audit, policies=policies), contrasts(audit))
    assert "The full selector never calls" in sentences[1]


def test_the_frontier_ends_at_single_actions(audit):
    accuracies = {row["policy"]: row["accuracy"] for row in policies_table(audit).rows}
    rows = frontier(audit)[0].rows
    ends = {(row["curve"], row.get("budget")): row["accuracy"] for row in rows}
    assert ends["clap→omni", 0.0] == accuracies["clap"]
    assert ends["clap→omni", 1.0] == accuracies["omni"]
    assert ends["no_call→omni, random", 1.0] == pytest.approx(accuracies["omni"])
    selected = audit.frozen.selectors["full"].weight_of_cost
    at = next(row for row in rows if row["curve"] == "full" and row["lambda"] == selected)
    assert at["accuracy"] == accuracies["full"]
    best = max(rows, key=lambda row: (row["accuracy"], -row["call_rate"]))
    assert best.get("dominated") is None


def test_fold_assignments_and_prompts_are_compared(tmp_path):
    examples = example_rows(60, 30)
    predictions = prediction_rows(examples)
    more = []
    for row in predictions:
        if row["action"] == "clap" and "fold" in row:
            more += [row | {"fold_seed": seed, "fold": (row["fold"] + 1) % 5} for seed in (7, 8)]
        if row["action"] == "omni":
            row["prompt_id"] = "a"
            more.append(row | {"prompt_id": "b"})
    tables = write_tables(tmp_path, examples, [*predictions, *more])
    made = audit_calls(tables, write_contract(tmp_path / "c.json", tables), tmp_path / "out")
    folds = [row["folds"] for row in fits(made).rows]
    assert folds.count("fold_seed 7") == folds.count("fold_seed 8") == 2
    rows = by_prompt(made).rows
    assert {row["prompt"] for row in rows} == {"a", "b"}
    assert len(rows) == 2 * 4  # alone, and three routes


def test_page_has_both_figures_and_no_markup_from_names(tmp_path):
    examples = example_rows(60, 30)
    predictions = prediction_rows(examples)
    for row in predictions:
        row["action"] = row["action"].replace("clap", "<b>clap")
    tables = write_tables(tmp_path, examples, predictions)
    contract = write_contract(tmp_path / "c.json", tables, draws=100)
    made = audit_calls(tables, contract, tmp_path / "out")
    page, _ = write_call_report(made, tmp_path / "out")
    text = page.read_text()
    for section in ("contrasts", "frontier", "changed", "confusion", "before", "checks"):
        assert f'<section id="{section}">' in text
    assert "<b>clap" not in text
    assert (tmp_path / "out" / "tables" / "frontier.csv").is_file()


PAPERS_ACCURACIES = {
    71: ".296", 97: ".404", 183: ".762", 190: ".792", 191: ".796", 194: ".808", 196: ".817",
    201: ".838", 204: ".850", 205: ".854", 212: ".883", 213: ".887", 215: ".896", 221: ".921",
    222: ".925", 225: ".938", 234: ".975",
}  # fmt: skip
"""Number of correct examples of 240, and what the paper prints."""


def test_counts_give_every_accuracy_that_the_paper_prints(audit):
    for k, accuracy in PAPERS_ACCURACIES.items():
        changed = with_right(audit, clap=np.arange(240) < k)
        row = next(row for row in policies_table(changed).rows if row["policy"] == "clap")
        assert row["n_correct"] == k
        assert f"{row['accuracy']:.3f}" == f"0{accuracy}"


@pytest.mark.parametrize(("n_calls", "rate"), [(30, "12.5"), (122, "50.8"), (7, "2.9")])
def test_counts_of_calls_give_the_rates_that_the_paper_prints(audit, n_calls, rate):
    called = np.zeros(audit.holdout.predicted.shape, dtype=bool)
    called[:n_calls, audit.holdout.index("omni")] = True
    policies = tuple(
        replace(own, called=called) if own.name == "full" else own for own in audit.policies
    )
    row = policies_table(replace(audit, policies=policies)).rows[0]
    assert f"{100 * row['call_rate']:.1f}" == rate


def test_components_of_a_policy_add_up_to_its_total(audit):
    totals = {row["policy"]: row["wall_s"] for row in policies_table(audit).rows[:3]}
    for name in ("full", "no_call"):
        own = [row for row in ledger_table(audit).rows if row["policy"] == name]
        assert {row["component"] for row in own} >= {"text", "clap", "wavlm"}
        assert sum(row["wall_s"] for row in own) == pytest.approx(totals[name])
