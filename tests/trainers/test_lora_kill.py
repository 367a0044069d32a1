"""`trainers.lora` in processes of its own: killed, started again, and shared out for real."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiny
from safetensors.torch import load_file

from otoscope.audits.splits import open_splits
from otoscope.models.opening import open_model
from otoscope.representations.extraction import plan_extraction
from otoscope.representations.hidden_states import extractor_for
from tests.audits.tiny_dataset import clip, full_row, write
from tests.representations.folder import files

ROOT = Path(__file__).parents[2]
MOST_S = 300
N = 36

pytestmark = pytest.mark.slow

ACCELERATE = [str(Path(sys.executable).with_name("accelerate")), "launch"]
PLAIN = ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--module"]
LAUNCHERS = {
    "python": [sys.executable, "-m"],
    "one": [*ACCELERATE, "--num_processes", "1", *PLAIN],
    "two": [*ACCELERATE, "--multi_gpu", "--num_processes", "2", *PLAIN],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A tiny model, 36 clips of nine sources, and their states."""
    folder = tmp_path_factory.mktemp("lora")
    tiny.save(tiny.qwen2_audio(), folder / "tiny", scale=1.0)
    rows = [
        full_row(i) | {"audio": clip(i, n_samples=4000), "source_id": f"s{i // 4}"}
        for i in range(N)
    ]
    data = write(folder / "data", {"all": {"train": rows}})
    splits, seen = open_splits(data), extractor_for(open_model(f"transformers:{folder / 'tiny'}"))
    plan = plan_extraction(
        seen, splits.rows, splits.fill, ["answer"], folder / "features", prompt="main"
    )
    plan.run(lambda n: None)
    return folder


def started(place, out, launcher="python", scope="all_linear", states=False, epochs=2):
    learnt = ("--features", "features") if states else ("--dataset", "data")
    added = {
        "PYTHONPATH": str(ROOT), "HF_DATASETS_CACHE": str(place / "hf"), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    return subprocess.Popen(
        [
            *LAUNCHERS[launcher], "trainers.lora", "--model", "transformers:tiny", "--category",
            "volume", *learnt, "--scope", scope, "--out", out, "--epochs", str(epochs),
            "--checkpoint-every", "1", "--learning-rate", "0.01",
        ],
        env=os.environ | added, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=place,
    )  # fmt: skip


def ended(process):
    output, errors = process.communicate(timeout=MOST_S)
    assert process.returncode == 0, output + errors
    return output


@pytest.fixture(scope="module")
def whole(place):
    """What one process makes that nothing happens to."""
    assert "4 steps; the right answer" in ended(started(place, "whole", "one"))
    return files(place / "whole")


def kill_at(process, folder, step):
    """Kills without a word once a checkpoint of this step is there."""
    deadline = time.monotonic() + MOST_S
    while not list(folder.glob(f".training/step-{step:08d}-*.pt")):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_killed_twice_and_started_again_it_ends_the_same_to_the_last_bit(place, whole):
    for step in (1, 2):
        kill_at(started(place, "killed"), place / "killed", step)
    (place / "killed" / ".training" / "step-00000009.partial").write_bytes(b"half")
    output = ended(started(place, "killed"))
    assert "step-00000009.partial is incomplete and is skipped" in output
    assert files(place / "killed") == whole


def test_two_processes_that_accelerate_starts_make_the_weights_of_one(place, whole):
    output = ended(started(place, "two", "two"))
    assert output.count("4 steps; the right answer") == 1, "only the first process prints"
    assert files(place / "two") == whole
    weights = load_file(place / "two" / "adapter_model.safetensors")
    assert all(weight.abs().max() > 0 for weight in weights.values())


def test_two_that_are_killed_go_on_as_one(place, whole):
    process = started(place, "mixed", "two")
    deadline = time.monotonic() + MOST_S
    while not list((place / "mixed").glob(".training/step-00000001-*.pt")):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.terminate()  # the launcher ends its own
    process.communicate()
    assert not (place / "mixed" / "training.json").exists()
    ended(started(place, "mixed"))
    assert files(place / "mixed") == whole


def test_from_states_killed_and_ended_by_two_it_ends_the_same(place):
    options = {"scope": "lm_head", "states": True, "epochs": 40}
    ended(started(place, "states-whole", "one", **options))
    kill_at(started(place, "states-killed", **options), place / "states-killed", 20)
    output = ended(started(place, "states-killed", "two", **options))
    assert "only the first process trains an output layer" in output
    assert files(place / "states-killed") == files(place / "states-whole")
