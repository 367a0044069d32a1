"""The library's own builder class gives the rows of the folder."""

import warnings

import pyarrow.parquet as pq
import pytest
from datasets import Audio

from builders.vocalgrad.planning.plan import GENERATOR_VERSION
from builders.vocalgrad.rendering.arrow_builder import VocalGrad
from tests.builders.tiny_corpus import TWO, built_from, one_beep, planned, speak


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    speech = speak(tmp_path_factory.mktemp("speech"), n=3)
    (speech / "metadata.csv").write_text(
        "file_name,split\nclip0.wav,test\nclip1.wav,test\nclip2.wav,train\n"
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("builders.vocalgrad.planning.plan.MAX_SOURCES_PER_SHARD", 1)
        return built_from(
            speech, tmp_path_factory.mktemp("out") / "vocalgrad", splits=("test", "train"),
            beeps=one_beep(tmp_path_factory.mktemp("beeps")),
        )  # fmt: skip


def rows_through_the_library(built, config, cache, split="test", **options):
    builder = VocalGrad(config_name=config, plan=built.plan, cache_dir=str(cache))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library's own processes
        builder.download_and_prepare(**options)
    return builder, builder.as_dataset(split).cast_column("audio", Audio(decode=False)).to_list()


def rows_of_folder(built, configs, split="test"):
    paths = [
        path for c in configs for path in sorted((built.folder / c).glob(f"{split}-*.parquet"))
    ]
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


@pytest.mark.parametrize("config", ["all", "volume", "source", "beep"])
def test_the_rows_of_the_folder(built, tmp_path, config):
    builder, rows = rows_through_the_library(built, config, tmp_path)
    assert rows == rows_of_folder(built, TWO if config == "all" else [config])
    assert builder.info.features["label"].names == ["decrease", "increase"]
    assert builder.info.version == f"{GENERATOR_VERSION}.0.0"
    splits = ["test"] if config == "beep" else ["test", "train"]
    assert list(builder.info.splits) == splits


def test_two_processes(built, tmp_path):
    _, one = rows_through_the_library(built, "all", tmp_path / "one")
    _, two = rows_through_the_library(built, "all", tmp_path / "two", num_proc=2)
    assert two == one


def test_another_plan_is_another_cache(built, tmp_path):
    builder, first = rows_through_the_library(built, "volume", tmp_path)
    root = built.plan.sources[0].source.path.parent
    other = built._replace(planned=planned(root, limit_sources=1))
    second_builder, second = rows_through_the_library(other, "volume", tmp_path)
    assert builder.cache_dir != second_builder.cache_dir
    assert len(second) == 24 != len(first)


def test_an_unknown_config(built, tmp_path):
    with pytest.raises(ValueError, match=r"no config 'echo' in this plan; there are .*'volume'"):
        VocalGrad(config_name="echo", plan=built.plan, cache_dir=str(tmp_path))


def test_no_config_beep_where_no_category_suits_a_tone(built, tmp_path):
    root = built.plan.sources[0].source.path.parent
    plan, _, _ = planned(root, categories=["echo"], beeps=one_beep(tmp_path / "beeps"))
    with pytest.raises(ValueError, match="no config 'beep'"):
        VocalGrad(config_name="beep", plan=plan, cache_dir=str(tmp_path))
