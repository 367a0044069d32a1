"""Features on disk: what is written is what is read, and nothing else is."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from otoscope.representations.features import Features, FeaturesError, write_features


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return {
        "text.0": rng.standard_normal((10, 4)).astype(np.float16),
        "audio.1": rng.standard_normal((10, 6)).astype(np.float32),
    }


def rows(n=10):
    return {
        "id": [f"item {i}" for i in range(n)],
        "category": ["volume", "echo"] * (n // 2),
        "label": [i % 2 for i in range(n)],
        "source_id": [f"s{i // 2}" for i in range(n)],
    }


def written(folder, arrays, **more):
    return write_features(folder, rows(), arrays, rows_per_block=4, **more)


class TestReading:
    def test_what_is_written_is_read_in_the_precision_it_had(self, tmp_path, arrays):
        features = written(tmp_path, arrays, model="mine", prompt="main")
        assert features.sites == ["text.0", "audio.1"]
        for site, states in arrays.items():
            read = features.matrix(site)
            assert read.dtype == states.dtype
            np.testing.assert_array_equal(read, states)
            assert features.width(site) == states.shape[1]
        assert features.description["model"] == "mine"
        assert len(features) == 10

    def test_rows_come_by_mask_or_by_number_in_the_requested_order(self, tmp_path, arrays):
        features = written(tmp_path, arrays)
        echo = features.rows["category"] == "echo"
        np.testing.assert_array_equal(features.matrix("text.0", echo), arrays["text.0"][1::2])
        positions = np.array([9, 0, 5])
        np.testing.assert_array_equal(
            features.matrix("text.0", positions), arrays["text.0"][positions]
        )

    def test_columns_of_rows_are_arrays_and_missing_values_are_empty(self, tmp_path, arrays):
        found = written(tmp_path, arrays).rows
        assert found["source_id"].tolist()[:3] == ["s0", "s0", "s1"]
        assert found["label"].tolist()[:3] == [0, 1, 0]
        assert set(found["tier"]) == {""}

    def test_a_row_that_names_no_source_is_one_of_its_own(self, tmp_path, arrays):
        given = rows() | {"source_id": ["s0", None, *[""] * 8]}
        found = write_features(tmp_path, given, arrays).rows["source_id"]
        assert found.tolist()[:3] == ["s0", "item 1", "item 2"]

    def test_answers_come_token_by_token(self, tmp_path, arrays):
        answers = [
            (np.full((1 + i % 2, 3), i, np.float32), np.arange(1 + i % 2)) for i in range(10)
        ]
        features = written(tmp_path, arrays, answers=answers)
        targets = features.targets(np.array([3, 0]))
        assert targets.row.tolist() == [0, 0, 1]
        assert targets.tokens.tolist() == [0, 1, 0]
        np.testing.assert_array_equal(targets.states, [[3, 3, 3], [3, 3, 3], [0, 0, 0]])
        assert targets.states.dtype == np.float32
        with pytest.raises(FeaturesError, match="targets"):
            features.matrix("answer")


READING = """
import re, sys
from pathlib import Path
from otoscope.representations.features import Features

def kib(name):
    return int(re.search(name + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text()).group(1))

features = Features.open(sys.argv[1])
before = kib("VmRSS")
states = features.matrix("text.2")
print((kib("VmHWM") - before) * 1024 / states.nbytes)
"""


@pytest.mark.slow
def test_reading_one_site_takes_the_memory_of_that_site(tmp_path):
    states = np.ones((2048, 16384), np.float16)  # 64 MiB, in 32 blocks
    given = {"id": range(2048), "category": ["volume"] * 2048, "label": [0] * 2048}
    sites = {f"text.{k}": states for k in range(4)}
    write_features(tmp_path, given, sites, rows_per_block=64)
    result = subprocess.run(
        [sys.executable, "-c", READING, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert 0.9 < float(result.stdout) < 1.2


class TestRefusals:
    def test_an_absent_site_is_named_with_those_that_exist(self, tmp_path, arrays):
        features = written(tmp_path, arrays)
        with pytest.raises(FeaturesError, match=r"no site 'text.9'; it has text.0, audio.1"):
            features.matrix("text.9")

    def test_a_folder_without_features(self, tmp_path):
        with pytest.raises(FeaturesError, match="holds no features"):
            Features.open(tmp_path)

    def test_a_cache_of_another_version(self, tmp_path, arrays):
        written(tmp_path, arrays)
        about = tmp_path / "features.json"
        about.write_text(about.read_text().replace('"version": 1', '"version": 0'))
        with pytest.raises(FeaturesError, match="version 0, now 1"):
            Features.open(tmp_path)

    def test_features_of_another_prompt_or_model(self, tmp_path, arrays):
        written(tmp_path, arrays, prompt="main", model={"name": "a", "revision": "1"})
        with pytest.raises(FeaturesError, match="prompt 'main', now 'audio_ref'"):
            Features.open(tmp_path, prompt="audio_ref")
        with pytest.raises(FeaturesError, match=r"model\.revision '1', now '2'"):
            Features.open(tmp_path, model={"name": "a", "revision": "2"})
        Features.open(tmp_path, prompt="main")

    def test_a_block_that_is_missing(self, tmp_path, arrays):
        written(tmp_path, arrays)
        next(tmp_path.glob("blocks/00001-*/*.arrow")).unlink()
        features = Features.open(tmp_path)
        assert features.sites == []
        with pytest.raises(FeaturesError, match="there for 2 of 3 blocks"):
            features.matrix("text.0")

    def test_a_mask_of_another_length(self, tmp_path, arrays):
        with pytest.raises(FeaturesError, match=r"mask of shape \(3,\) for 10 rows"):
            written(tmp_path, arrays).matrix("text.0", np.array([True, False, True]))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"label": [0]}, "there are 10 rows, but of other lengths are {'label': 1}"),
            ({"label": None}, r"rows lack the column\(s\) \['label'\]"),
        ],
    )
    def test_rows_that_do_not_fit(self, tmp_path, arrays, change, message):
        given = {name: column for name, column in (rows() | change).items() if column is not None}
        with pytest.raises(FeaturesError, match=message):
            write_features(tmp_path, given, arrays)

    def test_what_float16_cannot_hold(self, tmp_path):
        with np.errstate(over="ignore"):
            beyond = np.full((10, 2), 7e4).astype(np.float16)
        with pytest.raises(FeaturesError, match=r"site 'text.0' holds numbers .* in float16"):
            written(tmp_path, {"text.0": beyond})

    @pytest.mark.parametrize("fault", [np.nan, -np.inf])
    def test_answers_that_are_not_finite(self, tmp_path, fault):
        given = {"id": ["a"], "category": ["volume"], "label": [0]}
        states = np.array([[1, fault]], np.float32), np.zeros(1)
        with pytest.raises(FeaturesError, match="'answer' holds numbers that are not finite"):
            write_features(tmp_path, given, {}, answers=[states])

    def test_a_folder_that_is_taken(self, tmp_path, arrays):
        written(tmp_path, arrays)
        with pytest.raises(FeaturesError, match="holds features already"):
            written(tmp_path, arrays)


def test_rows_without_their_columns_are_named(tmp_path, arrays):
    written(tmp_path, arrays)
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "rows.parquet")
    with pytest.raises(FeaturesError, match=r"rows\.parquet: it lacks category, label"):
        Features.open(tmp_path)


@pytest.mark.parametrize("changed", ["null", "0", '"x"', "[]"])
def test_a_block_size_that_is_none_is_named(tmp_path, arrays, changed):
    written(tmp_path, arrays)
    about = tmp_path / "features.json"
    stored = json.loads(about.read_text())
    about.write_text(json.dumps(stored | {"rows_per_block": json.loads(changed)}))
    with pytest.raises(FeaturesError, match=r"features\.json: rows_per_block is"):
        Features.open(tmp_path)
    del stored["rows_per_block"]
    about.write_text(json.dumps(stored))
    with pytest.raises(FeaturesError, match=r"features\.json: rows_per_block is None"):
        Features.open(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xffjunk"])
@pytest.mark.parametrize("pattern", ["rows.parquet", "blocks/*/*.arrow"])
def test_a_damaged_file_is_named(tmp_path, arrays, pattern, content):
    written(tmp_path, arrays)
    path = sorted(tmp_path.glob(pattern))[0]
    path.write_bytes(content)
    with pytest.raises(FeaturesError, match=path.name):
        Features.open(tmp_path).matrix("text.0")
