"""`trainers.extract` in processes of its own: killed, started again, and shared out for real."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tiny

from otoscope.representations.features import Features
from tests.audits.tiny_dataset import clip, rows, write
from tests.representations.folder import files

ROOT = Path(__file__).parents[2]
MOST_S = 240
N, BLOCK = 24, 4

pytestmark = pytest.mark.slow

MODEL = """
import os, time
import numpy as np

class Slow:
    sites = {"ear": 3}
    batch_size = 2
    description = {"kind": "slow"}

    def answer(self, questions):
        return []

    def states(self, questions, sites):
        with open(os.environ["CALLS"], "a") as file:
            file.write("".join(one.question.id + "\\n" for one in questions))
        time.sleep(0.05)
        return {"ear": np.array([one.audio_inputs[0].samples[:3] for one in questions])}
"""
TWO = ["--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
ONE = ["--num_processes", "1"]
PLAIN = ["--mixed_precision", "no", "--dynamo_backend", "no", "--module"]


@pytest.fixture
def place(tmp_path):
    write(tmp_path / "data", {"all": {"test": rows(N)}})
    (tmp_path / "slow_model.py").write_text(MODEL)
    (tmp_path / "calls").touch()
    return tmp_path


def started(place, *launcher, model="slow_model:Slow", sites="ear", out="features", options=()):
    added = {
        "PYTHONPATH": f"{place}{os.pathsep}{ROOT}", "CALLS": str(place / "calls"),
        "HF_DATASETS_CACHE": str(place / "hf"), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    return subprocess.Popen(
        [
            *(launcher or (sys.executable, "-m")), "trainers.extract", "--dataset",
            str(place / "data"), "--model", model, "--sites", sites, "--out", str(place / out),
            "--rows-per-block", str(BLOCK), *options,
        ],
        env=os.environ | added, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip


def ended(process):
    output, errors = process.communicate(timeout=MOST_S)
    assert process.returncode == 0, errors
    return output


def looked_at(place):
    return (place / "calls").read_text().split()


def test_killed_twice_and_started_again_it_loses_a_block_at_most(place):
    for n in (7, 15):
        process = started(place)
        deadline = time.monotonic() + MOST_S
        while len(looked_at(place)) < n:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    ended(started(place))
    # the first row once more for each start, to see how large all will be
    again = len(looked_at(place)) - N - 3
    assert 1 <= again <= 2 * BLOCK
    whole = place / "whole"
    ended(started(place, out="whole"))
    assert files(place / "features") == files(whole)
    assert not list(place.glob("features/blocks/*/tmp*"))
    assert Features.open(place / "features").matrix("ear").shape == (N, 3)


def test_two_processes_that_accelerate_starts_make_the_files_of_one(place):
    longer = [row | {"audio": clip(i, n_samples=4000)} for i, row in enumerate(rows(N))]
    write(place / "data", {"all": {"test": longer}})
    model = f"transformers:{tiny.save(tiny.qwen2_audio(), place / 'tiny')}"
    accelerate = [str(Path(sys.executable).with_name("accelerate")), "launch"]
    request = {"model": model, "sites": "mel,pre_llm,audio.last,text.*,answer"}
    one = started(place, *accelerate, *ONE, *PLAIN, out="one", **request)
    assert f"{N} of {N} rows extracted now\n" in ended(one)
    output = ended(started(place, *accelerate, *TWO, *PLAIN, out="two", **request))
    for rank in (0, 1):
        assert f"{N // 2} of {N // 2} rows extracted now by process {rank} of 2" in output
    assert files(place / "one") == files(place / "two")
    states = Features.open(place / "two").matrix("text.2").astype(np.float32)
    assert len(np.unique(states, axis=0)) == N, "each clip has states of its own"
