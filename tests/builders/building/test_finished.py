"""A build read back from its folder, by someone who did not just build it."""

import json

import pytest

from builders.building.finished import open_build, stored_rows
from builders.building.folder import BuildError
from tests.builders.tiny_corpus import built_from, speak


@pytest.fixture
def built(tmp_path):
    return built_from(speak(tmp_path / "speech", n=1), tmp_path / "vocalgrad")


def test_all_that_the_builder_knew_is_there(built):
    found = open_build(built.folder)
    assert found.files == built.files
    assert found.outline == built.build.outline
    assert found.outline["profile"] == "paper"
    assert found.configs == {n: ["test"] for n in ("volume", "background_noise", "source")}
    assert found.n_rows_made == 0
    built.build.write_findings({"measured": [1, None]})
    assert found.findings == {"measured": [1, None]}


@pytest.mark.parametrize("content", [None, "{", "[]", "{}"])
def test_a_folder_without_a_plan(built, content):
    note = built.folder / ".otoscope" / "plan.json"
    note.unlink() if content is None else note.write_text(content)
    with pytest.raises(BuildError, match=r"vocalgrad holds no finished build: .*plan\.json is"):
        open_build(built.folder)
    with pytest.raises(BuildError, match="nowhere holds no finished build"):
        open_build(built.folder / "nowhere")


def test_a_build_that_is_not_finished(built):
    file = next(iter(built.files))
    data = (built.folder / file).read_bytes()
    (built.folder / file).write_bytes(data[:-1])
    with pytest.raises(BuildError, match=rf"{file} is gone or is not as it was written; run the"):
        open_build(built.folder)
    (built.folder / file).write_bytes(data)
    record = next((built.folder / ".otoscope" / "shards").iterdir())
    record.write_text(json.dumps(json.loads(record.read_text()) | {"plan": "another"}))
    with pytest.raises(BuildError, match="1 of 2 shards are complete; run the same build again"):
        open_build(built.folder)


def test_a_build_without_measurements(built):
    with pytest.raises(BuildError, match="holds no finished build with measurements"):
        _ = open_build(built.folder).findings


def test_a_damaged_file_that_is_read_is_named(built):
    path = built.folder / "volume" / "test-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(BuildError, match=rf"{path}: damaged \(.*\); run the same build again"):
        stored_rows(built.build, "volume", ["test-volume-x"])
