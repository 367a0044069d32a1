"""Adapters change nothing at first, are on the listed layers only, and are read back."""

import peft
import pytest
import tiny
import tiny_others
from safetensors.torch import load_file
from tiny import torch, transformers

from otoscope.tuning.adapted_layers import plan_scope
from otoscope.tuning.adapter import (
    add_adapter,
    lora_layers,
    merge_adapter,
    save_adapter,
    trainable_parameters,
    without_peft_warnings,
)
from otoscope.tuning.config import TrainingConfig, TuningError
from otoscope.tuning.dropout import DropoutContext

WORDS = torch.arange(2, 40)[None]


def adapted(made, family="qwen2_audio", **settings):
    model, _ = made
    chosen = TrainingConfig(**settings)
    scope = plan_scope(model, family, chosen.scope)
    return add_adapter(model, scope, chosen, DropoutContext(chosen.seed)), scope


def logits(model):
    with torch.no_grad():
        return model(input_ids=WORDS).logits


def moved(tuned):
    """The same, with an addition that does something."""
    with torch.no_grad():
        for name, weight in trainable_parameters(tuned).items():
            if "lora_B" in name:
                weight.normal_(std=0.5, generator=torch.Generator().manual_seed(len(name)))
    return tuned


@pytest.mark.parametrize("scope", ["lm_head", "decoder", "all_linear"])
def test_it_does_nothing_at_first_and_trains_nothing_else(scope):
    model, processor = tiny.qwen2_audio()
    before = logits(model)
    tuned, planned = adapted((model, processor), scope=scope)
    assert torch.equal(logits(tuned), before)
    assert lora_layers(tuned).keys() == planned.modules.keys()
    assert sum(w.numel() for w in trainable_parameters(tuned).values()) == planned.n_parameters(8)
    assert all("lora_" in name for name in trainable_parameters(tuned))


def test_first_weights_belong_to_the_layer_and_the_seed():
    firsts = [
        dict(adapted(tiny.qwen2_audio(seed), **settings)[0].named_parameters())
        for seed, settings in ((0, {}), (1, {"scope": "all_linear"}), (0, {"seed": 5}))
    ]
    name = "base_model.model.lm_head.lora_A.default.weight"
    alone, among_others, other_seed = (weights[name] for weights in firsts)
    assert torch.equal(alone, among_others)
    assert not torch.equal(alone, other_seed)
    # uniform within 1 / sqrt(32): PEFT's own rule
    assert 0.9 / 32**0.5 < alone.abs().max() <= 1 / 32**0.5


def test_a_model_with_an_adapter_is_rejected():
    tuned, scope = adapted(tiny.qwen2_audio())
    with pytest.raises(TuningError, match="has an adapter already"):
        add_adapter(tuned, scope, TrainingConfig(), DropoutContext(1))


@pytest.mark.parametrize("scope", ["lm_head", "all_linear"])
def test_it_is_read_back_by_peft_and_holds_nothing_of_the_base(scope, tmp_path):
    tuned, planned = adapted(tiny.qwen2_audio(), scope=scope)
    save_adapter(moved(tuned), tmp_path, base="org/base", revision="abc")
    stored = load_file(tmp_path / "adapter_model.safetensors")
    assert len(stored) == 2 * len(planned.modules)
    assert all("lora_" in name for name in stored)
    with without_peft_warnings():
        again = peft.PeftModel.from_pretrained(tiny.qwen2_audio()[0], tmp_path).eval()
    assert torch.equal(logits(again), logits(tuned))
    config = peft.PeftConfig.from_pretrained(tmp_path)
    assert (config.base_model_name_or_path, config.revision) == ("org/base", "abc")
    assert (config.r, config.lora_alpha, config.lora_dropout, config.bias) == (8, 16, 0.05, "none")
    assert config.task_type == "CAUSAL_LM"


@pytest.mark.parametrize("scope", ["lm_head", "all_linear"])
def test_merged_has_the_same_outputs(scope):
    tuned = moved(adapted(tiny.qwen2_audio(), scope=scope)[0])
    before = logits(tuned)
    torch.testing.assert_close(logits(merge_adapter(tuned)), before, rtol=1e-4, atol=1e-5)


class TestTied:
    """The output layer shares its weights with the embeddings."""

    @pytest.fixture
    def made(self, monkeypatch):
        model, processor = tiny_others.granite_speech(monkeypatch)
        assert model.lm_head.weight is model.get_input_embeddings().weight
        return model, processor

    def tuned(self, made, scope="lm_head"):
        return adapted(made, "granite_speech", scope=scope)

    @pytest.mark.parametrize("scope", ["lm_head", "all_linear"])
    def test_only_the_output_layer_is_adapted(self, made, scope):
        embeddings = made[0].get_input_embeddings()
        before = embeddings.weight.clone()
        tuned, planned = self.tuned(made, scope)
        assert planned.tied
        moved(tuned)
        assert torch.equal(embeddings.weight, before)
        assert not any("embed_tokens" in name for name in trainable_parameters(tuned))

    def test_merged_has_the_same_outputs_and_is_tied_no_more(self, made, tmp_path):
        tuned = moved(self.tuned(made)[0])
        before = logits(tuned)
        whole = merge_adapter(tuned)
        torch.testing.assert_close(logits(whole), before, rtol=1e-4, atol=1e-5)
        whole.save_pretrained(tmp_path)
        kind = transformers.GraniteSpeechForConditionalGeneration
        torch.testing.assert_close(logits(kind.from_pretrained(tmp_path).eval()), logits(whole))

    def test_peft_alone_would_change_the_embeddings(self, made):
        tuned = moved(self.tuned(made)[0])
        before = logits(tuned)
        with without_peft_warnings():
            assert not torch.allclose(logits(tuned.merge_and_unload()), before, atol=1e-2)

    def test_it_is_read_back(self, made, tmp_path, monkeypatch):
        tuned = moved(self.tuned(made)[0])
        save_adapter(tuned, tmp_path, base="base")
        fresh, _ = tiny_others.granite_speech(monkeypatch)
        with without_peft_warnings():
            again = peft.PeftModel.from_pretrained(fresh, tmp_path).eval()
        assert torch.equal(logits(again), logits(tuned))
