"""The command `trainers.linear_probe`, on features of known accuracy."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from outcomes import error_of, output_of
from typer.testing import CliRunner

from otoscope.audits.perception import run
from otoscope.cli.errors import program
from otoscope.models.opening import open_model
from otoscope.representations.features import write_features
from tests.audits.tiny_dataset import rows, write
from tests.probes.planted import planted
from tests.representations.folder import files
from trainers.linear_probe import linear_probe

ROOT = Path(__file__).parents[2]
MOST_S = 240
APP = program(linear_probe)
QUICK = ("--epochs", "20", "--train-batch-size", "64", "--learning-rate", "0.03")
ACCELERATE = [str(Path(sys.executable).with_name("accelerate")), "launch", "--num_machines", "1",
              "--mixed_precision", "no", "--dynamo_backend", "no"]  # fmt: skip


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("features") / "f").folder


def command(features, out, *options):
    given = ["--features", str(features), "--out", str(out), *QUICK, *options]
    return CliRunner().invoke(APP, given)


def called(features, out, *options):
    """The output of a command that succeeded."""
    return output_of(command(features, out, *options))


def rejected(features, out, *options):
    """The command's one-line error."""
    return error_of(command(features, out, *options))


def accuracies(out, **values):
    """Site and category to accuracy, of the rows with these values."""
    table = pq.read_table(out / "probes.parquet").to_pylist()
    return {
        (row["site"], row["category"]): row["accuracy"]
        for row in table
        if all(row[k] == value for k, value in {"method": "probe", **values}.items())
    }


def test_the_table_finds_what_was_planted(features, tmp_path):
    output = called(features, tmp_path / "p", "--probe-split", "grouped", "--sites", "text.*")
    assert "6 of 6 categories and sites probed now" in output
    found = accuracies(tmp_path / "p")
    assert set(found) == {(f"text.{k}", c) for k in (0, 1, 2) for c in ("echo", "volume", "all")}
    assert found["text.0", "all"] == pytest.approx(0.5, abs=0.06)
    assert found["text.1", "all"] == pytest.approx(0.841, abs=0.05)
    assert found["text.2", "all"] > 0.95
    assert "## text, accuracy" in (tmp_path / "p" / "probes.md").read_text()


def test_again_and_with_another_site(features, tmp_path):
    out = tmp_path / "p"
    called(features, out, "--sites", "text.1")
    before = files(out)
    assert "0 of 2 categories" in called(features, out, "--sites", "text.1")
    assert files(out) == before
    assert "2 of 4 categories" in called(features, out, "--sites", "text.1,mel")
    assert {site for site, _ in accuracies(out)} == {"text.1", "mel"}


def test_the_last_of_two_processes_writes_the_tables(features, tmp_path, monkeypatch):
    called(features, tmp_path / "one", "--seeds", "1,2")
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in "10":
        monkeypatch.setenv("RANK", rank)
        output = called(features, tmp_path / "two", "--seeds", "1,2")
        assert f"4 of 4 categories and sites probed now by process {rank} of 2" in output
        assert (tmp_path / "two" / "probes.parquet").exists() == (rank == "0")
    assert files(tmp_path / "two") == files(tmp_path / "one")


def test_the_other_profile_is_tested(features, tmp_path):
    other = planted(tmp_path / "f", strength={"text.1": 0.0, "text.2": 8.0}, seed=5).folder
    called(features, tmp_path / "p", "--test-features", str(other), "--sites", "text.1,text.2")
    found = accuracies(tmp_path / "p")
    assert found["text.1", "all"] == pytest.approx(0.5, abs=0.1)
    assert found["text.2", "all"] > 0.95


class TestWithARun:
    """Predictions are joined with a run by item."""

    @pytest.fixture
    def tested_on(self, tmp_path):
        """A run that always says increase, and features that hold the label of its items."""
        items = rows(12)
        data = write(tmp_path / "data", {"all": {"test": items}})
        run(data, open_model("constant:increase"), out=tmp_path / "run")
        label = np.array(
            [{"decrease": 0, "increase": 1}.get(r["label"], r["label"]) for r in items]
        )
        columns = {
            "id": [row["id"] for row in items],
            "category": [row["category"] for row in items],
            "label": label,
            "source_id": [f"s{k // 4}" for k in range(12)],
            "split": ["test"] * 12,
        }
        states = np.float32(label)[:, None]
        about = {"model": {"kind": "constant"}, "prompt": "main"}
        made = write_features(tmp_path / "f", columns, {"text.0": states}, **about)
        return made.folder, tmp_path / "run"

    def test_what_is_decodable_and_not_answered(self, tested_on, tmp_path):
        features, answers = tested_on
        options = (
            "--probe-split",
            "grouped",
            "--folds",
            "3",
            "--run",
            str(answers),
            "--epochs",
            "99",
        )
        assert "joined with" in called(features, tmp_path / "p", *options)
        (row,) = pq.read_table(tmp_path / "p" / "encoded.parquet").to_pylist()
        # The probe is right about all; the answer about what rises, which is half.
        assert [row[n] for n in ("both", "only_probe", "only_answer", "neither")] == [6, 6, 0, 0]
        assert row["encoded_not_said"] == 0.5

    def test_another_prompt_is_rejected(self, tested_on, tmp_path):
        features, _ = tested_on
        other = tmp_path / "other"
        run(tmp_path / "data", open_model("constant:x"), out=other, prompts=["main_audio_first"])
        options = ("--probe-split", "grouped", "--folds", "3", "--run", str(other))
        output = rejected(features, tmp_path / "p", *options)
        assert "no answers to the prompt 'main'; its prompts: main_audio_first" in output
        assert (tmp_path / "p" / "probes.parquet").exists(), "what was trained is kept"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sites", "text.9"), "no site 'text.9'; "),
        (("--categories", "pitch"), "has no rows of category pitch; it has volume, echo"),
        (
            ("--probe-split", "by-clip"),
            "no split named 'by-clip'; there are published, grouped, speaker",
        ),
        (("--seeds", "one"), "--seeds are whole numbers separated by commas, not 'one'"),
        (("--probe-split", "grouped", "--folds", "99"), "99 folds of 50 sources; use fewer"),
        (("--memory-gib", "0.00001"), "allow it with --memory-gib"),
        (("--test-features", "nowhere"), "nowhere holds no features"),
        (("--epochs", "0"), "Invalid value for '--epochs'"),
        (("--memory-gib", "nan"), "Invalid value for '--memory-gib'"),
        (("--learning-rate", "nan"), "Invalid value for '--learning-rate'"),
        (("--weight-decay", "nan"), "Invalid value for '--weight-decay'"),
    ],
)
def test_invalid_options_are_one_line(features, tmp_path, options, message):
    assert message in rejected(features, tmp_path / "p", *options)


def test_features_that_are_not_there(tmp_path):
    assert "holds no features" in rejected(tmp_path / "nothing", tmp_path / "p")


def started(features, out, *launcher, options=()):
    return subprocess.Popen(
        [*launcher, "trainers.linear_probe", "--features", str(features), "--out", str(out),
         *QUICK, *options],
        env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=ROOT,
    )  # fmt: skip


def ended(process):
    output, complaints = process.communicate(timeout=MOST_S)
    assert process.returncode == 0, complaints
    return output


@pytest.mark.slow
def test_killed_and_started_again_it_ends_the_same(tmp_path):
    sites = {f"text.{k}": 0.5 for k in range(20)}
    features = planted(tmp_path / "f", strength=sites, width=300).folder
    plain = (sys.executable, "-m")
    options = ("--epochs", "100")
    process = started(features, tmp_path / "killed", *plain, options=options)
    deadline = time.monotonic() + MOST_S
    while len(list((tmp_path / "killed").glob("predictions/*/*.parquet"))) < 3:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    n_kept = len(list((tmp_path / "killed").glob("predictions/*/*.parquet")))
    assert 3 <= n_kept < 40
    output = ended(started(features, tmp_path / "killed", *plain, options=options))
    assert f"{40 - n_kept} of 40 categories and sites probed now" in output
    ended(started(features, tmp_path / "whole", *plain, options=options))
    assert files(tmp_path / "whole").items() <= files(tmp_path / "killed").items()


@pytest.mark.slow
def test_two_processes_that_accelerate_starts_make_the_files_of_one(features, tmp_path):
    one = [*ACCELERATE, "--num_processes", "1", "--module"]
    ended(started(features, tmp_path / "one", *one))
    two = [*ACCELERATE, "--multi_gpu", "--num_processes", "2", "--module"]
    output = ended(started(features, tmp_path / "two", *two))
    for rank in (0, 1):
        assert f"4 of 4 categories and sites probed now by process {rank} of 2" in output
    assert files(tmp_path / "one") == files(tmp_path / "two")
