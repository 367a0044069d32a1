"""Datasets by their Hub id, from a Hub on the loopback, each in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from otoscope.audits.runs import load_run
from tests.audits.published_layout import write_dataset
from tests.audits.tiny_dataset import row, rows, write
from tests.hub_server import Hub, files_of

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A VocalGrad of two commits that differ in labels, and the published layout."""
    folder = tmp_path_factory.mktemp("hub")
    with Hub() as hub:
        hub.commits = []
        for n, label in enumerate(("increase", "decrease")):
            clips = {"volume": {"test": [row(i, label=label) for i in range(2)]}}
            made = write(folder / str(n), clips | {"source": {"test": rows(1, "source")}})
            hub.commits.append(hub.commit("org/vocalgrad", files_of(made)))
        hub.commit("org/published", files_of(write_dataset(folder / "published")))
        (hub.published,) = hub.repositories["org/published"]
        yield hub


def call(hub, home, *arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=hub.environment(home), cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


def audit(hub, home, dataset, *more):
    fixed = ("-m", "otoscope.cli", "run", "perception", "--model", "constant:increase")
    return call(hub, home, *fixed, "--dataset", dataset, "--out", home / "run", *more)


@pytest.mark.parametrize(("nth", "label"), [(0, "increase"), (1, "decrease")])
def test_a_pinned_dataset_is_that_commit(hub, tmp_path, nth, label):
    done = audit(hub, tmp_path, f"org/vocalgrad@{hub.commits[nth]}")
    assert done.returncode == 0, done.stderr
    assert load_run(tmp_path / "run")["label"][:] == [label, label]


def test_only_the_clips_of_the_plan_are_downloaded(hub, tmp_path):
    dataset = ("org/published", "--revision", hub.published, "--limit-sources", 1)
    before = len(hub.requests)
    done = audit(hub, tmp_path, *dataset)
    assert done.returncode == 0, done.stderr
    run = load_run(tmp_path / "run")
    (source,) = set(run["source_id"])
    assert len(run) == 8
    calls = hub.requests[before:]
    fetched = {path for method, path in calls if method == "GET" and path.endswith(".wav")}
    assert len([path for path in fetched if source in path]) == 8
    assert len(fetched) <= 9  # the audio-input check compares with a clip of another source


@pytest.mark.parametrize(
    ("dataset", "complaint"),
    [
        ("org/vocalgrad", "is no folder here; a Hub repository needs --revision"),
        ("org/gone@" + "0" * 40, "org/gone@"),
        ("org/vocalgrad@" + "0" * 40, "org/vocalgrad@"),
    ],
)
def test_what_is_not_pinned_or_gone_is_one_line(hub, tmp_path, dataset, complaint):
    done = audit(hub, tmp_path, dataset)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("error: ")
    assert complaint in line
    assert not (tmp_path / "run").exists()


LOAD = """
import json, sys
from datasets import Audio, load_dataset
from otoscope.acoustics import read
ds = load_dataset("org/vocalgrad", "volume", split="test", revision=sys.argv[1])
ds = ds.cast_column("audio", Audio(decode=False))
print(json.dumps([ds["label"][:], len(read(ds[0])[0])]))
"""
CORPUS = """
import json, sys
from pathlib import Path
from builders.corpora.hub import open_dataset
for name, revision, split in json.loads(sys.argv[1]):
    corpus = open_dataset(
        name, revision=revision, from_split=split, work_folder=Path(sys.argv[2]), limit_sources=3
    )
    print(json.dumps([[s.item_id, s.speaker_id, s.path.stat().st_size] for s in corpus.sources]))
"""


def test_load_dataset_takes_it_by_its_id(hub, tmp_path):
    done = call(hub, tmp_path, "-c", LOAD, hub.commits[0])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [["increase", "increase"], 400]


def test_it_is_a_corpus_too(hub, tmp_path):
    which = [["org/vocalgrad", hub.commits[1], "test"], ["org/published", hub.published, "train"]]
    done = call(hub, tmp_path, "-c", CORPUS, json.dumps(which), tmp_path / "work")
    assert done.returncode == 0, done.stderr
    parquet, published = map(json.loads, done.stdout.splitlines())
    assert [each[:2] for each in parquet] == [["volume-0", ""], ["volume-1", ""]]
    assert [each[1] for each in published] == ["p226"] * 3
    assert {each[2] for each in parquet + published} == {844}  # a header of 44 bytes, 400 samples
