"""A metric loads by path in a fresh process with an empty cache and no network."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = """
import json, socket
def fail(*arguments): raise AssertionError("reached for the network")
socket.socket.connect = socket.getaddrinfo = fail
import evaluate
metric = evaluate.load("metrics/direction_accuracy")
print(json.dumps(metric.compute(predictions=[None, "increase"], references=[1, 1])))
"""


@pytest.mark.slow
@pytest.mark.parametrize("offline", ["0", "1"])
def test_loads_with_an_empty_cache_and_no_network(tmp_path, offline):
    settings = {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": offline, "HF_EVALUATE_OFFLINE": offline}
    others = {name: os.environ[name] for name in os.environ if not name.startswith("HF_")}
    result = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=ROOT, env=others | settings, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    scores = json.loads(result.stdout)
    assert (scores["accuracy"], scores["n_parsed"]) == (0.5, 1)
    assert list(tmp_path.rglob("direction_accuracy.py"))
