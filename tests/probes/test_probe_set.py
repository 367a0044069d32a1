"""A set of probes on planted features: in one process, in several, and after a kill."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from otoscope.probes.files import prediction_files
from otoscope.probes.predictions import PREDICTIONS, PROBE, RIDGE, ProbeConfig, ProbeError
from otoscope.probes.probe import ProbeRecipe
from otoscope.probes.probe_set import plan_probes, rows_of
from otoscope.probes.splits import published_split
from otoscope.representations.features import Features, FeaturesError, write_features
from tests.probes.planted import planted

QUICK = ProbeRecipe(learning_rate=0.03, n_epochs=40, batch_size=64)


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("features") / "f")


def config(**changed):
    return ProbeConfig(**{"recipe": QUICK} | changed)


def accuracy(table, method=PROBE, labelling=0, seed=None):
    """Share right among the rows of a table of predictions."""
    rows = [
        row
        for row in table.to_pylist()
        if (row["method"], row["labelling"]) == (method, labelling) and seed in (None, row["seed"])
    ]
    return np.mean([(row["score"] >= 0) == row["label"] for row in rows])


def hashes(folder):
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("split", ["published", "grouped"])
def test_probes_find_what_was_planted_and_nothing_else(features, tmp_path, split):
    study = plan_probes(features, tmp_path / "p", config=config(split=split))
    for method in (PROBE, RIDGE):
        nothing, some, everything = (
            accuracy(study.predict("volume", site), method)
            for site in ("text.0", "text.1", "text.2")
        )
        # 112 items of 14 sources are tested, or 400 of 50; 84.1 % is the most there can be
        assert nothing == pytest.approx(0.5, abs=0.12)
        assert some == pytest.approx(0.841, abs=0.1)
        assert everything == 1


@pytest.mark.parametrize(("split", "expected"), [("grouped", 1.0), ("speaker", 0.0)])
def test_what_holds_for_one_speaker_alone_is_found_by_source_only(tmp_path, split, expected):
    # every speaker has two sources and a number that shows the label, for half of them upside down
    speaker, source, clip = (n.ravel() for n in np.indices((8, 2, 4)))
    states = np.zeros((64, 8), np.float32)
    states[np.arange(64), speaker] = np.where(speaker % 2, -1, 1) * (2 * (clip % 2) - 1)
    rows = {
        "id": [f"{k}" for k in range(64)],
        "category": ["volume"] * 64,
        "label": clip % 2,
        "source_id": [f"s{s}-{k}" for s, k in zip(speaker, source, strict=True)],
        "speaker_id": [f"p{s}" for s in speaker],
    }
    features = write_features(tmp_path / "f", rows, {"audio.0": states})
    study = plan_probes(features, tmp_path / "p", config=config(split=split, n_folds=4))
    table = study.predict("volume", "audio.0")
    rows = [row for row in table.to_pylist() if (row["method"], row["labelling"]) == (RIDGE, 0)]
    assert len(rows) == 64
    # a number that never varied in training has no weight, up to rounding
    right = [row["score"] > 1e-6 if row["label"] else row["score"] < -1e-6 for row in rows]
    assert np.mean(right) == expected


def test_controls_are_right_by_chance_only(features, tmp_path):
    study = plan_probes(features, tmp_path / "p", config=config(n_controls=4, split="grouped"))
    table = study.predict("volume", "text.2")
    found = [accuracy(table, method, k) for method in (PROBE, RIDGE) for k in (1, 2, 3, 4)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.06)
    assert max(found) < 0.65


def test_each_control_and_each_seed_swaps_other_sources(features, tmp_path):
    several = config(n_controls=2, seeds=(1, 2), ridge=False)
    rows = plan_probes(features, tmp_path / "p", config=several).predict("echo", "mel").to_pylist()
    lots = {
        tuple(row["label"] for row in rows if (row["seed"], row["labelling"]) == (seed, control))
        for seed in (1, 2)
        for control in (1, 2)
    }
    assert len(lots) == 4


def test_every_item_is_tested_once_by_each_seed_and_method(features, tmp_path):
    study = plan_probes(features, tmp_path / "p", config=config(split="grouped", seeds=(3, 5)))
    table = study.predict("echo", "text.1")
    assert table.schema.equals(PREDICTIONS)
    _, columns = rows_of(features, "echo")
    wanted = dict(zip(columns["id"].tolist(), (columns["label"] == 1).tolist(), strict=True))
    for method, seeds in ((PROBE, [3, 5]), (RIDGE, [3])):
        for seed in seeds:
            rows = [
                row
                for row in table.to_pylist()
                if (row["method"], row["labelling"], row["seed"]) == (method, 0, seed)
            ]
            assert {row["id"]: row["label"] for row in rows} == wanted
            assert len(rows) == len(wanted)
    assert set(table["category"].to_pylist()) == {"echo"}
    assert set(table["site"].to_pylist()) == {"text.1"}


def test_the_published_split_and_seed_are_those_of_one_probe_alone(features, tmp_path):
    from otoscope.probes.probe import fit, scaling_of

    study = plan_probes(features, tmp_path / "p", config=config(n_controls=0, ridge=False))
    at, columns = rows_of(features, "volume")
    ((_, train, test),) = published_split(columns, columns)
    states = features.matrix("text.1", at)
    scaling = scaling_of(states[train])
    labels = (columns["label"][train] == 1)[:, None]
    scores = fit(scaling.apply(states[train]), labels, seed=1234, recipe=QUICK).scores(
        scaling.apply(states[test])
    )
    table = study.predict("volume", "text.1")
    assert table["score"].to_pylist() == pytest.approx(scores[:, 0].tolist())
    assert table["id"].to_pylist() == columns["id"][test].tolist()
    assert set(table["n_train"].to_pylist()) == {36 * 8}


def test_neither_threads_nor_processes_change_a_byte(features, tmp_path):
    for name, n_threads, world in (("one", 1, 1), ("threads", 4, 1), ("processes", 2, 3)):
        study = plan_probes(features, tmp_path / name, config=config(seeds=(1, 2)))
        shares = [study.train(rank=r, world=world, n_threads=n_threads) for r in range(world)]
        assert sum(shares) == len(study.jobs) == 8
        assert not study.missing()
    assert (
        hashes(tmp_path / "one") == hashes(tmp_path / "threads") == hashes(tmp_path / "processes")
    )


def test_what_is_there_is_not_trained_again_and_sites_may_be_added(features, tmp_path):
    out = tmp_path / "p"
    plan_probes(features, out, config=config(), sites=["text.1"]).train()
    before = hashes(out)
    steps = []
    more = plan_probes(features, out, config=config(), sites=["text.1", "mel"])
    assert more.missing() == [("volume", "mel"), ("echo", "mel")]
    assert more.train(lambda: steps.append(1)) == 2
    assert len(steps) == 4
    assert before.items() < hashes(out).items()


def test_a_kill_leaves_whole_files_only(features, tmp_path, monkeypatch):
    study = plan_probes(features, tmp_path / "p", config=config())
    real, n_written = pq.write_table, []

    def write_half(table, path, **kwargs):
        if n_written:
            path.write_bytes(b"PAR1 half")
            raise KeyboardInterrupt
        n_written.append(1)
        real(table, path, **kwargs)

    monkeypatch.setattr(pq, "write_table", write_half)
    with pytest.raises(KeyboardInterrupt):
        study.train()
    monkeypatch.undo()
    assert len(study.missing()) == 7
    assert study.train() == 7
    whole = plan_probes(features, tmp_path / "q", config=config())
    whole.train()
    left = [name for name in hashes(tmp_path / "p") if name.endswith(".parquet")]
    assert {name: hashes(tmp_path / "p")[name] for name in left} == {
        name: digest for name, digest in hashes(tmp_path / "q").items() if name in left
    }


class TestAcrossFeatures:
    """Training on one set of features and testing on another."""

    def test_what_both_share_is_found_and_what_only_one_has_is_not(self, tmp_path):
        paper = planted(tmp_path / "paper", strength={"text.1": 1.0, "text.2": 8.0})
        controlled = planted(
            tmp_path / "controlled", strength={"text.1": 1.0, "text.2": 0.0}, seed=9
        )
        for split in ("published", "grouped"):
            study = plan_probes(
                paper, tmp_path / split, config=config(split=split), test_features=controlled
            )
            for method in (PROBE, RIDGE):
                shared = accuracy(study.predict("volume", "text.1"), method)
                lost = accuracy(study.predict("volume", "text.2"), method)
                assert shared == pytest.approx(0.841, abs=0.1)
                assert lost == pytest.approx(0.5, abs=0.12)

    def test_run_json_says_both(self, features, tmp_path):
        other = planted(tmp_path / "other", seed=9, questions="others")
        plan_probes(features, tmp_path / "p", config=config(), test_features=other)
        about = json.loads((tmp_path / "p" / "run.json").read_text())
        assert about["asked"]["questions"] == "others"
        with pytest.raises(ProbeError, match="holds another set of probes: asked"):
            plan_probes(features, tmp_path / "p", config=config())

    @pytest.mark.parametrize(
        ("changed", "named"),
        [({"model": {"name": "other"}}, "model"), ({"prompt": "beep"}, "prompt")],
    )
    def test_another_model_or_prompt_is_rejected(self, features, tmp_path, changed, named):
        other = planted(tmp_path / "other", **changed)
        with pytest.raises(FeaturesError, match=named):
            plan_probes(features, tmp_path / "p", config=config(), test_features=other)

    def test_another_width_is_rejected(self, features, tmp_path):
        other = planted(tmp_path / "other", width=5)
        with pytest.raises(ProbeError, match=r"differ in width at mel, text\.0"):
            plan_probes(features, tmp_path / "p", config=config(), test_features=other)

    def test_a_category_that_only_one_has_is_named(self, features, tmp_path):
        other = planted(tmp_path / "other", categories=("volume",))
        with pytest.raises(ProbeError, match="other has no rows of category echo; it has volume"):
            plan_probes(features, tmp_path / "p", config=config(), test_features=other)


class TestBadInput:
    """Named, and before anything is trained where that can be."""

    def test_no_train_rows(self, tmp_path):
        features = planted(tmp_path / "f", n_sources={"test": 5})
        with pytest.raises(ProbeError, match=r"volume: no rows of the splits train.*grouped"):
            plan_probes(features, tmp_path / "p", config=config())
        assert not (tmp_path / "p").exists()

    def test_an_absent_category_or_site(self, features, tmp_path):
        with pytest.raises(ProbeError, match="no rows of category pitch; it has volume, echo"):
            plan_probes(features, tmp_path / "p", config=config(), categories=["pitch"])
        with pytest.raises(ProbeError, match=r"no site text\.7; it has mel, text\.0"):
            plan_probes(features, tmp_path / "p", config=config(), sites=["text.7"])

    def test_one_label_only(self, tmp_path):
        features = planted(tmp_path / "f", categories=("volume",))
        (rows,) = (dict(features.rows),)
        rows["label"] = np.ones_like(rows["label"])
        flat = write_features(tmp_path / "g", rows, {"mel": features.matrix("mel")})
        with pytest.raises(ProbeError, match=r"volume: all 288 .* labelled 'increase'"):
            plan_probes(flat, tmp_path / "p", config=config())

    def test_features_that_are_not_finite(self, features, tmp_path, monkeypatch):
        study = plan_probes(features, tmp_path / "p", config=config(), categories=["echo"])
        real = Features.matrix

        def corrupt(self, site, rows=None):
            states = real(self, site, rows).copy()
            if site == "text.1":
                states[2, 0] = np.nan
            return states

        monkeypatch.setattr(Features, "matrix", corrupt)
        with pytest.raises(ProbeError, match=r"echo, site text\.1: 1 of 288 rows .* row 2"):
            study.train()
        assert ("echo", "text.1") in study.missing()

    def test_nothing_to_probe(self, features, tmp_path):
        rows = dict(features.rows) | {"label": np.full(len(features), -1)}
        unlabelled = write_features(tmp_path / "f", rows, {"mel": features.matrix("mel")})
        with pytest.raises(ProbeError, match=r"no row of .* has a label"):
            plan_probes(unlabelled, tmp_path / "p", config=config())
        empty = write_features(tmp_path / "g", features.rows, {})
        with pytest.raises(ProbeError, match="no site that is there for every row"):
            plan_probes(empty, tmp_path / "p", config=config())

    def test_rows_without_a_label_are_left_out(self, tmp_path):
        features = planted(tmp_path / "f", categories=("volume",))
        rows = dict(features.rows)
        rows["label"] = np.where(np.arange(len(rows["id"])) % 8 < 4, rows["label"], -1)
        half = write_features(tmp_path / "g", rows, {"text.2": features.matrix("text.2")})
        table = plan_probes(half, tmp_path / "p", config=config()).predict("volume", "text.2")
        assert set(table["n_train"].to_pylist()) == {36 * 4}
        assert set(table["label"].to_pylist()) == {True, False}

    def test_rows_without_any_source_count_each_for_itself(self, tmp_path):
        features = planted(tmp_path / "f", categories=("volume",))
        rows = dict(features.rows) | {"source_id": [""] * len(features)}
        alone = write_features(tmp_path / "g", rows, {"text.2": features.matrix("text.2")})
        table = plan_probes(alone, tmp_path / "p", config=config()).predict("volume", "text.2")
        assert table["source_id"].to_pylist() == table["id"].to_pylist()

    def test_other_settings_or_features_want_another_folder(self, features, tmp_path):
        plan_probes(features, tmp_path / "p", config=config())
        with pytest.raises(ProbeError, match=r"probes: settings\.n_controls 1, now 2"):
            plan_probes(features, tmp_path / "p", config=config(n_controls=2))
        other = planted(tmp_path / "f", model={"name": "other"})
        with pytest.raises(ProbeError, match="another set of probes: features"):
            plan_probes(other, tmp_path / "p", config=config())

    def test_a_folder_of_something_else_is_left_alone(self, features, tmp_path):
        (tmp_path / "p").mkdir()
        (tmp_path / "p" / "thesis.tex").touch()
        with pytest.raises(ProbeError, match="holds something that is no set of probes"):
            plan_probes(features, tmp_path / "p", config=config())
        assert [path.name for path in (tmp_path / "p").iterdir()] == ["thesis.tex"]

    def test_more_memory_than_allowed(self, features, tmp_path):
        study = plan_probes(features, tmp_path / "p", config=config())
        with pytest.raises(ProbeError, match=r"need .* GiB, more than .* --memory-gib.*--no-ridge"):
            study.train(memory_bytes=10_000)

    @pytest.mark.parametrize("content", ["empty", "torn", "foreign", "no rows"])
    def test_a_file_that_holds_no_predictions_is_named(self, tmp_path, content):
        path = tmp_path / "predictions" / "volume" / "mel.parquet"
        path.parent.mkdir(parents=True)
        table = {"foreign": pa.table({"a": [1]})}.get(content, PREDICTIONS.empty_table())
        pq.write_table(table, path)
        size = {"empty": 0, "torn": 200}.get(content)
        path.write_bytes(path.read_bytes()[:size])
        with pytest.raises(ProbeError, match=r"mel\.parquet holds no predictions"):
            prediction_files(tmp_path)

    @pytest.mark.parametrize(
        "changed",
        [
            {"learning_rate": np.nan},
            {"learning_rate": 1e30},
            {"weight_decay": np.nan},
            {"weight_decay": np.inf},
        ],
    )
    def test_a_recipe_that_cannot_be(self, changed):
        with pytest.raises(ProbeError, match="the learning rate must be above 0 and at most 1000"):
            ProbeRecipe(**changed)

    @pytest.mark.parametrize(
        ("changed", "named"),
        [
            ({"split": "by clip"}, "no split named 'by clip'"),
            ({"seeds": ()}, "seeds must be"),
            ({"seeds": (1, 1)}, "each once"),
            ({"seeds": (-1,)}, "from 0"),
            ({"n_controls": -1}, "-1 controls"),
        ],
    )
    def test_settings_that_cannot_be(self, changed, named):
        with pytest.raises(ProbeError, match=named):
            config(**changed)
