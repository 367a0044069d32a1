"""The report of a study, from files whose numbers are written by hand."""

import csv
import json
import shutil
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from otoscope.cli import app
from otoscope.probes import decodable, table
from otoscope.reports.inside import models
from otoscope.reports.inside.decodable import at_last_layer
from otoscope.reports.inside.models_report import write_models
from otoscope.reports.inside.reading import StudyFolderError, read_study
from otoscope.reports.inside.report import write_inside
from otoscope.reports.inside.tables import layer_maps, position_rows, stage_rows, tables
from otoscope.reports.inside.transfer import transfer_rows
from otoscope.representations.features import Features, write_features
from otoscope.representations.sites import site_of
from tests.reports.written_runs import question, right_or_wrong, write_run

CATEGORIES = ("volume", "echo")
N_SOURCES = 4


def probe_row(site, category, accuracy, **columns):
    place = site_of(site)
    return {
        "model": "m", "adapter": "", "prompt": "main", "split": "published",
        "site": site, "kind": place.kind, "layer": place.layer, "position": place.position or "",
        "category": category, "method": "probe", "n_test": 40, "n_sources": N_SOURCES,
        "n_seeds": 1, "n_train": 80, "n_no_effect": 0, "accuracy": accuracy,
        "accuracy_low": accuracy - 0.1, "accuracy_high": accuracy + 0.05,
        "balanced_accuracy": accuracy - 0.01, "control_accuracy": float("nan"), **columns,
    }  # fmt: skip


def write_probes(folder, rows, joined=()):
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, table.COLUMNS), folder / "probes.parquet")
    if joined:
        pq.write_table(pa.Table.from_pylist(joined, decodable.COLUMNS), folder / "encoded.parquet")


def decodable_row(layer, category, share):
    return {
        "site": f"text.{layer}", "kind": "text", "layer": layer, "position": "",
        "category": category, "method": "probe", "n": 40, "n_sources": N_SOURCES,
        "encoded_not_said": share, "encoded_not_said_low": share - 0.05,
        "encoded_not_said_high": share + 0.05, "beyond_guessing": share - 0.2, "p_holm": 0.0625,
    }  # fmt: skip


def write_answers(folder, n_right):
    """Two clips of each source and category; the first `n_right[category]` sources are right."""
    rows = [
        question(f"{c}{k}{way}", category=c, label=way, source_id=f"s{k}")
        for c, k, way in product(n_right, range(N_SOURCES), ("increase", "decrease"))
    ]
    right = [int(row["source_id"][1:]) < n_right[row["category"]] for row in rows]
    return write_run(folder, rows, right_or_wrong(rows, right))


def write_states(folder, opposed):
    """In both categories rising is +1 at the first place, or against each other."""
    cells = list(product(CATEGORIES, range(N_SOURCES), ("up", "down")))
    signs = [
        (1 if way == "up" else -1) * (-1 if opposed and category == "echo" else 1)
        for category, _, way in cells
    ]
    write_features(
        folder,
        {
            "id": [f"{c}{k}{way}" for c, k, way in cells],
            "category": [c for c, _, _ in cells],
            "label": [int(way == "up") for _, _, way in cells],
            "source_id": [f"s{k}" for _, k, _ in cells],
            "split": ["test"] * len(cells),
            "direction": [way for _, _, way in cells],
        },
        {"text.2": np.array([[sign, 0.0] for sign in signs], np.float32)},
        model="m",
        prompt="main",
    )


@pytest.fixture
def study(tmp_path):
    """A base and a model fine-tuned on volume; two layers, a position at layers 0, 2 and 12."""
    folder = tmp_path / "study"
    folder.mkdir()
    about = {
        "schema": 1,
        "config": {"categories": CATEGORIES, "teach": ["volume"], "model": "<i>m</i>"},
        "steps": [],
        "never_run": "A <b>real</b> model.",
    }
    (folder / "study.json").write_text(json.dumps(about))
    sites = {"mel": 0.9, "pre_llm": 0.8, "audio.2": 0.7, "text.0": 0.5, "text.2": 0.75}
    sites |= {"text.0@q_l": 0.55, "text.2@q_l": 0.65, "text.12@q_l": 0.66}
    for model, more in (("base", 0.0), ("tuned-volume", 0.1)):
        rows = [probe_row(s, c, a + more) for (s, a), c in product(sites.items(), CATEGORIES)]
        rows += [probe_row("text.2", "volume", 0.6, method="ridge")]
        joined = [decodable_row(k, c, 0.3 + k / 10) for k, c in product((0, 2), CATEGORIES)]
        write_probes(folder / "probes" / model, rows, joined if model == "base" else ())
        write_states(folder / "features" / model, opposed=model != "base")
    write_answers(folder / "runs" / "base", {"volume": 1, "echo": 2})
    write_answers(folder / "runs" / "tuned-volume", {"volume": 3, "echo": 1})
    return folder


def test_transfer_is_counted_from_the_answers(study):
    found = {(row["key"], row["category"]): row for row in transfer_rows(read_study(study))}
    # 1 and 2 of 4 sources correct; fine-tuned: 3 and 1 of 4
    assert found["base", "volume"]["accuracy"] == 0.25
    assert found["base", "echo"]["accuracy"] == 0.5
    assert found["tuned-volume", "all"]["accuracy"] == 0.5
    tuned = found["tuned-volume", "volume"]
    assert (tuned["accuracy"], tuned["change"], tuned["n_shared"]) == (0.75, 0.5, 8)
    assert found["tuned-volume", "echo"]["change"] == -0.25
    assert found["tuned-volume", "all"]["change"] == pytest.approx(0.125)
    # Sources gain 0, 1, 1 and 0: excesses of 1/8, and Student's t with 3 degrees of freedom
    reach = 3.182446 * np.sqrt(4 / 3 * 4 / 64)
    assert (tuned["change_low"], tuned["change_high"]) == pytest.approx((0.5 - reach, 1.0))
    assert "change" not in found["base", "volume"]


def test_an_interval_counts_sources_and_not_clips(study):
    (row, *_) = transfer_rows(read_study(study))
    # One right of four sources: both clips of a source alike, so 8 are as many as 3; t² with 3
    # degrees of freedom 10.12797. Wilson's centre (1/4 + 10.12797/6)/(1 + 10.12797/3) = 0.442870,
    # reach sqrt(10.12797 (3/16/3 + 10.12797/36))/(1 + 10.12797/3) = 0.426440
    low, high = 0.442870 - 0.426440, 0.442870 + 0.426440
    assert (row["n"], row["n_sources"]) == (8, 4)
    assert (row["accuracy_low"], row["accuracy_high"]) == pytest.approx((low, high), abs=1e-5)


def test_stages_end_at_the_last_layer_that_has_no_position(study):
    rows = stage_rows(read_study(study))
    own = [row for row in rows if (row["key"], row["category"]) == ("base", "volume")]
    assert [(row["stage"], row["site"]) for row in own] == [
        ("mel", "mel"), ("pre_llm", "pre_llm"), ("audio.last", "audio.2"), ("text.last", "text.2"),
    ]  # fmt: skip
    assert own[-1]["ridge"] == 0.6


def test_a_map_has_a_row_a_category_and_a_column_a_layer(study):
    base, tuned = layer_maps(read_study(study))
    assert base.rows == tuple({"category": c, "0": 0.5, "2": 0.75} for c in CATEGORIES)
    assert tuned.rows[0]["2"] == pytest.approx(0.85)


def test_positions_are_at_the_layers_nearest_to_the_published(study):
    rows = [row for row in position_rows(read_study(study)) if row["key"] == "base"]
    # Of 0, 2 and 12: nearest to 1 is 0 (the lower of two), to 10 and to 25 is 12
    assert {(row["layer"], row["position"]) for row in rows} == {(0, "q_l"), (0, "o"), (12, "q_l")}
    at = {row["balanced_accuracy"] for row in rows}
    assert sorted(at) == pytest.approx([0.49, 0.54, 0.65])


def test_directions_that_agree_and_directions_that_oppose(study):
    found = {table.name: table for table in tables(read_study(study))["alignment"]}
    assert found["alignment_map_base"].rows[0] == pytest.approx(
        {"category": "volume", "volume": 1.0, "echo": 1.0}
    )
    assert found["alignment_map_tuned-volume"].rows[0]["echo"] == pytest.approx(-1.0)
    signed = [(row["key"], row["signed"], row["absolute"]) for row in found["alignment"].rows]
    assert signed == [("base", 1.0, 1.0), ("tuned-volume", -1.0, 1.0)]


def test_decodable_but_not_answered_at_the_last_layer(study):
    rows = at_last_layer(read_study(study)).rows
    assert [(r["category"], r["layer"], r["decodable_not_answered"]) for r in rows] == [
        ("volume", 2, 0.5), ("echo", 2, 0.5),
    ]  # fmt: skip


def test_the_page_is_complete_and_states_what_was_not_run(study):
    page = write_inside(study)
    text = page.read_text()
    assert page == study / "report" / "inside.html"
    assert "A &lt;b&gt;real&lt;/b&gt; model." in text
    assert "&lt;i&gt;m&lt;/i&gt;" in text
    assert "http" not in text.replace('http-equiv="Content', "").replace("http://www.w3.org", "")
    assert "probes/tuned-volume/encoded.parquet is not there yet" in text
    for name in ("stages", "layers", "transfer", "alignment", "decodable_by_layer", "positions"):
        assert (study / "report" / "tables" / f"{name}.md").read_text().startswith("### ")
    with (study / "report" / "tables" / "transfer_matrix.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows[1] == {"tuned_on": "volume", "volume": "0.75", "echo": "0.25", "all": "0.5"}


def test_a_page_begins_with_its_findings_and_has_no_empty_section(study):
    rows = [
        decodable_row(2, category, 0.5)
        | {f"{name}{end}": value + at for end, at in (("", 0.0), ("_low", -0.1), ("_high", 0.1))
           for name, value in (("encoded", 0.8), ("said", said), ("encoded_less_said", 0.8 - said))}
        for category, said in (("volume", 0.75), ("echo", 0.5), ("all", 0.625))
    ]  # fmt: skip
    path = study / "probes" / "base" / "encoded.parquet"
    pq.write_table(pa.Table.from_pylist(rows, decodable.COLUMNS), path)
    text = write_inside(study).read_text()
    main = text[text.index("<main") :]
    order = [main.index(f'id="{name}"') for name in ("findings", "decodable", "stages", "about")]
    assert order == sorted(order)
    assert (
        "Over all categories a linear probe on the last layer is correct on 80.0 % [70.0, 90.0] of "
        "the clips, the model&#39;s own answers on 62.5 % [52.5, 72.5]: +17.5 points [+7.5, +27.5]"
    ) in main
    # of volume the interval of the difference, 0.05 give or take 0.1, has 0 in it
    assert "(the interval is above 0) for echo 80.0 % [70.0, 90.0] against 50.0 %" in main
    # 1 of 4 sources before and 3 of 4 after; echo from 2 to 1
    assert "Fine-tuned on volume, answers about it are correct on 75.0 %" in main
    assert "the others change by −25.0 points on average" in main
    assert 'id="across"' not in text
    assert "across: no probes trained on one profile and tested on the other" in text
    assert "random weights" not in text
    for term in ("Chance-corrected", "Random null", "ridge baseline", "linear probe"):
        assert f"<b>{term}</b>" in main


def test_cosines_of_a_chosen_layer_are_a_map(study):
    write_inside(study, map_layers=[2])
    name = "alignment_map_base"
    assert [t.name for t in tables(read_study(study), [2])["alignment"]].count(name) == 1
    with pytest.raises(StudyFolderError, match=r"no directions of change at layer 28; .* at 2$"):
        write_inside(study, map_layers=[28])


def test_a_map_of_a_layer_before_the_last_stands_beside_it(study):
    folder = study / "features" / "base"
    again = Features.open(folder)
    states = again.matrix("text.2")
    shutil.rmtree(folder)
    # in layer 1 echo moves along the other axis: the two directions are orthogonal
    turned = np.where((again.rows["category"] == "echo")[:, None], states[:, ::-1], states)
    rows = {name: again.rows[name] for name in again.rows}
    write_features(folder, rows, {"text.1": turned, "text.2": states}, model="m", prompt="main")
    shutil.rmtree(study / "features" / "tuned-volume")
    write_inside(study, study / "elsewhere", map_layers=[1])
    with (study / "elsewhere" / "tables" / "alignment_map_base_layer_1.csv").open() as file:
        volume, _ = csv.DictReader(file)
    assert (float(volume["volume"]), float(volume["echo"])) == (1.0, 0.0)
    with (study / "elsewhere" / "tables" / "alignment_map_base.csv").open() as file:
        assert float(next(csv.DictReader(file))["echo"]) == pytest.approx(1.0)


class TestSeveralStudies:
    def test_each_has_a_line_and_its_fine_tuned_models(self, study, tmp_path):
        other = tmp_path / "other"
        shutil.copytree(study, other)
        about = json.loads((other / "study.json").read_text())
        about["config"] |= {"scope": "lm_head", "model": "second"}
        (other / "study.json").write_text(json.dumps(about))
        page = write_models([study, other], tmp_path / "out")
        text = page.read_text()
        assert page == tmp_path / "out" / "inside.html"
        assert "&lt;i&gt;m&lt;/i&gt;" in text
        assert not (study / "report").exists()
        found = {t.name: t.rows for t in models.tables({"study": read_study(study),
                                                       "other": read_study(other)})}  # fmt: skip
        # only volume was fine-tuned: 1 of 4 sources right before, 3 of 4 after
        first, second = found["models_in_domain"]
        assert (first["study"], first["category"]) == ("study", "volume")
        assert (first["base"], first["tuned"], first["change"]) == (0.25, 0.75, 0.5)
        assert (second["spec"], second["scope"]) == ("second", "lm_head")
        lines = {row["line"]: row for row in found["models_in_domain_matrix"]}
        assert lines["other, fine-tuned"] == {
            "line": "other, fine-tuned", "volume": 0.75, "all": 0.75,
        }  # fmt: skip
        stages = [(r["category"], r["study"], r["stage"]) for r in found["models_stages"]]
        assert stages[:2] == [("volume", "study", "mel"), ("volume", "study", "pre_llm")]
        assert {row["key"] for row in found["models_layers"]} == {"base"}

    @pytest.mark.parametrize(
        ("names", "fault"), [(["study", "study"], "is there twice"), (["study"] * 9, "room for 8")]
    )
    def test_what_cannot_share_a_page_is_named(self, study, tmp_path, names, fault):
        with pytest.raises(StudyFolderError, match=fault):
            write_models([tmp_path / name for name in names], tmp_path / "out")

    def test_the_command_wants_a_folder_for_several(self, study):
        result = CliRunner().invoke(app, ["inside", str(study), str(study)])
        assert isinstance(result.exception, StudyFolderError) or "--out" in result.output


def test_the_control_across_profiles_stands_beside_the_own_profile(study):
    write_probes(study / "probes" / "base-on-other", [probe_row("text.2", "echo", 0.6)])
    (found,) = tables(read_study(study))["across"]
    echo = {row["key"]: row["accuracy"] for row in found.rows if row["category"] == "echo"
            and row["site"] == "text.2"}  # fmt: skip
    assert echo == {"base": 0.75, "base-on-other": 0.6}


def test_a_study_that_has_only_begun_has_a_report(tmp_path):
    (tmp_path / "study.json").write_text('{"schema": 1, "config": {}, "steps": []}')
    text = write_inside(tmp_path).read_text()
    assert "study.json does not state which published models were not run" in text
    for part in ("runs/base", "probes/base/probes.parquet", "features/base"):
        assert f"{part} is not there yet" in text


def test_an_earlier_report_leaves_no_table_behind(study):
    write_inside(study)
    (study / "probes" / "base" / "encoded.parquet").unlink()
    write_inside(study)
    assert not (study / "report" / "tables" / "decodable_by_layer.csv").exists()


def test_damaged_parts_are_named_and_left_out(study):
    (study / "probes" / "base" / "probes.parquet").write_bytes(b"not parquet")
    bare = pa.table({"site": ["text.2"]})
    pq.write_table(bare, study / "probes" / "base" / "encoded.parquet")
    (study / "runs" / "base" / "plan.parquet").unlink()
    missing = " ".join(read_study(study).missing)
    assert "probes/base/probes.parquet is left out" in missing
    assert "it lacks the columns" in missing
    assert "runs/base is left out" in missing
    assert write_inside(study).exists()


def test_features_of_other_clips_are_not_set_beside_the_base(study):
    path = study / "features" / "tuned-volume" / "rows.parquet"
    rows = pq.read_table(path).to_pylist()
    pq.write_table(pa.Table.from_pylist([r | {"id": r["id"] + "x"} for r in rows]), path)
    found = read_study(study)
    assert [model for model, _ in found.alignments] == ["base"]
    assert any("are not of the same clips" in sentence for sentence in found.missing)


@pytest.mark.parametrize(("tags", "expected"), [("[synthetic]", True), ("[speech]", False)])
def test_the_card_of_the_dataset_tells_synthetic_voices(study, tmp_path, tags, expected):
    (tmp_path / "README.md").write_text(f"---\ntags: {tags}\n---\n")
    about = json.loads((study / "study.json").read_text())
    about["config"]["dataset"] = str(tmp_path)
    (study / "study.json").write_text(json.dumps(about))
    assert read_study(study).synthetic is expected


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        ({}, "schema is None, not 1"),
        ({"schema": 7, "config": {}}, "schema is 7, not 1"),
        ({"schema": 1, "config": ["volume"]}, r"config is \['volume'\], not names and values"),
        ({"schema": 1, "config": {"categories": "volume"}}, "config.categories is 'volume'"),
        ({"schema": 1, "config": {"teach": [1]}}, r"config.teach is \[1\], not a list"),
    ],
)
def test_a_record_of_something_else_is_named(tmp_path, record, fault):
    (tmp_path / "study.json").write_text(json.dumps(record))
    with pytest.raises(StudyFolderError, match=f"study.json is no record of a study: {fault}"):
        write_inside(tmp_path)


def test_a_folder_without_a_study_is_rejected(tmp_path):
    with pytest.raises(StudyFolderError, match="is not a study"):
        write_inside(tmp_path)
    result = CliRunner().invoke(app, ["inside", str(tmp_path)])
    assert result.exit_code == 2
    assert "is not a study" in result.output
