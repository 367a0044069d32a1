import datasets
import pytest


@pytest.fixture(autouse=True)
def own_caches(tmp_path, monkeypatch):
    """Nothing is read from the user's caches and nothing is left there."""
    monkeypatch.setenv("OTOSCOPE_CACHE", str(tmp_path / "otoscope-cache"))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "datasets-cache")
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
