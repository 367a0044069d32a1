"""Loading a metric from its folder, with no network and nothing left behind."""

import socket
import sys
from pathlib import Path

import evaluate
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def modules_folder(tmp_path_factory):
    """Where evaluate copies metrics to: one package, which Python imports only once."""
    folder = tmp_path_factory.mktemp("modules")
    for name in [name for name in sys.modules if name.split(".")[0] == "evaluate_modules"]:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture
def load_metric(modules_folder, tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise AssertionError("a metric must not reach for the network")

    monkeypatch.setattr(socket.socket, "connect", fail)
    monkeypatch.setattr(evaluate.config, "HF_MODULES_CACHE", str(modules_folder))
    monkeypatch.setattr(evaluate.config, "HF_METRICS_CACHE", str(tmp_path))
    return lambda name: evaluate.load(str(ROOT / "metrics" / name))
