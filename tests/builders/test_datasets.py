"""What every dataset of the table can do, whoever wrote it."""

from importlib import import_module

import pytest
from datasets import Audio, load_dataset

from builders import DATASETS
from builders.building.finished import FinishedBuild, open_build, stored_rows
from builders.corpora.folder import open_folder
from tests.builders.tiny_corpus import contents, leftovers, speak


def assert_is_a_dataset(name, corpus, tmp_path):
    """Plans, builds, finishes and loads it: the same bytes on one process and on two."""
    dataset = import_module(DATASETS[name])
    planned = dataset.plan_build(corpus)
    one = dataset.build(planned.plan, tmp_path / "one" / name)
    two = dataset.build(planned.plan, tmp_path / "two" / name, num_proc=2)
    assert isinstance(one, FinishedBuild)
    assert contents(one.folder) == contents(two.folder)
    assert dataset.build(planned.plan, one.folder).n_rows_made == 0
    assert dataset.finish(one, planned)
    assert leftovers(one.folder) == []
    again = open_build(one.folder)
    assert (again.files, again.outline) == (one.files, dict(one.outline))
    loaded = load_dataset(str(one.folder), cache_dir=str(tmp_path / "cache"))
    for config in again.configs:
        part = load_dataset(str(one.folder), config, cache_dir=str(tmp_path / "cache"))
        ids = [i for split in part.values() for i in split["id"]]
        assert len(set(ids)) == len(ids) > 0
        assert set(stored_rows(again, config, ids[:2])) == set(ids[:2])
    return {split: rows.cast_column("audio", Audio(decode=False)) for split, rows in loaded.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(DATASETS))
def test_every_dataset_keeps_the_contract(name, tmp_path):
    assert_is_a_dataset(name, open_folder(speak(tmp_path / "speech", n=1)), tmp_path)


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'bild'"):
        _ = import_module("builders.vocalgrad").bild
