"""Builds from a VCTK of our own clips and of real ones, in both layouts, loaded offline."""

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from builders.building.shards import write_shard
from builders.corpora.vctk.opening import open_vctk
from builders.vocalgrad.pages.card import write_card
from builders.vocalgrad.planning.build_plan import plan_build
from builders.vocalgrad.planning.estimate import estimate
from builders.vocalgrad.rendering.rows import RECIPE, build
from tests.builders.own_vctk import LAYOUTS, write_own_vctk
from tests.builders.tiny_corpus import CONFOUNDS, OBSERVER, TinyBuild, contents
from tests.builders.vocalgrad.test_load_dataset import load_in_parent_of, on_disk
from tests.builders.vocalgrad.test_rows import COLUMNS

REAL = Path(__file__).parents[3].parent / "shared" / "data" / "real" / "vctk"
REASON = "an extra on recordings that lie beside the clone; none are there"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=[(o, n) for o in ("own clips", "real") for n in LAYOUTS])
def built(request, tmp_path_factory):
    origin, layout = request.param
    if origin == "real" and not REAL.is_dir():
        pytest.skip(REASON)
    root = REAL / layout
    if origin == "own clips":
        root = write_own_vctk(tmp_path_factory.mktemp("vctk"), layout)
    corpus = open_vctk(root, selection="all", splits=("test",))
    categories = None if layout == LAYOUTS[0] else ["speaking_speed", "voice_pitch", "echo"]
    wanted = plan_build(corpus, categories=categories, on_error="skip")
    out = tmp_path_factory.mktemp("hub") / "vocalgrad"
    built = build(wanted.plan, out, num_proc=2)
    write_card(built, wanted, OBSERVER, CONFOUNDS)
    return TinyBuild(built, wanted)


def test_all_of_it_is_there(built, request):
    plan = built.plan
    n = len(plan.sources)
    origin, _ = request.node.callspec.params["built"]
    assert n >= {"own clips": 6, "real": 8}[origin]
    assert estimate(plan).rows == {"all/test": n * 24 * len(plan.categories), "source/test": n}
    counted = Counter()
    for path, record in built.files.items():
        metadata = pq.read_metadata(built.folder / path)
        assert metadata.num_rows == record["rows"]
        assert (built.folder / path).stat().st_size < 100_000_000
        for i in range(metadata.num_row_groups):
            assert metadata.row_group(i).total_byte_size < 100_000_000
        counted[record["config"]] += metadata.num_rows
    assert counted == dict.fromkeys(plan.categories, n * 24) | {"source": n}


def test_every_config_loads_by_name(built, tmp_path):
    loaded = load_in_parent_of(built.folder, tmp_path / "hf")
    for name, found in loaded["configs"].items():
        config, split = name.split("/")
        wanted = on_disk(
            built.folder, built.plan.categories if config == "all" else (config,), split
        )
        assert found["rows"] == found["streamed"] == wanted, name
        assert found["columns"] == COLUMNS
    assert len(loaded["configs"]) == len(built.plan.categories) + 2


def test_the_bytes_do_not_depend_on_the_workers(built, tmp_path):
    """A part of it again, in this process."""
    part = built.plan.shards[0]
    write_shard(RECIPE, built.plan, 0, tmp_path)
    assert contents(tmp_path) == {
        path: (built.folder / path).read_bytes() for path in part.files.values()
    }
