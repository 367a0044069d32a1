"""Every dataset of the table can be built from Python."""

from importlib import import_module

import pytest

from builders import DATASETS


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_every_dataset_has_its_builder(name):
    assert callable(import_module(DATASETS[name]).build)


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'bild'"):
        _ = import_module("builders.vocalgrad").bild
