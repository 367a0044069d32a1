"""The command `trainers.encoder_probe`: evidence of encoders for an audit of calls."""

import io
import json

import numpy as np
import pandas as pd
import pytest
import soundfile
import tiny_encoders
from outcomes import error_of, output_of
from typer.testing import CliRunner

from otoscope.audits.call_value.encoder_evidence import read_probe
from otoscope.audits.call_value.encoder_extraction import open_encoders, read_embeddings
from otoscope.audits.call_value.schema import CallValueError
from otoscope.audits.call_value.tables import read_call_tables
from otoscope.cli.errors import program
from tests.audits.tiny_dataset import write
from trainers.encoder_probe import encoder_probe, parse_seed_range

APP = program(encoder_probe)
RATE = 16_000
PITCH_HZ = {"low": 300, "mid": 900, "high": 2700}
LABELS = list(PITCH_HZ)


def tone(seed, label, seconds=0.3):
    """The bytes of a noisy tone."""
    rng = np.random.default_rng(seed)
    time = np.arange(int(seconds * RATE)) / RATE
    hz = PITCH_HZ[label] * rng.uniform(0.9, 1.1)
    samples = 0.2 * np.sin(2 * np.pi * hz * time) + 0.02 * rng.standard_normal(len(time))
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, RATE, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


def examples(split, n, first, *, shift=0):
    return [
        {
            "id": f"{split}-{i}", "audio": tone(first + i, LABELS[i % 3]), "task": "tones",
            "label": LABELS[(i + shift) % 3], "speaker_id": f"{split}{i // 2}",
        }
        for i in range(n)
    ]  # fmt: skip


def dataset(folder, *, shift=0):
    """`shift` gives held-out examples wrong labels."""
    splits = {
        "development": examples("development", 24, 0),
        "holdout": examples("holdout", 9, 100, shift=shift),
    }
    return write(folder, {"default": splits})


@pytest.fixture
def data(tmp_path):
    return dataset(tmp_path / "data")


def command(data, out, *options, encoders=("mfcc",), env=None):
    named = [part for name in encoders for part in ("--encoder", name)]
    named = ["--dataset", str(data), "--out", str(out), *named, *options]
    return CliRunner().invoke(APP, named, env=env)


def called(*given, **named):
    return output_of(command(*given, **named))


def predictions(out):
    return pd.read_parquet(out / "predictions.parquet")


class TestEvidence:
    def test_tones_are_recognised_in_both_splits(self, data, tmp_path):
        output = called(data, tmp_path / "out", "--fold-seeds", "7-8")
        assert "24 development and 9 held-out examples, 3 labels; 1 actions" in output
        found = predictions(tmp_path / "out")
        assert set(found["action"]) == {"mfcc_embedding_probe"}
        assert set(found["kind"]) == {"encoder"}
        gold = {f"{s}-{i}": LABELS[i % 3] for s in ("development", "holdout") for i in range(24)}
        assert (found["label"] == found["example_id"].map(gold)).mean() == 1
        main = found[found["fold_seed"].isna()]
        assert main["fold"].notna().sum() == 24
        assert main[main["fold"].isna()]["example_id"].str.startswith("holdout").all()
        assert found["fold_seed"].value_counts().to_dict() == {"7": 24, "8": 24}
        assert (found["conf"] == found["scores"].map(max)).all()
        assert (found["wall_s"] > 0).all()
        tables = read_call_tables([tmp_path / "out" / name for name in (
            "predictions.parquet", "examples.parquet")])  # fmt: skip
        assert tables.task == "tones"
        assert set(tables.examples["split"]) == {"development", "holdout"}
        assert tables.examples.loc["holdout-3", "cluster_id"] == "holdout1"

    def test_zero_shot_class_bias_score_probe_and_joint_ridge(self, data, tmp_path):
        clap = f"clap:{tiny_encoders.clap(tmp_path / 'clap')}"
        out = tmp_path / "out"
        called(data, out, encoders=("mfcc", clap))
        found = predictions(out)
        assert sorted(set(found["action"])) == [
            "clap_class_bias", "clap_embedding_probe", "clap_score_probe", "clap_zero_shot",
            "joint_ridge", "mfcc_embedding_probe",
        ]  # fmt: skip
        assert set(found[found["action"] == "clap_zero_shot"]["fold"]) == {"none"}
        timed = open_encoders(["mfcc", clap], ["high", "low", "mid"], 1)
        evidence = {name: read_embeddings(name, own, out) for name, own in timed.items()}
        for action, rows in found.groupby("action"):
            held_out = rows[rows["example_id"].str.startswith("holdout")]
            scores = read_probe(out, action).scores(evidence)[24:]
            assert np.stack(held_out["scores"]) == pytest.approx(scores)
        seconds = found[found["example_id"] == "holdout-0"].set_index("action")["wall_s"]
        assert seconds["joint_ridge"] == pytest.approx(
            seconds["mfcc_embedding_probe"] + seconds["clap_embedding_probe"]
        )

    def test_zero_shot_left_out_names_the_missing_audioset_label(self, data, tmp_path):
        ast = f"ast:{tiny_encoders.ast(tmp_path / 'ast', labels=('Low', 'Mid', 'Speech'))}"
        output = called(data, tmp_path / "out", encoders=(ast,))
        missing = "this AST has no class 'high', which would stand for the label 'high'"
        assert f"without ast_zero_shot, ast_class_bias, ast_score_probe: {missing}\n" in output
        record = json.loads((tmp_path / "out" / "evidence.json").read_text())
        assert record["encoders"]["ast"]["no_zero_shot"] == missing
        assert set(predictions(tmp_path / "out")["action"]) == {"ast_embedding_probe"}

    def test_held_out_labels_change_no_prediction(self, data, tmp_path):
        called(data, tmp_path / "a")
        called(dataset(tmp_path / "poisoned", shift=1), tmp_path / "b")
        clean, poisoned = (predictions(tmp_path / name) for name in "ab")
        columns = ["example_id", "action", "label", "fold"]
        assert clean[columns].equals(poisoned[columns])
        assert np.stack(clean["scores"]) == pytest.approx(np.stack(poisoned["scores"]), abs=1e-12)

    def test_the_record_pins_probes(self, data, tmp_path):
        out = tmp_path / "out"
        called(data, out)
        record = json.loads((out / "evidence.json").read_text())
        assert record["settings"] == {"n_folds": 5, "seed": 0, "fold_seeds": [], "C": 1.0}
        assert record["labels"] == ["high", "low", "mid"]
        about = record["probes"]["mfcc_embedding_probe"]
        assert about["columns"] == [["mfcc", "mfcc"]]
        path = out / "probes" / "mfcc_embedding_probe.npz"
        path.write_bytes(path.read_bytes() + b"more")
        with pytest.raises(CallValueError, match=r"not the file that evidence\.json names"):
            read_probe(out, "mfcc_embedding_probe")


class TestResuming:
    def test_a_second_call_changes_no_file(self, data, tmp_path):
        out = tmp_path / "out"
        called(data, out)
        before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
        assert "predictions of 1 actions for 33 examples" in called(data, out)
        assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}

    def test_tables_that_are_gone_are_written_again(self, data, tmp_path):
        out = tmp_path / "out"
        called(data, out)
        before = (out / "predictions.parquet").read_bytes()
        (out / "predictions.parquet").unlink()
        called(data, out)
        assert (out / "predictions.parquet").read_bytes() == before

    def test_other_settings_are_named(self, data, tmp_path):
        called(data, tmp_path / "out")
        error = error_of(command(data, tmp_path / "out", "--folds", "4"))
        assert "settings.n_folds 5, now 4" in error

    def test_processes_share_the_blocks_and_the_last_one_fits(self, tmp_path, monkeypatch):
        monkeypatch.setattr("otoscope.audits.call_value.encoder_extraction.ROWS_PER_BLOCK", 10)
        data, out = dataset(tmp_path / "data"), tmp_path / "out"
        env = {"WORLD_SIZE": "2"}
        first = called(data, out, env=env | {"RANK": "0"})
        assert "process 0 of 2 has encoded its share" in first
        assert not (out / "predictions.parquet").exists()
        called(data, out, env=env | {"RANK": "1"})
        called(data, tmp_path / "alone")
        columns = ["example_id", "label", "conf", "fold"]
        assert predictions(out)[columns].equals(predictions(tmp_path / "alone")[columns])

    def test_dry_run_writes_nothing(self, data, tmp_path):
        output = called(data, tmp_path / "out", "--dry-run")
        assert "mfcc_embedding_probe" in output
        assert not (tmp_path / "out").exists()


class TestBadInput:
    def test_clips_too_long_for_an_encoder(self, data, tmp_path):
        whisper = f"whisper:{tiny_encoders.whisper(tmp_path / 'whisper')}"
        row = {"id": "long", "audio": tone(1, "low", 2.5), "label": "low", "task": "tones"}
        splits = {"dev": examples("dev", 12, 0), "test": [*examples("test", 3, 50), row]}
        data = write(tmp_path / "long", {"default": splits})
        error = error_of(command(data, tmp_path / "out", encoders=(whisper,)))
        assert "1 clips are longer than the 2 s" in error
        assert "'long'" in error

    def test_two_encoders_of_one_name(self, data, tmp_path):
        error = error_of(command(data, tmp_path / "out", encoders=("mfcc", "mfcc")))
        assert "two encoders would both be called 'mfcc'" in error

    def test_more_folds_than_clusters(self, data, tmp_path):
        error = error_of(command(data, tmp_path / "out", "--folds", "13"))
        assert "there are 12" in error

    @pytest.mark.parametrize(
        "text", ["a", "3-", "2,2", "5-3", "1-99999999999999999999", "1-600,1000-1600"]
    )
    def test_seeds_that_are_none(self, text):
        with pytest.raises(CallValueError, match="--fold-seeds"):
            parse_seed_range(text)
