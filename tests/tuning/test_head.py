"""Training an output layer from cached hidden states equals training through the model."""

import json

import numpy as np
import pytest
import tiny
import tiny_others
from safetensors.torch import load_file, save_file
from test_families import opening
from tiny import torch

from otoscope.representations.features import Targets, write_features
from otoscope.representations.hooks import TransformersExtractor
from otoscope.tuning.adapter import add_adapter, trainable_parameters
from otoscope.tuning.checkpoints import Checkpoints
from otoscope.tuning.config import TrainingConfig, TuningError
from otoscope.tuning.dropout import DropoutContext
from otoscope.tuning.examples import examples_of
from otoscope.tuning.head import OutputLayer, TrainableHead, read_head, validate_states
from otoscope.tuning.training import train
from tests.tuning.tiny_training import request, rows, tiny_job, tiny_job_of

pytestmark = pytest.mark.filterwarnings(
    # peft asks transformers by an old name when it makes an adapter
    "ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"
)
N = 16
NAME = "language_model.lm_head.weight"
"""What transformers calls it in a checkpoint of Qwen2-Audio."""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny.save(tiny.qwen2_audio(), tmp_path_factory.mktemp("head") / "tiny", scale=1.0)


def on_states(weight, examples, states, settings):
    head, dropout = OutputLayer(weight), DropoutContext(settings.seed)
    tuned = add_adapter(head, head.layers, settings, dropout)
    return TrainableHead(tuned, examples, states, dropout)


def seen(model, n, at_once=4):
    """The states that predict the answers of `n` clips, as `trainers.extract` finds them."""
    extractor = TransformersExtractor(model)
    parts = [[request(i) for i in range(n)][k : k + at_once] for k in range(0, n, at_once)]
    found = [answer for part in parts for answer in extractor.extract(part, ["answer"]).answers]
    lengths = [len(ids) for _, ids in found]
    return Targets(
        np.concatenate([states for states, _ in found]),
        np.concatenate([ids for _, ids in found]),
        np.repeat(np.arange(n), lengths),
    )


def tuned(folder, trainable, examples, settings):
    checkpoints = Checkpoints(folder, print)
    checkpoints.folder.mkdir(parents=True)
    history = train(trainable, examples, settings, checkpoints)
    return {name: w.detach() for name, w in trainable_parameters(trainable.tuned).items()}, history


@pytest.mark.parametrize("family", ["qwen2_audio", "audioflamingo3"])
@pytest.mark.parametrize("dropout", [0.0, 0.05])
def test_the_weights_are_those_of_training_through_the_model(family, dropout, tmp_path):
    folder = tiny.save(getattr(tiny, family)(), tmp_path / family, scale=1.0)
    about = {"n": N, "dropout": dropout, "epochs": 4, "learning_rate": 1e-2}
    trainable, examples, settings, _ = tiny_job(folder, **about)
    weight = read_head(folder, None, "float32")
    head = on_states(weight, examples, seen(trainable.model, N), settings)
    model, history = tuned(tmp_path / "model", trainable, examples, settings)
    states, again = tuned(tmp_path / "states", head, examples, settings)
    assert model.keys() == states.keys()
    for name, weight in model.items():
        assert (weight - states[name]).norm() <= 1e-5 * weight.norm(), name
    assert again.losses == pytest.approx(history.losses, rel=1e-5)
    assert history.losses[-1] < 0.95 * history.losses[0]
    assert [v.generated for v in again.validations] == [v.generated for v in history.validations]
    assert again.validations[-1].preferred == history.validations[-1].preferred


def test_in_bfloat16_too_where_states_were_seen_one_by_one(tmp_path):
    made = tiny.qwen2_audio()
    made[0].to(torch.bfloat16)
    folder = tiny.save(made, tmp_path / "half", scale=1.0)
    trainable, examples, settings, _ = tiny_job(folder, n=N, epochs=2, learning_rate=1e-2)
    weight = read_head(folder, None, "bfloat16")
    head = on_states(weight, examples, seen(trainable.model, N, at_once=1), settings)
    model, _ = tuned(tmp_path / "model", trainable, examples, settings)
    states, _ = tuned(tmp_path / "states", head, examples, settings)
    for name, own in model.items():
        assert own.dtype == torch.float32, "what is trained keeps its precision"
        assert (own - states[name]).norm() <= 1e-5 * own.norm(), name


@pytest.mark.parametrize("family", sorted(set(tiny_others.OTHERS) - {"phi4_multimodal"}))
def test_of_every_family_states_predict_what_the_model_does(family, tmp_path, monkeypatch):
    trainable, examples, settings, _ = tiny_job_of(opening(family, tmp_path, monkeypatch), n=8)
    weight = read_head(str(tmp_path), None, "float32")
    head = on_states(weight, examples, seen(trainable.model, 8), settings)
    for place in (0, 3):
        whole, own = trainable.evaluate([place])[0], head.evaluate([place])[0]
        assert own.loss == pytest.approx(whole.loss, rel=1e-5)
        assert own[1:] == whole[1:]


TOKENS = {"decrease": (1, 3, 9), "increase": (2, 3, 9)}
N_PLANTED = 80


class TestPlanted:
    """Hidden states in which it is known what can be decoded."""

    def last_validation(self, tmp_path, strength):
        """The last validation, of states that tell place and, so strongly, the label."""
        columns, rng = rows(N_PLANTED), np.random.default_rng(0)
        answers = [(word, TOKENS[word]) for word in columns["label_name"]]
        settings = TrainingConfig(learning_rate=2e-2, epochs=8)
        examples = examples_of(columns, answers, "source", settings.seed)
        states = rng.normal(0, 0.3, (N_PLANTED, 3, 8)).astype(np.float32)
        states[:, [0, 1, 2], [0, 1, 2]] += 3
        states[:, 0, 7] += strength * (2 * np.array(columns["label"]) - 1)
        cached = Targets(
            states.reshape(-1, 8),
            np.array([ids for _, ids in answers]).ravel(),
            np.repeat(np.arange(N_PLANTED), 3),
        )
        weight = torch.randn(12, 8, generator=torch.Generator().manual_seed(0))
        trainable = on_states(weight, examples, cached, settings)
        _, history = tuned(tmp_path, trainable, examples, settings)
        assert history.validations[0].generated.estimate < 0.5
        return history.validations[-1]

    def test_a_planted_label_is_decoded(self, tmp_path):
        last = self.last_validation(tmp_path, 3.0)
        assert (last.generated.estimate, last.preferred.estimate) == (1.0, 1.0)

    def test_what_is_not_there_is_not(self, tmp_path):
        last = self.last_validation(tmp_path, 0.0)
        assert 0.1 < last.preferred.estimate < 0.9


class TestReadingTheHead:
    def test_it_is_the_models(self, checkpoint):
        expected = tiny.qwen2_audio()[0].lm_head.weight
        assert torch.equal(read_head(checkpoint, None, "float32"), expected)
        assert read_head(checkpoint, None, "bfloat16").dtype == torch.bfloat16

    def test_of_several_files_only_its_own_is_read(self, tmp_path):
        model, _ = tiny.qwen2_audio()
        model.save_pretrained(tmp_path, max_shard_size="100KB")
        index = json.loads((tmp_path / "model.safetensors.index.json").read_text())["weight_map"]
        for file in set(index.values()) - {index[NAME]}:
            (tmp_path / file).write_bytes(b"")
        assert torch.equal(read_head(str(tmp_path), None, "float32"), model.lm_head.weight)

    def test_tied_to_the_embeddings_it_is_those(self, tmp_path, monkeypatch):
        model, _ = tiny_others.granite_speech(monkeypatch)
        model.save_pretrained(tmp_path)
        assert "lm_head.weight" not in load_file(tmp_path / "model.safetensors")
        assert torch.equal(read_head(str(tmp_path), None, "float32"), model.lm_head.weight)

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            (lambda w: w.pop(NAME), "no output layer that is one matrix, but nothing"),
            (
                lambda w: w.update({"lm_head.qweight": w.pop(NAME)}),
                r"but lm_head\.qweight; it may be missing or quantised; train through the model",
            ),
            (
                lambda w: w.update({NAME: w[NAME].to(torch.int8)}),
                r"is quantised \(int8\)",
            ),
        ],
    )
    def test_missing_or_quantised_it_is_rejected(self, tmp_path, change, named):
        model, _ = tiny.qwen2_audio()
        model.save_pretrained(tmp_path)
        weights = load_file(tmp_path / "model.safetensors")
        change(weights)
        save_file(weights, tmp_path / "model.safetensors")
        with pytest.raises(TuningError, match=named):
            read_head(str(tmp_path), None, "float32")

    def test_without_safetensors_it_is_rejected(self, tmp_path):
        with pytest.raises(TuningError, match="has no safetensors file to read the output layer"):
            read_head(str(tmp_path), None, "float32")


class TestStatesOfAModel:
    def features(self, folder, **model):
        columns = {"id": ["a"], "category": ["volume"], "label": [1]}
        described = {"model": {"model_type": "qwen2_audio", "adapter": None, **model}}
        return write_features(folder, columns, {}, **described)

    def test_of_another_checkpoint_they_are_rejected(self, checkpoint, tmp_path):
        features = self.features(tmp_path / "f", content="other")
        with pytest.raises(TuningError, match=r"states of another model: content 'other', and"):
            validate_states(features, checkpoint, None)

    def test_through_an_adapter_they_are_rejected(self, checkpoint, tmp_path):
        features = self.features(tmp_path / "f", adapter={"name": "lora"})
        with pytest.raises(TuningError, match="hidden states of a model with an adapter"):
            validate_states(features, checkpoint, None)

    def test_of_no_model_of_transformers_they_are_rejected(self, checkpoint, tmp_path):
        features = write_features(
            tmp_path / "f", {"id": ["a"], "category": ["x"], "label": [1]}, {}, model={"kind": "x"}
        )
        with pytest.raises(TuningError, match="no hidden states of a model of transformers"):
            validate_states(features, checkpoint, None)
