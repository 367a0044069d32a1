"""The paper's numbers, as data: each count is the only one that is printed so."""

from dataclasses import replace

import pytest

from otoscope.audits.call_value.contract import SELECTORS, Route
from otoscope.audits.call_value.schema import AGREEMENT, AGREEMENT_NO_CALL, STACKED
from otoscope.audits.call_value.templates import read_template
from otoscope.errors import InputError
from otoscope.reports.call_value.published import CONTRASTS, published_calls, published_tables
from otoscope.statistics.pairs import PairedCounts, mcnemar_exact

ROWS = published_calls().to_dict("records")
PAIRS = published_calls(CONTRASTS).to_dict("records")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['task']} {row['policy']}")
def test_counts_are_the_only_ones_that_are_printed_so(row):
    n, printed = row["n"], f"{row['printed']:.3f}"
    assert [k for k in range(n + 1) if format(k / n, ".3f") == printed] == [row["n_correct"]]


def test_table_of_the_paper_on_its_primary_task():
    vocalsound = {row["policy"]: row["n_correct"] for row in ROWS if row["task"] == "vocalsound"}
    assert list(vocalsound.values()) == [
        71, 97, 183, 190, 191, 194, 196, 201, 204, 204, 205, 212, 213, 215, 221, 222, 225, 234,
    ]  # fmt: skip
    # no_call: text, CLAP and WavLM; full: the same and 30 calls
    seconds = {row["policy"]: row["total_s"] for row in ROWS if row["task"] == "vocalsound"}
    clap = 30.5 - 21.7
    parts = seconds["transcript only"] + clap + seconds["WavLM-base+ embedding probe"]
    assert parts == pytest.approx(seconds["No-call selector"], abs=0.11)
    assert seconds["No-call selector"] + 5.6 == pytest.approx(seconds["Full selector"])
    calls = {row["policy"]: round(240 * row["call_rate"]) for row in ROWS if row["n"] == 240
             if row["call_rate"] > 0}  # fmt: skip
    assert (calls["Full selector"], calls["CLAP→Qwen2.5-Omni"]) == (30, 122)
    assert calls["oracle over all actions"] == 7


@pytest.mark.parametrize("row", PAIRS[:3], ids=lambda row: row["policy"])
def test_discordant_counts_give_what_is_printed(row):
    b, c = int(row["only_policy_correct"]), int(row["only_reference_correct"])
    assert format((b - c) / row["n"], ".3f") == f"{row['difference']:.3f}"
    p = mcnemar_exact(PairedCounts(0, b, c, 0))
    if row["p"] == row["p"]:
        assert f"{p:.3f}" == f"{row['p']:.3f}"
    if row["p_holm"] == row["p_holm"]:
        assert f"{8 * p:.3f}" == f"{row['p_holm']:.3f}"
    correct = {own["policy"]: own["n_correct"] for own in ROWS if own["task"] == row["task"]}
    assert correct[row["policy"]] - correct[row["reference"]] == b - c


def test_rows_stand_beside_policies_of_the_same_name(audit):
    of_paper = replace(audit, contract=replace(audit.contract, task="vocalsound"))
    results, contrasts = published_tables(of_paper)
    rows = {row["policy"]: row for row in results.rows}
    right = audit.policies[0].predicted == audit.holdout.gold
    assert rows["Full selector"]["own"] == pytest.approx(right.mean())
    assert rows["Full selector"]["accuracy_low"] == pytest.approx(0.8846, abs=1e-4)
    assert rows["MOSS-Audio"].get("own") is None
    assert [row["only_policy_correct"] for row in contrasts.rows] == [7, 24, 24]
    assert "arXiv 2608.27817" in results.to_markdown()


def test_names_here_are_policies_of_the_papers_contract():
    template = read_template("vocalsound_paper")
    routes = [Route(**own, quota=False).name for own in template["routes"]]
    known = {*template["actions"], *template["controllers"], *routes, *SELECTORS}
    known |= {"oracle", "oracle of encoders"}
    own = {row["policy"]: row["here"] for row in ROWS if row["task"] == "vocalsound"}
    assert [policy for policy, name in own.items() if name not in known] == []
    others = {row["here"] for row in ROWS if row["task"] != "vocalsound"} - {""}
    assert others - known == {AGREEMENT, AGREEMENT_NO_CALL, STACKED}


def test_other_tasks_have_no_rows_unless_they_are_requested(audit):
    assert [table.rows for table in published_tables(audit)] == [(), ()]
    assert len(published_tables(audit, "speech_text_matching")[0].rows) == 2
    with pytest.raises(InputError, match="the paper has no task 'dogs'; there are vocalsound"):
        published_tables(audit, "dogs")
