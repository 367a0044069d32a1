"""Tiny models are those of `tests/models`; nothing is read from the user's caches."""

import sys
from pathlib import Path

import datasets
import pytest

sys.path.append(str(Path(__file__).parents[1] / "models"))


@pytest.fixture(autouse=True)
def own_caches(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "datasets-cache")
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
