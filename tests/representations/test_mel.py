"""The published mel features, against the same recipe from a file on disk."""

import librosa
import numpy as np
import pytest
import soundfile
from asking import clip

from otoscope.models.base import ModelError
from otoscope.representations.mel import WIDTH, mel_features
from tests.representations.test_pooling import plain_pooled


@pytest.mark.filterwarnings("ignore:.*deprecated and slated for removal:DeprecationWarning")
def test_it_is_what_the_published_recipe_makes_of_the_file(tmp_path):
    sound = clip(3, seconds=1.1, rate=48000)
    soundfile.write(tmp_path / "clip.wav", sound.samples, 48000, subtype="FLOAT")
    samples, _ = librosa.load(tmp_path / "clip.wav", sr=16000, mono=True)
    power = librosa.feature.melspectrogram(
        y=samples, sr=16000, n_fft=1024, hop_length=256, win_length=1024,
        n_mels=128, fmin=0, fmax=8000, power=2.0,
    )  # fmt: skip
    expected = plain_pooled(librosa.power_to_db(power, ref=np.max).T)
    np.testing.assert_allclose(mel_features(sound), expected, atol=1e-3)
    assert mel_features(sound).shape == (WIDTH,) == (2048,)


def test_a_tone_is_loudest_in_its_band_and_the_rest_is_at_the_floor():
    time_s = np.arange(32000) / 16000
    sound = clip(rate=16000)
    tone = np.sin(2 * np.pi * 1000 * time_s).astype(np.float32)
    bands = mel_features(type(sound)("tone", tone, 16000, "")).reshape(16, 128)
    centres = librosa.mel_frequencies(130, fmin=0, fmax=8000)[1:-1]
    assert set(bands[2:14].argmax(axis=1)) == {int(np.abs(centres - 1000).argmin())}
    assert bands.max() == pytest.approx(0, abs=0.5), "decibels are re the loudest point"
    assert bands[5].min() == -80


def test_no_samples_are_rejected():
    with pytest.raises(ModelError, match=r"'clip-1' has no samples"):
        mel_features(clip(seconds=0))
