"""Every family learns: what a clip teaches reaches every layer that is listed."""

import pytest
import tiny
from test_families import opening
from tiny import torch
from tiny_others import OTHERS

from otoscope.models.transformers_models import open_transformers
from otoscope.tuning.adapter import lora_layers, trainable_parameters
from otoscope.tuning.config import TuningError
from tests.tuning.tiny_training import tiny_job, tiny_job_of

pytestmark = pytest.mark.filterwarnings(
    # peft asks transformers by an old name when it makes an adapter
    "ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"
)
WHOLE = ("qwen2_audio", "audioflamingo3")


def opened(family, folder, monkeypatch):
    if family in WHOLE:
        return open_transformers(tiny.save(getattr(tiny, family)(), folder))
    return opening(family, folder, monkeypatch)


def gradients(trainable):
    """Layer to the gradient of the matrix that begins at zero, after a clip."""
    (loss,) = trainable.backward([1], 0)
    assert loss == pytest.approx(trainable.evaluate([1])[0].loss, rel=1e-4), "it does nothing yet"
    found = {
        name: layer.lora_B["default"].weight.grad.clone()
        for name, layer in lora_layers(trainable.tuned).items()
    }
    for weight in trainable_parameters(trainable.tuned).values():
        weight.grad = None
    return found


@pytest.mark.parametrize("family", [*WHOLE, *sorted(set(OTHERS) - {"phi4_multimodal"})])
def test_every_listed_layer_learns_with_and_without_recomputing(family, tmp_path, monkeypatch):
    plain, *_, scope = tiny_job_of(opened(family, tmp_path / "a", monkeypatch), scope="all_linear")
    made = gradients(plain)
    assert made.keys() == scope.modules.keys()
    assert [name for name, gradient in made.items() if not gradient.abs().max() > 0] == []
    again = opened(family, tmp_path / "b", monkeypatch)
    trainable, *_ = tiny_job_of(again, scope="all_linear", checkpointing=True)
    calls = []
    first = next(name for name, part in scope.modules.items() if part == "decoder")
    lora_layers(trainable.tuned)[first].register_forward_hook(lambda *_: calls.append(first))
    recomputed = gradients(trainable)
    assert len(calls) == 3, "once to learn, once again on the way back, once to judge"
    assert all(torch.equal(made[name], recomputed[name]) for name in made)


@pytest.mark.parametrize("scope", ["decoder", "lm_head"])
def test_a_family_that_hears_with_an_adapter_is_refused(scope, tmp_path, monkeypatch):
    with pytest.raises(TuningError, match="wears an adapter already"):
        tiny_job_of(opened("phi4_multimodal", tmp_path, monkeypatch), scope=scope)


def test_where_memory_runs_out_it_is_said_what_helps(tmp_path, monkeypatch):
    trainable, *_ = tiny_job(tiny.save(tiny.qwen2_audio(), tmp_path), n=8)

    def full(place):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr(trainable, "_logits", full)
    with pytest.raises(TuningError, match="out of memory with one clip a pass; try --gradient"):
        trainable.backward([1], 0)


def test_answers_are_judged_by_what_would_be_said(tmp_path):
    folder = tiny.save(tiny.qwen2_audio(), tmp_path / "tiny", scale=1.0)
    trainable, examples, *_ = tiny_job(folder, n=8)
    rows = trainable.model.loaded.model.lm_head
    ids = examples.targets[1]
    with torch.no_grad():
        logits = trainable._logits(1)
    assert logits.shape == (len(ids), rows.weight.shape[0])
    chances = logits.log_softmax(dim=1)
    expected = -sum(float(chances[n, token]) for n, token in enumerate(ids)) / len(ids)
    score_clip = trainable.evaluate([1])[0]
    assert score_clip.loss == pytest.approx(expected, rel=1e-5)
    assert score_clip.said == (logits.argmax(dim=1).tolist() == list(ids))
    assert score_clip.preferred == bool(logits[0, ids[0]] > logits[0, examples.targets[0][0]])
