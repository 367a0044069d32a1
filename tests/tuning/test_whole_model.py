"""Every family can be trained: gradients reach every listed layer, alone and in batches."""

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
def test_every_listed_layer_has_a_gradient_with_and_without_recomputing(
    family, tmp_path, monkeypatch
):
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
    assert len(calls) == 3, "forward, recomputed in the backward pass, evaluation"
    assert all(torch.equal(made[name], recomputed[name]) for name in made)


@pytest.mark.parametrize("scope", ["decoder", "lm_head"])
def test_a_family_with_an_adapter_of_its_own_is_rejected(scope, tmp_path, monkeypatch):
    with pytest.raises(TuningError, match="has an adapter already"):
        tiny_job_of(opened("phi4_multimodal", tmp_path, monkeypatch), scope=scope)


def test_running_out_of_memory_names_ways_out(tmp_path, monkeypatch):
    trainable, *_ = tiny_job(tiny.save(tiny.qwen2_audio(), tmp_path), n=8)

    def full(indices):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr(trainable, "_logits", full)
    with pytest.raises(TuningError, match="out of memory with one clip a pass; try --gradient"):
        trainable.backward([1], 0)


def test_scores_are_those_of_the_logits(tmp_path):
    folder = tiny.save(tiny.qwen2_audio(), tmp_path / "tiny", scale=1.0)
    trainable, examples, *_ = tiny_job(folder, n=8)
    rows = trainable.model.loaded.model.lm_head
    ids = examples.targets[1]
    with torch.no_grad():
        (logits,) = trainable._logits([1])
    assert logits.shape == (len(ids), rows.weight.shape[0])
    chances = logits.log_softmax(dim=1)
    expected = -sum(float(chances[n, token]) for n, token in enumerate(ids)) / len(ids)
    score = trainable.evaluate([1])[0]
    assert score.loss == pytest.approx(expected, rel=1e-5)
    assert score.generated == (logits.argmax(dim=1).tolist() == list(ids))
    assert score.preferred == bool(logits[0, ids[0]] > logits[0, examples.targets[0][0]])


def summed(trainable, calls):
    """Layer to gradient after these calls of `backward`, and the losses."""
    weights = trainable_parameters(trainable.tuned)
    losses = [loss for clips in calls for loss in trainable.backward(clips, 0)]
    return {name: weight.grad.clone() for name, weight in weights.items()}, losses


def close(first, other):
    return all((g - other[name]).norm() <= 1e-4 * g.norm() + 1e-9 for name, g in first.items())


@pytest.mark.parametrize("family", [*WHOLE, *sorted(set(OTHERS) - {"phi4_multimodal"})])
def test_a_batch_has_the_gradient_of_its_clips(family, tmp_path, monkeypatch):
    # the encoder of Granite Speech does not mask padding: its clips are of one length here
    clips = [0, 3, 6] if family == "granite_speech" else [0, 1, 2, 5]
    jobs = [
        tiny_job_of(
            opened(family, tmp_path / str(reproducible), monkeypatch),
            n=8, scope="all_linear", dropout=0.0, reproducible=reproducible,
        )[0]
        for reproducible in (True, False)
    ]  # fmt: skip
    one_by_one, losses = summed(jobs[0], [[n] for n in clips])
    assert (jobs[0].max_clips, jobs[1].max_clips) == (1, None)
    together, again = summed(jobs[1], [clips])
    assert again == pytest.approx(losses, rel=1e-4)
    assert close(one_by_one, together)


def test_answers_of_other_lengths_share_a_batch(tmp_path):
    folder = tiny.save(tiny.qwen2_audio(), tmp_path, scale=1.0)
    trainable, examples, *_ = tiny_job(folder, n=8, dropout=0.0, reproducible=False)
    examples.targets[1] = examples.targets[1][:4]
    expected = trainable.evaluate([0]) + trainable.evaluate([1])
    for own, alone in zip(trainable.evaluate([0, 1]), expected, strict=True):
        assert own.loss == pytest.approx(alone.loss, rel=1e-5)
        assert own[1:] == alone[1:]


def test_a_batch_that_does_not_fit_is_halved_and_counts_once(tmp_path, monkeypatch):
    folder = tiny.save(tiny.qwen2_audio(), tmp_path, scale=1.0)
    options = {"n": 8, "dropout": 0.0, "reproducible": False}
    expected, losses = summed(tiny_job(folder, **options)[0], [[0, 1, 2, 3, 4]])
    trainable, *_ = tiny_job(folder, **options)
    logits, sizes = trainable._logits, []

    def small_memory(indices):
        made = logits(indices)
        sizes.append(len(indices))
        if len(indices) > 2:
            made[0].sum().backward()  # part of the gradients is there when memory runs out
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return made

    monkeypatch.setattr(trainable, "_logits", small_memory)
    found, again = summed(trainable, [[0, 1, 2, 3, 4]])
    assert sizes == [5, 2, 2, 1]
    assert again == pytest.approx(losses, rel=1e-5)
    assert close(expected, found)
