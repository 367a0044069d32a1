"""A new dataset and a new corpus: two files of under 60 lines, used and thrown away."""

import shutil
import sys

import pytest

from builders import DATASETS
from builders.corpora import CORPORA
from builders.corpora.options import CorpusOptions, open_corpus
from tests.builders.test_datasets import assert_is_a_dataset

CORPUS = '''\
"""Three tones."""
from pathlib import Path
import numpy as np, soundfile
from builders.corpora.base import Corpus, SourceClip

def open_tones(where, *, splits=("test",)):
    clips = []
    for i in range(3):
        path = Path(where) / f"tone{i}.wav"
        wave = np.sin(np.arange(8_000) * (i + 1) / 10)
        soundfile.write(path, wave, 8_000)
        clips.append(SourceClip(f"tone{i}", f"tone{i}", splits[0], i, path))
    return Corpus("Tones", "cc0-1.0", "Nobody.", None, True, tuple(clips))
'''

DATASET = '''\
"""Tones, each with the question whether it is high."""
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple
import datasets
from builders import building
from builders.corpora.base import Corpus, SourceClip

FEATURES = datasets.Features(
    {"id": datasets.Value("string"), "audio": datasets.Audio(), "high": datasets.Value("bool")}
)

@dataclass(frozen=True, kw_only=True)
class ToneShard(building.Shard):
    clip: SourceClip

@dataclass(frozen=True)
class TonePlan:
    clips: tuple[SourceClip, ...]
    libraries: tuple = building.library_versions(["datasets", "pyarrow"])

    @cached_property
    def shards(self):
        n = len(self.clips)
        return [
            ToneShard(c.split, {"clips": f"clips/{building.shard_file(c.split, i, n)}"}, 1, clip=c)
            for i, c in enumerate(self.clips)
        ]

    @property
    def outline(self):
        return {"clip_ids": [c.clip_id for c in self.clips]}

    @property
    def fingerprint(self):
        return building.fingerprint_of([self.outline, self.libraries])

class PlannedTones(NamedTuple):
    plan: TonePlan
    corpus: Corpus

def plan_build(corpus):
    return PlannedTones(TonePlan(corpus.sources), corpus)

def rows(plan, shard):
    audio = {"bytes": shard.clip.path.read_bytes(), "path": None}
    high = shard.clip.position > 1
    yield building.DatasetRow("clips", {"id": shard.clip.item_id, "audio": audio, "high": high})

build = partial(building.build, building.Recipe(rows, FEATURES))

def finish(build, planned):
    text = f"# {planned.corpus.name}\\n\\n{len(planned.plan.shards)} tones.\\n"
    header = {"license": planned.corpus.licence}
    with building.claimed_folder(build.folder, planned.plan):
        building.write_readme(build, features=FEATURES, text=text, header=header)
    return text
'''


@pytest.fixture
def toys(tmp_path, monkeypatch):
    """The two files, and their names in the tables."""
    monkeypatch.syspath_prepend(tmp_path / "code")
    for name, code in (("tone_corpus", CORPUS), ("tone_dataset", DATASET)):
        (tmp_path / "code" / name).mkdir(parents=True)
        (tmp_path / "code" / name / "__init__.py").write_text(code)
    monkeypatch.setitem(CORPORA, "tones", "tone_corpus:open_tones")
    monkeypatch.setitem(DATASETS, "tones", "tone_dataset")
    yield
    shutil.rmtree(tmp_path / "code")
    for name in ("tone_corpus", "tone_dataset"):
        sys.modules.pop(name, None)


def test_a_new_dataset_and_a_new_corpus_take_one_short_file_each(toys, tmp_path):
    assert max(len(code.splitlines()) for code in (CORPUS, DATASET)) < 60
    corpus = open_corpus(CorpusOptions(f"tones:{tmp_path}"))
    loaded = assert_is_a_dataset("tones", corpus, tmp_path)
    assert loaded["test"]["high"] == [False, False, True]
