"""Several tasks: Holm over tasks, and the random-effects mean, by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.meta_analysis import combine_effects
from typer.testing import CliRunner

from otoscope.audits.call_value.schema import CallValueError
from otoscope.cli import app
from otoscope.reports.call_value.contrasts import contrasts
from otoscope.reports.call_value.tasks import (
    mean_over_tasks,
    read_task_audit,
    task_rows,
    task_sentences,
    write_tasks_report,
)
from otoscope.statistics.gain_wording import evidence_of_counts
from otoscope.statistics.pairs import PairedCounts
from tests.reports.call_value.audits import make_audit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tasks")
    audit = make_audit(made / "a", n_holdout=40, draws=100)
    make_audit(made / "b", n_holdout=30, per_cluster=3, draws=100, task="sounds")
    return made, audit


@pytest.fixture
def by_hand(folder):
    """The paper's primary contrast, and two made up."""
    own = read_task_audit(folder[0] / "a" / "out")
    counts = [PairedCounts(215, 7, 6, 12), PairedCounts(80, 12, 1, 7), PairedCounts(60, 2, 9, 29)]
    return [
        replace(own, name=name, evidence=evidence_of_counts(own_counts))
        for name, own_counts in zip(("paper", "gain", "loss"), counts, strict=True)
    ]


def test_an_audit_is_read_back_from_its_folder(folder):
    read = read_task_audit(folder[0] / "a" / "out")
    assert read.evidence == contrasts(folder[1])[0].evidence
    assert read.call_rate == folder[1].policies[0].calls.mean()
    clustered = read_task_audit(folder[0] / "b" / "out")
    assert clustered.name == "sounds"
    assert clustered.evidence.test_name == "cluster sign flip"


def test_holm_is_over_tasks(by_hand):
    rows = task_rows(by_hand)
    p = [1.0, 2 * 14 / 2**13, 2 * (1 + 11 + 55) / 2**11]  # exact McNemar of 7:6, 12:1 and 2:9
    assert [row["p_value"] for row in rows] == pytest.approx(p)
    assert [row["p_holm"] for row in rows] == pytest.approx([1, 3 * p[1], 2 * p[2]])
    first = task_sentences(by_hand)[0]
    assert first == "Of 3 tasks, with Holm's correction, a gain from calls was detected on gain."


@pytest.mark.parametrize("kept", [3, 2])
def test_mean_is_that_of_statsmodels(by_hand, kept):
    some = by_hand[:kept]
    effects = np.array([own.evidence.two_sided for own in some])
    errors = (effects[:, 2] - effects[:, 1]) / (2 * 1.959964)
    expected = combine_effects(effects[:, 0], errors**2, method_re="dl").summary_frame()
    found = mean_over_tasks(some)
    row = expected.loc["random effect"]
    assert found == pytest.approx((row["eff"], row["ci_low"], row["ci_upp"]), abs=1e-6)


def test_tasks_that_agree_have_the_mean_of_one_task_of_their_size(by_hand):
    one = by_hand[0].evidence.two_sided
    found = mean_over_tasks(by_hand[:1] * 2)
    assert found.estimate == pytest.approx(one.estimate)
    assert found.high - found.low == pytest.approx((one.high - one.low) / 2**0.5)
    assert mean_over_tasks(by_hand[:1]) is None


def test_command_writes_a_page_and_a_table(folder, tmp_path):
    paths = [str(folder[0] / name / "out") for name in "ab"]
    done = CliRunner().invoke(app, ["call-value-tasks", *paths, "--out", str(tmp_path / "all")])
    assert done.exit_code == 0, done.output
    table = pd.read_csv(tmp_path / "all" / "tables" / "tasks.csv")
    assert table["task"].tolist() == ["out", "sounds", "random-effects mean"]
    assert (tmp_path / "all" / "index.html").read_text().count('class="whisker"') == 2


def test_tasks_of_the_same_name_have_their_folders_beside(folder, tmp_path):
    make_audit(tmp_path / "c", n_holdout=20, draws=100, task="sounds")
    paths = [folder[0] / "b" / "out", tmp_path / "c" / "out"]
    write_tasks_report(paths, tmp_path / "all")
    names = pd.read_csv(tmp_path / "all" / "tables" / "tasks.csv")["task"].tolist()
    assert names[:2] == [f"sounds ({path})" for path in paths]


def test_what_is_no_audit_is_named(folder, tmp_path):
    with pytest.raises(CallValueError, match=r"nothing is no finished audit .* contract.json"):
        read_task_audit(tmp_path / "nothing")
    path = folder[0] / "a" / "out"
    with pytest.raises(CallValueError, match="an audit is given twice"):
        write_tasks_report([path, path], tmp_path / "all")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "contract.json").write_bytes((path / "contract.json").read_bytes())
    choices = pd.read_parquet(path / "choices.parquet").drop(columns="cluster_id")
    choices.to_parquet(tmp_path / "old" / "choices.parquet")
    with pytest.raises(CallValueError, match="no column 'cluster_id': it was written by an earlie"):
        read_task_audit(tmp_path / "old")
