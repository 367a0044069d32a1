"""A corpus of a few clips shaped like speech, and the shortest way from it to a build."""

from dataclasses import replace
from types import SimpleNamespace

import soundfile

from builders.corpora.beeps import open_beeps
from builders.corpora.folder import open_folder
from builders.vocalgrad.describe import write_card
from builders.vocalgrad.making import build, owned, plan_build
from tests.acoustics.synthetic_speech import speech_pcm

TWO = ("volume", "background_noise")
OBSERVER = SimpleNamespace(basis="nobody listened", table="(no table)")
CONFOUNDS = SimpleNamespace(
    basis="nobody measured", table="(no areas)", not_measurable=[], bound=[]
)


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
    """`(plan, survey, corpus)` of a folder."""
    corpus = open_folder(root, splits=splits, licence="cc0-1.0")
    return *plan_build(corpus, beeps, categories=categories, **options), corpus


def built_from(root, out, *, num_proc=1, overwrite=False, **options):
    """A whole build with its card."""
    plan, seen, corpus = planned(root, **options)
    built = build(plan, seen, corpus, out, num_proc=num_proc, overwrite=overwrite)
    with owned(out, plan, overwrite=False):
        write_card(built, corpus, OBSERVER, CONFOUNDS)
    return built


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
