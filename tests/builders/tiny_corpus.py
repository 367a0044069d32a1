"""A corpus of a few clips shaped like speech, and the shortest way from it to a build."""

from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import soundfile

from builders.building.finished import FinishedBuild
from builders.building.folder import claimed_folder
from builders.corpora.beeps import open_beeps
from builders.corpora.folder import open_folder
from builders.vocalgrad.pages.card import write_card
from builders.vocalgrad.planning.build_plan import PlannedBuild, plan_build
from builders.vocalgrad.rendering.rows import build
from tests.acoustics.synthetic_speech import speech_pcm

TWO = ("volume", "background_noise")
OBSERVER = SimpleNamespace(basis="not measured", table="(no table)")
CONFOUNDS = SimpleNamespace(
    basis="not measured", table="(no areas)", not_measurable=[], unavoidable=[]
)


class TinyBuild(NamedTuple):
    """A build and what it was planned from."""

    build: FinishedBuild
    planned: PlannedBuild

    plan = property(lambda self: self.planned.plan)
    survey = property(lambda self: self.planned.survey)
    folder = property(lambda self: self.build.folder)
    files = property(lambda self: self.build.files)
    n_rows_made = property(lambda self: self.build.n_rows_made)


def speak(root, n=3, sampling_rate=16_000, duration_s=1.3):
    """`n` WAV files of `duration_s` under `root`, all different."""
    root.mkdir(parents=True, exist_ok=True)
    for i in range(n):
        pcm = speech_pcm(sampling_rate, duration_s, seed=i)
        soundfile.write(root / f"clip{i}.wav", pcm.T, sampling_rate)
    return root


def one_beep(work_folder):
    """The first of the ten tones."""
    beeps = open_beeps(work_folder)
    return replace(beeps, sources=beeps.sources[:1])


def planned(root, *, beeps=None, categories=TWO, splits=("test",), **options):
    """The planned build of a folder."""
    corpus = open_folder(root, splits=splits, licence="cc0-1.0")
    return plan_build(corpus, beeps, categories=categories, **options)


def built_from(root, out, *, num_proc=1, overwrite=False, **options):
    """A build with its card."""
    wanted = planned(root, **options)
    built = build(wanted.plan, out, num_proc=num_proc, overwrite=overwrite)
    with claimed_folder(out, wanted.plan):
        write_card(built, wanted, OBSERVER, CONFOUNDS)
    return TinyBuild(built, wanted)


def contents(folder):
    """Relative path to bytes, of everything below a folder that a reader of the Hub would see."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".otoscope" not in path.parts
    }


def leftovers(folder):
    """Files that only a run which did not end leaves behind."""
    return [
        path
        for path in folder.rglob("*")
        if path.name.endswith((".partial", ".tmp")) or path.name == "making"
    ]
