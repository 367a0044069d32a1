"""`otoscope run labels` over a server that fails, killed with SIGKILL; and on a tiny model."""

import hashlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from otoscope.audits.journal import lost_calls, sent_calls
from otoscope.audits.runs import attempts, load_run
from otoscope.cli import app
from tests.audits.test_labels_audit import ANIMALS, folder
from tests.models.chat_server import ChatServer, Reply, completion, failure

ROOT = Path(__file__).parents[2]
MOST_S = 120
N = 2 * 12 * 4
CONCURRENCY = 4


def faulty(n, body, headers):
    """A right answer to most requests; to some an error, a torn body, or nothing that is JSON."""
    faults = {
        3: failure(500), 5: failure(429, Retry_After="0"), 7: Reply(completion("hen"), cut=True),
        11: Reply(raw=b"<html>bad gateway</html>", status=502),
    }  # fmt: skip
    return next((fault for nth, fault in faults.items() if n % 13 == nth), answer(body))


def answer(body):
    """One of the labels, by the request's own content."""
    return Reply(completion(ANIMALS[key(body)[0] % len(ANIMALS)]))


def key(body):
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest()


def started(place, server):
    added = {
        "PYTHONPATH": str(ROOT), "OTOSCOPE_CACHE": str(place / "cache"),
        "HF_DATASETS_CACHE": str(place / "hf"), "COLUMNS": "300", "OPENAI_API_KEY": "none",
    }  # fmt: skip
    return subprocess.Popen(
        [
            sys.executable, "-m", "otoscope.cli", "run", "labels", "--dataset", str(place / "data"),
            "--model", "openai:tiny-lalm", "--base-url", server.base_url, "--out",
            str(place / "run"), "--no-cache", "--backoff-s", "0.01", "--max-retries", "6",
            "--concurrency", str(CONCURRENCY), "--no-audio-input-check",
        ],
        env=os.environ | added, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=place,
    )  # fmt: skip


def n_answers(place):
    path = place / "run" / "answers" / "rank-000.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.slow
def test_killed_over_a_server_that_fails(tmp_path):
    folder(tmp_path / "data", n=12)
    with ChatServer(faulty, latency_s=0.03) as server:
        for least in (5, 30, 60):
            process = started(tmp_path, server)
            deadline = time.monotonic() + MOST_S
            while process.poll() is None and n_answers(tmp_path) < least:
                assert time.monotonic() < deadline
                time.sleep(0.005)
            assert process.poll() is None, process.communicate()
            process.send_signal(signal.SIGKILL)
            process.communicate()
            assert least <= n_answers(tmp_path) < N
        output, errors = started(tmp_path, server).communicate(timeout=MOST_S)
        assert f"{N} of {N} questions answered" in output, errors
        n_sent = len(server.bodies)
        again, _ = started(tmp_path, server).communicate(timeout=MOST_S)
        assert f"{N} of {N} questions answered, 0 now" in again
        assert len(server.bodies) == n_sent
        given = {key(body): ANIMALS[key(body)[0] % len(ANIMALS)] for body in server.bodies}
    found = load_run(tmp_path / "run")
    lines = list(attempts(tmp_path / "run"))
    assert Counter(found["status"]) == {"ok": N}
    assert Counter(line["question_id"] for line in lines) == dict.fromkeys(found["question_id"], 1)
    assert Counter(found["text"]).keys() <= set(given.values()) == set(ANIMALS)
    n_lost = len(lost_calls(sent_calls(tmp_path / "run"), lines))
    said = re.search(r"(\d+) requests were in flight at a kill: sent again", output)
    assert (int(said[1]) if said else 0) == n_lost <= 3 * 2 * CONCURRENCY  # half of them waiting
    n_faults = sum(n % 13 in (3, 5, 7, 11) for n in range(n_sent))
    assert N <= n_sent - n_faults <= N + min(n_lost, 3 * CONCURRENCY)


@pytest.mark.slow
def test_a_tiny_model_scores_labels(tmp_path, monkeypatch):
    from tests.models import tiny

    monkeypatch.setenv("OTOSCOPE_CACHE", str(tmp_path / "cache"))
    checkpoint = tiny.save(tiny.qwen2_audio(), tmp_path / "tiny")
    folder(tmp_path / "data", n=2, n_samples=4_000)
    options = ["--dataset", str(tmp_path / "data"), "--out", str(tmp_path / "run")]
    options += ["--model", f"transformers:{checkpoint}", "--label-scores", "--max-new-tokens", "4"]
    options += ["--prompt", "plain", "--prompt", "letters", "--batch-size", "4"]
    result = CliRunner().invoke(app, ["run", "labels", *options])
    assert result.exit_code == 0, result.output
    found = load_run(tmp_path / "run")
    assert len(found) == 8
    for stored in found["logprobs"]:
        scores = json.loads(stored)
        assert set(scores) == set(ANIMALS[:2])
        assert all(math.isfinite(score) and score <= 0 for score in scores.values())
        assert sum(map(math.exp, scores.values())) <= 1 + 1e-6
