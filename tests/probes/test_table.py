"""The tidy table, against plain versions of its numbers."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from otoscope.probes.files import probe_markdown, write_tables
from otoscope.probes.predictions import PREDICTIONS, ProbeConfig, ProbeError
from otoscope.probes.probe import ProbeRecipe
from otoscope.probes.probe_set import plan_probes
from otoscope.probes.table import COLUMNS, method_predictions, probe_table
from otoscope.statistics.intervals import clustered_interval
from tests.probes.planted import planted, predictions_of, written

QUICK = ProbeRecipe(learning_rate=0.03, n_epochs=10, batch_size=64)
SEEDS = (3, 5)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Cross-validated probes of two categories with two seeds and two controls."""
    folder = tmp_path_factory.mktemp("trained")
    features = planted(folder / "f", strength={"text.1": 0.7, "text.0": 0.0, "mel": 0.3})
    config = ProbeConfig(split="grouped", n_folds=3, seeds=SEEDS, n_controls=2, recipe=QUICK)
    plan_probes(features, folder / "p", config=config).train()
    return folder / "p"


@pytest.fixture(scope="module")
def table(trained):
    return probe_table(trained)


def row(table, **values):
    """The one row with these values."""
    (found,) = (
        row for row in table.to_pylist() if all(row[k] == value for k, value in values.items())
    )
    return found


def predicted(trained, category="volume", site="text.1", **values):
    """Predictions with these values, one column a name."""
    rows = pq.read_table(trained / "predictions" / category / f"{site}.parquet").to_pylist()
    rows = [row for row in rows if all(row[k] == value for k, value in values.items())]
    return {name: np.array([row[name] for row in rows]) for name in PREDICTIONS.names}


def test_there_is_a_row_for_every_site_category_and_method_and_one_for_all(table):
    assert table.schema.equals(COLUMNS)
    keys = [(r["site"], r["category"], r["method"]) for r in table.to_pylist()]
    assert [key for key in keys if key[2] != "converged"] == [
        (site, category, method)
        for site in ("mel", "text.0", "text.1")
        for category in ("echo", "volume", "all")
        for method in ("probe", "ridge")
    ]
    found = row(table, site="text.1", category="volume", method="probe")
    about = ("model", "prompt", "split", "kind", "layer", "position")
    assert [found[name] for name in about] == ["planted", "main", "grouped", "text", 1, ""]
    assert row(table, site="mel", category="all", method="probe")["layer"] is None


def test_counts_are_of_items_not_of_items_times_seeds(table):
    found = row(table, site="text.1", category="volume", method="probe")
    counted = ("n_test", "n_sources", "n_seeds", "n_no_effect")
    assert [found[name] for name in counted] == [400, 50, 2, 0]
    assert found["n_train"] == round(400 * 2 / 3)
    assert row(table, site="text.1", category="all", method="ridge")["n_test"] == 800
    assert row(table, site="text.1", category="all", method="ridge")["n_seeds"] == 1


def test_scores_are_those_of_plain_versions(table, trained):
    found = row(table, site="text.1", category="volume", method="probe")
    found_rows = predicted(trained, method="probe", labelling=0)
    right = (found_rows["score"] >= 0) == found_rows["label"]
    assert found["accuracy"] == pytest.approx(right.mean())
    expected = clustered_interval(right, found_rows["source_id"])
    assert [found["accuracy_low"], found["accuracy_high"]] == pytest.approx(expected[1:])
    by_seed = [right[found_rows["seed"] == seed].mean() for seed in SEEDS]
    assert found["accuracy_least_seed"] == pytest.approx(min(by_seed))
    assert found["accuracy_most_seed"] == pytest.approx(max(by_seed))
    assert found["accuracy_up"] == pytest.approx(right[found_rows["label"]].mean())
    assert found["accuracy_down"] == pytest.approx(right[~found_rows["label"]].mean())
    assert found["balanced_accuracy"] == pytest.approx(
        balanced_accuracy_score(found_rows["label"], found_rows["score"] >= 0)
    )
    areas = [
        (roc_auc_score(found_rows["label"][at], found_rows["score"][at]), (at.sum() / 2) ** 2)
        for seed in SEEDS
        for fold in range(3)
        if (at := (found_rows["seed"] == seed) & (found_rows["fold"] == fold)).any()
    ]
    assert found["auc"] == pytest.approx(sum(a * n for a, n in areas) / sum(n for _, n in areas))
    assert found["auc_low"] < found["auc"] < found["auc_high"]


def test_noise_has_no_selectivity_where_one_label_is_rare(tmp_path):
    """92 of 100 labels are `increase`, and the probe has learnt that and nothing else."""
    labels, n_sources = np.arange(400) % 100 < 92, 50
    swapped = np.arange(400) % n_sources < n_sources // 2
    constant = np.ones(400)
    noise = np.random.default_rng(0).choice([-1.0, 1.0], 400)
    predicted = predictions_of(
        labels, constant, controls=[(labels ^ swapped, noise)], n_sources=n_sources
    )
    (found,) = probe_table(written(tmp_path / "p", predicted)).to_pylist()
    assert found["accuracy"] == found["majority"] == 0.92
    assert found["balanced_accuracy"] == 0.5
    of_control = balanced_accuracy_score(labels ^ swapped, noise > 0)
    assert found["selectivity"] == pytest.approx(0.5 - of_control)
    assert found["selectivity_low"] < 0 < found["selectivity_high"]
    shown = probe_markdown(probe_table(tmp_path / "p"))
    assert "a constant prediction is correct for up to 92% of the clips" in shown
    assert "## mel, balanced accuracy" in shown


def test_categories_that_had_converged_count_in_the_mean_of_converged_probes(tmp_path):
    behind = predictions_of([True, False], [-1.0, -1.0], category="echo")
    best = predictions_of([True, False], [1.0, -1.0], category="echo")
    at = best.column_names.index("method")
    best = best.set_column(at, best.schema.field(at), pa.array(["converged"] * 2))
    done = predictions_of([True, False], [-1.0, -1.0])
    folder = written(tmp_path / "p", pa.concat_tables([behind, best]), done)
    accuracy = {
        (r["category"], r["method"]): r["accuracy"] for r in probe_table(folder).to_pylist()
    }
    assert accuracy == {
        ("echo", "probe"): 0.5, ("echo", "converged"): 1.0, ("volume", "probe"): 0.5,
        ("all", "probe"): 0.5, ("all", "converged"): 0.75,
    }  # fmt: skip
    shown = probe_markdown(probe_table(folder))
    assert "| AUC | control | selectivity | ridge | converged |" in shown
    assert "Not converged: where `converged` has a value" in shown


def test_selectivity_is_accuracy_less_that_of_the_controls(table, trained):
    found = row(table, site="text.1", category="volume", method="probe")
    controls = [predicted(trained, method="probe", labelling=k) for k in (1, 2)]
    control = np.mean([((c["score"] >= 0) == c["label"]).mean() for c in controls])
    assert found["control_accuracy"] == pytest.approx(control)
    assert found["selectivity"] == pytest.approx(found["accuracy"] - control)
    assert found["selectivity_low"] < found["selectivity"] < found["selectivity_high"]
    assert found["train_accuracy"] > found["control_train_accuracy"] > 0.5
    ridge = row(table, site="text.1", category="volume", method="ridge")
    assert math.isnan(ridge["train_accuracy"])
    assert ridge["penalty"] > 0


def test_all_is_the_mean_over_categories(table):
    for name in ("accuracy", "balanced_accuracy", "control_accuracy", "selectivity", "auc"):
        parts = [
            row(table, site="text.1", category=c, method="probe")[name] for c in ("volume", "echo")
        ]
        found = row(table, site="text.1", category="all", method="probe")
        assert found[name] == pytest.approx(np.mean(parts), abs=2e-3 if name == "auc" else 1e-12)


def test_a_category_that_was_not_probed_everywhere_leaves_no_mean(tmp_path):
    features = planted(tmp_path / "f", categories=("a", "b", "c"))
    config = ProbeConfig(recipe=QUICK)
    plan_probes(features, tmp_path / "p", config=config, sites=["mel"]).train()
    more = {"sites": ["text.1"], "categories": ["a", "b"]}
    plan_probes(features, tmp_path / "p", config=config, **more).train()
    keys = [(r["site"], r["category"]) for r in probe_table(tmp_path / "p").to_pylist()]
    assert set(keys) == {("mel", name) for name in ("a", "b", "c", "all")} | {
        ("text.1", "a"),
        ("text.1", "b"),
    }


def test_one_label_only_has_neither_balance_nor_area(tmp_path):
    folder = written(tmp_path / "p", predictions_of([True] * 4, [1.0, 2.0, -1.0, 0.0]))
    (found,) = probe_table(folder).to_pylist()
    assert found["accuracy"] == found["accuracy_up"] == 0.75
    nothing = ("balanced_accuracy", "accuracy_down", "auc", "control_accuracy", "selectivity")
    assert all(math.isnan(found[name]) for name in nothing)
    assert found["n_no_effect"] == 1


def test_a_score_of_zero_predicts_increase():
    found = method_predictions(predictions_of([True, False], [0.0, 0.0]))
    assert found.right.tolist() == [True, False]


def test_what_is_written_is_read_back_and_shown(trained, table):
    write_tables(trained, probe_table(trained))
    for again in (probe_table(trained), pq.read_table(trained / "probes.parquet")):
        assert again.schema.equals(COLUMNS)
        assert str(again.to_pylist()) == str(table.to_pylist())  # NaN is not itself
    shown = (trained / "probes.md").read_text()
    found = row(table, site="text.1", category="volume", method="probe")
    cell = "{:.1f} [{:.1f}, {:.1f}]".format(
        *(100 * found[name] for name in ("accuracy", "accuracy_low", "accuracy_high"))
    )
    assert "model: planted, adapter: , prompt: main, split: grouped" in shown
    assert "| layer | echo | volume | all | AUC | control | selectivity | ridge |" in shown
    (line,) = [line for line in shown.splitlines() if line.startswith("| 1 |")]
    assert line.split("|")[3].strip() == cell


def test_token_positions_are_shown_by_balanced_accuracy(tmp_path):
    features = planted(tmp_path / "f", strength={"text.1@q_attr": 1.0})
    plan_probes(features, tmp_path / "p", config=ProbeConfig(recipe=QUICK)).train()
    assert "## text@q_attr, balanced accuracy" in probe_markdown(probe_table(tmp_path / "p"))


def test_folders_without_probes_are_rejected(tmp_path):
    with pytest.raises(ProbeError, match=r"holds no probes.*trainers\.linear_probe"):
        probe_table(tmp_path)
    features = planted(tmp_path / "f")
    plan_probes(features, tmp_path / "p", config=ProbeConfig())
    with pytest.raises(ProbeError, match="no predictions yet"):
        probe_table(tmp_path / "p")
    (tmp_path / "p" / "run.json").write_text("{half")
    with pytest.raises(ProbeError, match=r"run\.json is not readable"):
        probe_table(tmp_path / "p")
