"""One build is made with one set of library versions, whoever makes its shards."""

from dataclasses import replace

import numpy
import pytest

from builders.building.folder import BuildError
from builders.building.libraries import check_libraries, library_versions
from builders.building.workers import run
from builders.vocalgrad.rendering.rows import RECIPE
from tests.builders.tiny_corpus import planned, speak


def test_versions_are_those_of_this_process():
    assert library_versions(["numpy"]) == (f"numpy {numpy.__version__}",)
    check_libraries(library_versions(["numpy", "datasets", "libsndfile"]))


@pytest.mark.parametrize("num_proc", [1, 2])
def test_a_worker_with_other_versions_makes_nothing(tmp_path, num_proc):
    plan, _, _ = planned(speak(tmp_path / "speech", n=1))
    other = replace(plan, libraries=("numpy 1.0", "no-such-library 3", *plan.libraries[1:]))
    with pytest.raises(
        BuildError,
        match=rf"numpy {numpy.__version__} where the plan has numpy 1.0; "
        r"no-such-library \(absent\) where the plan has no-such-library 3; .*install the plan's",
    ):
        run(RECIPE, other, [0, 1], tmp_path / "out", num_proc=num_proc)
    assert not (tmp_path / "out").exists()
