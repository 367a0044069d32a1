"""`trainers.encoder_probe` in a process of its own: killed while it encodes or fits, resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from tests.representations.folder import files
from tests.trainers.test_encoder_probe import dataset

ROOT = Path(__file__).parents[2]
MOST_S = 240
N, BLOCK = 33, 4

pytestmark = pytest.mark.slow

# the real command, slowed down, with a clock that stands still and notes of what it did
COMMAND = """
import os, time
from types import SimpleNamespace
from otoscope.audits.call_value import encoder_evidence, encoder_extraction
from otoscope.cli.errors import program
from otoscope.representations.encoders import mfcc, timed
from trainers.encoder_probe import encoder_probe

def noted(work, seconds):
    def call(*given):
        found = work(*given)
        with open(os.environ["STEPS"], "a") as file:
            file.write(work.__name__ + "\\n")
        time.sleep(seconds)
        return found
    return call

encoder_extraction.ROWS_PER_BLOCK = 4
timed.time = SimpleNamespace(perf_counter=lambda: 0.0)
mfcc.MfccEncoder.frames = noted(mfcc.MfccEncoder.frames, 0.05)
encoder_evidence._write_probe = noted(encoder_evidence._write_probe, 1.0)
program(encoder_probe)()
"""


@pytest.fixture
def place(tmp_path):
    dataset(tmp_path / "data")
    (tmp_path / "command.py").write_text(COMMAND)
    (tmp_path / "steps").touch()
    return tmp_path


def started(place, out):
    added = {
        "PYTHONPATH": str(ROOT), "STEPS": str(place / "steps"),
        "HF_DATASETS_CACHE": str(place / "hf"), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    given = ["--dataset", str(place / "data"), "--encoder", "mfcc", "--fold-seeds", "1,2"]
    return subprocess.Popen(
        [sys.executable, str(place / "command.py"), *given, "--out", str(place / out)],
        env=os.environ | added, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip


def ended(process):
    _, errors = process.communicate(timeout=MOST_S)
    assert process.returncode == 0, errors


def steps(place, name):
    return (place / "steps").read_text().split().count(name)


def killed(place, name, n):
    """Kills the command once a step has been taken `n` times."""
    process = started(place, "out")
    deadline = time.monotonic() + MOST_S
    while steps(place, name) < n:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_killed_and_started_again_it_makes_the_files_of_an_unbroken_run(place):
    for n in (8, 20):
        killed(place, "frames", n)
        assert not (place / "out/predictions.parquet").exists()
    killed(place, "_write_probe", 1)
    assert "probes" not in json.loads((place / "out/evidence.json").read_text())
    encoded = steps(place, "frames")
    # each start that encodes: one clip once more, to see how large all will be, and one to warm up
    assert 0 <= encoded - N - 3 * 2 <= 2 * BLOCK
    ended(started(place, "out"))
    assert steps(place, "frames") == encoded, "nothing is encoded twice once all is"
    ended(started(place, "whole"))
    assert files(place / "out") == files(place / "whole")
    assert len(pd.read_parquet(place / "out/predictions.parquet")) == N + 2 * 24
