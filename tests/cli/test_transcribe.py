"""`otoscope transcribe`, end to end with a tiny Whisper, and killed at any moment."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from otoscope.cli import app
from tests.audits.tiny_dataset import clip, write
from tests.speech.tiny_whisper import save_tiny_whisper

ROOT = Path(__file__).parents[2]
MOST_S = 120


@pytest.fixture
def place(tmp_path):
    rows = {
        split: [
            {
                "id": f"{split}-{i}", "audio": clip(i + first), "label": ("cow", "hen")[i % 2],
                "text": "a b", "cluster_id": f"{split}-{i // 2}",
            }
            for i in range(12)
        ]
        for split, first in (("development", 0), ("holdout", 12))
    }  # fmt: skip
    write(tmp_path / "data", {"default": rows})
    save_tiny_whisper(tmp_path / "whisper")
    return tmp_path


def words(place, *more):
    return [
        "transcribe", "--dataset", str(place / "data"), "--recognizer",
        f"transformers:{place / 'whisper'}", "--device", "cpu", "--out", str(place / "out"), *more,
    ]  # fmt: skip


def test_a_dry_run_writes_nothing(place):
    result = CliRunner().invoke(app, words(place, "--labeller", "keywords", "--dry-run"))
    assert result.exit_code == 0, result.output
    assert "24 rows, 24 distinct clips" in result.output
    assert not (place / "out").exists()


def test_a_wrong_name_is_one_line(place):
    result = CliRunner().invoke(app, words(place, "--labeller", "keyword"))
    assert result.exit_code == 2
    assert "did you mean 'keywords'" in result.output


def test_rows_that_are_chosen(place):
    more = ("--dry-run", "--where", "label=cow", "--task", "esc50_animals")
    result = CliRunner().invoke(app, words(place, *more))
    assert result.exit_code == 2
    assert "a closed set needs two labels or more" in result.output
    more = ("--dry-run", "--where", "text=a c")
    result = CliRunner().invoke(app, words(place, *more))
    assert result.exit_code == 2
    assert "no row of development has text=a c; text is 'a b'" in result.output


def test_clips_of_a_folder(place):
    more = ("--labeller", "keywords", "--labeller", "matching", "--limit", "6", "--words")
    result = CliRunner().invoke(app, words(place, *more))
    assert result.exit_code == 0, result.output
    assert "12 transcripts" in result.output
    predictions = pd.read_parquet(place / "out" / "predictions.parquet")
    assert set(predictions["action"]) == {"transcript_keywords", "transcript_matching"}
    assert len(predictions) == 24


@pytest.mark.slow
def test_killed_and_started_again(place):
    command = [sys.executable, "-m", "otoscope.cli", *words(place, "--labeller", "keywords")]
    command += ["--batch-size", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HF_DATASETS_CACHE": str(place / "hf")}
    log = place / "out" / "transcripts.jsonl"
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    deadline = time.monotonic() + MOST_S
    while process.poll() is None and not (log.exists() and log.read_bytes().count(b"\n") > 2):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = log.read_bytes().splitlines()[:-1]
    subprocess.run(command, env=environment, check=True, timeout=MOST_S, stdout=subprocess.PIPE)
    after = log.read_bytes().splitlines()
    assert after[: len(before)] == before
    assert len(after) == 24
    assert len(pd.read_parquet(place / "out" / "predictions.parquet")) == 24
