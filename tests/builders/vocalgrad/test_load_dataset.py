"""`load_dataset("vocalgrad")` from the parent folder, in a process with no network."""

import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile
from scipy import signal

from builders.building.folder import BuildError
from builders.vocalgrad.pages.card import configs_of
from tests.builders.tiny_corpus import TWO, built_from, one_beep, planned, speak
from tests.builders.vocalgrad.test_rows import COLUMNS

SPLITS = ("test", "train", "validation")


def load_in_parent_of(folder, hf_home, *configs):
    """What a new process sees that runs in the folder above and calls `load_dataset(NAME)`."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "OTOSCOPE"))}
    environment |= {"HF_HOME": str(hf_home), "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("offline_loader.py")), *configs],
        cwd=folder.parent, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    speech = speak(tmp_path_factory.mktemp("speech"), n=4)
    (speech / "metadata.csv").write_text(
        "file_name,speaker_id,split\nclip0.wav,a,test\nclip1.wav,b,test\n"
        "clip2.wav,c,train\nclip3.wav,d,validation\n"
    )
    beeps = one_beep(tmp_path_factory.mktemp("beeps"))
    out = tmp_path_factory.mktemp("hub") / "vocalgrad"
    return built_from(speech, out, beeps=beeps, splits=SPLITS)


@pytest.fixture(scope="module")
def loaded(built, tmp_path_factory):
    return load_in_parent_of(built.folder, tmp_path_factory.mktemp("hf"))


def on_disk(folder, configs, split):
    """Id, transcript, label, length, rate and hash of every row, from the Parquet files."""
    rows = []
    for config in configs:
        for path in sorted((folder / config).glob(f"{split}-*.parquet")):
            for row in pq.read_table(path).to_pylist():
                data = row["audio"]["bytes"]
                info = soundfile.info(io.BytesIO(data))
                digest = hashlib.sha256(data).hexdigest()
                cells = [row["id"], row["transcript"], row["label"]]
                rows.append([*cells, info.frames, info.samplerate, digest])
    return rows


def test_every_config_and_split_is_there(loaded):
    wanted = {f"{config}/{split}" for config in ("all", *TWO, "source") for split in SPLITS}
    assert set(loaded["configs"]) == wanted | {"beep/test"}


def test_every_row_arrives_in_order_streamed_or_not(built, loaded):
    for name, found in loaded["configs"].items():
        config, split = name.split("/")
        parts = TWO if config == "all" else (config,)
        wanted = on_disk(built.folder, parts, split)
        assert found["rows"] == wanted, name
        assert found["streamed"] == wanted, name
    n_rows = {name: len(found["rows"]) for name, found in loaded["configs"].items()}
    assert n_rows["all/test"] == 2 * 2 * 24
    assert n_rows["all/train"] == n_rows["all/validation"] == 2 * 24
    assert (n_rows["source/test"], n_rows["beep/test"]) == (2, 2 * 24)


def test_all_is_what_one_gets_without_asking(loaded):
    assert loaded["default"] == loaded["configs"]["all/test"]["rows"]


def test_the_example_of_the_card_reads_the_first_row(built, loaded):
    first, *_ = on_disk(built.folder, TWO[:1], "test")
    assert loaded["card"] == first[3:5]


def test_columns_survive_the_way_through_the_library(loaded):
    for name, found in loaded["configs"].items():
        assert found["columns"] == COLUMNS
        assert found["label_names"] == ["decrease", "increase"]
        assert found["sampling_rate"] == (48_000 if name.startswith("beep") else 16_000)
        assert found["same_features"]


def test_sources_have_no_label_and_clips_have_one(loaded):
    assert {row[2] for row in loaded["configs"]["source/test"]["rows"]} == {None}
    assert {row[2] for row in loaded["configs"]["all/test"]["rows"]} == {0, 1}


@pytest.mark.slow
def test_a_rebuilt_folder_gives_its_new_rows(tmp_path):
    """The library names its cache by the README alone, which therefore must tell builds apart.

    Here two builds differ in one letter of a transcript, and in no count and no size.
    """
    speech = speak(tmp_path / "speech", n=1)
    out, moved = tmp_path / "hub" / "vocalgrad", tmp_path / "elsewhere" / "vocalgrad"
    sizes = set()
    for folder, transcript in ((out, "Then."), (out, "Than."), (moved, "Thin.")):
        (speech / "metadata.csv").write_text(f"file_name,text\nclip0.wav,{transcript}\n")
        built = built_from(speech, folder, categories=["volume"], overwrite=True)
        sizes.add(tuple(file["bytes"] for file in built.files.values()))
        loaded = load_in_parent_of(folder, tmp_path / "hf", "volume")
        assert loaded["configs"]["volume/test"]["rows"] == on_disk(folder, ["volume"], "test")
        assert {row[1] for row in loaded["default"]} == {transcript}
    assert len(sizes) == 1


@pytest.mark.slow
def test_a_category_the_profile_makes_nothing_of_is_no_config(tmp_path):
    """Nobody speaks in the test split, so pitch has clips for training only."""
    speech = tmp_path / "speech"
    speech.mkdir()
    hiss = np.random.default_rng(0).standard_normal(20_000) * 0.1
    hiss[:4_000] *= 0.01
    hum = 0.2 * signal.sawtooth(2 * np.pi * 120 * np.arange(20_000) / 16_000)
    hum[:4_000] = hiss[:4_000]
    soundfile.write(speech / "hiss.wav", hiss, 16_000)
    soundfile.write(speech / "hum.wav", hum, 16_000)
    (speech / "metadata.csv").write_text(
        "file_name,speaker_id,split,onset_sec,offset_sec\n"
        "hiss.wav,a,test,0.3,1.2\nhum.wav,b,train,0.3,1.2\n"
    )
    options = {"categories": ["voice_pitch", "volume"], "profile": "controlled"}

    out = tmp_path / "both" / "vocalgrad"
    built_from(speech, out, splits=("test", "train"), **options)
    found = load_in_parent_of(out, tmp_path / "hf")["configs"]
    assert {name: len(config["rows"]) for name, config in found.items()} == {
        "all/test": 24, "all/train": 48, "voice_pitch/train": 24, "volume/test": 24,
        "volume/train": 24, "source/test": 1, "source/train": 1,
    }  # fmt: skip

    out = tmp_path / "test" / "vocalgrad"
    built = built_from(speech, out, **options)
    assert configs_of(built.build, built.plan) == {
        "all": ["volume"], "volume": ["volume"], "source": ["source"],
    }  # fmt: skip
    found = load_in_parent_of(out, tmp_path / "hf")["configs"]
    assert set(found) == {"all/test", "volume/test", "source/test"}
    with pytest.raises(BuildError, match=r"makes nothing of these sources.*no voiced frame"):
        planned(speech, categories=["voice_pitch"], profile="controlled")
