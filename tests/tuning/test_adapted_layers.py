"""The layers of a scope, by name, in every family that can be built."""

import pytest
import tiny
from tiny import torch
from tiny_others import OTHERS

from otoscope.models.families import FAMILIES
from otoscope.tuning.adapted_layers import AdaptedLayers, plan_scope
from otoscope.tuning.config import TrainingConfig, TuningError
from otoscope.tuning.scopes import SCOPES, LoraScope

ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
MLP = ("gate_proj", "up_proj", "down_proj")
DECODER = {
    f"model.language_model.layers.{k}.{name}"
    for k in (0, 1)
    for name in (*(f"self_attn.{n}" for n in ATTENTION), *(f"mlp.{n}" for n in MLP))
}
TOWER = {
    f"model.audio_tower.layers.{k}.{name}"
    for k in (0, 1)
    for name in (*(f"self_attn.{n}" for n in ("q_proj", "k_proj", "v_proj", "out_proj")), "fc1",
                 "fc2")
}  # fmt: skip
PROJECTORS = {
    "qwen2_audio": {"model.multi_modal_projector.linear"},
    "audioflamingo3": {f"model.multi_modal_projector.linear_{n}" for n in (1, 2)},
}
MAKERS = {"qwen2_audio": lambda _: tiny.qwen2_audio(),
          "audioflamingo3": lambda _: tiny.audioflamingo3(), **OTHERS}  # fmt: skip


@pytest.mark.parametrize("family", sorted(PROJECTORS))
class TestLists:
    def test_all_linear_is_every_linear_layer(self, family):
        model, _ = MAKERS[family](None)
        scope = plan_scope(model, family, "all_linear")
        assert set(scope.modules) == {"lm_head"} | DECODER | TOWER | PROJECTORS[family]
        assert scope.modules["lm_head"] == "head"
        assert {scope.modules[name] for name in TOWER} == {"tower"}
        assert {scope.modules[name] for name in PROJECTORS[family]} == {"projector"}
        assert scope.excluded == ()
        every = {name for name, m in model.named_modules() if isinstance(m, torch.nn.Linear)}
        assert set(scope.modules) == every

    def test_the_others(self, family):
        model, _ = MAKERS[family](None)
        assert set(plan_scope(model, family, "decoder").modules) == DECODER
        assert set(plan_scope(model, family, "lm_head").modules) == {"lm_head"}


def test_trainable_parameters_are_counted():
    model, _ = tiny.qwen2_audio()
    # 32 numbers enter, one leaves for each of 262 tokens
    assert plan_scope(model, "qwen2_audio", "lm_head").n_parameters(8) == 8 * (32 + 262)


def test_layers_of_a_kind_share_a_line():
    model, _ = tiny.qwen2_audio()
    lines = plan_scope(model, "qwen2_audio", "all_linear").listed()
    assert "decoder      2 x model.language_model.layers.*.mlp.up_proj" in lines
    assert lines[-1] == "head         1 x lm_head"
    assert len(lines) == 6 + 1 + 7 + 1


def test_every_family_that_can_be_built_is_tried():
    proven = {name for name, family in FAMILIES.items() if family.proven != "unrun"}
    assert set(MAKERS) == proven - {"qwen2_5_omni"}
    assert {*PROJECTORS, "voxtral", "phi4_multimodal"} <= proven


@pytest.mark.parametrize("family", sorted(MAKERS))
@pytest.mark.parametrize("name", SCOPES)
def test_every_family_has_every_part(family, name, monkeypatch):
    model, _ = MAKERS[family](monkeypatch)
    scope = plan_scope(model, family, name)
    assert set(scope.modules.values()) == set(SCOPES[name].parts)
    assert all("visual" in n or "image_embed" in n for n in scope.excluded)


def test_a_scope_is_one_entry_of_the_table(monkeypatch):
    tower = LoraScope("every linear layer of the audio tower", ("tower",))
    monkeypatch.setitem(SCOPES, "tower", tower)
    assert TrainingConfig(scope="tower").scope == "tower"
    layers = plan_scope(tiny.qwen2_audio()[0], "qwen2_audio", "tower")
    assert set(layers.modules) == TOWER
    from trainers.study_config import StudyConfig

    assert StudyConfig(dataset="d", model="m", out="o", scope="tower").scope == "tower"


class TestRejected:
    def test_a_scope_that_is_not_there(self):
        with pytest.raises(TuningError, match="no scope named 'head'"):
            plan_scope(tiny.qwen2_audio()[0], "qwen2_audio", "head")

    @pytest.mark.parametrize(("scope", "part"), [("decoder", "decoder"), ("all_linear", "tower")])
    def test_no_layer_where_there_should_be_some(self, scope, part):
        model, _ = tiny.qwen2_audio()
        inner = model.model.language_model if part == "decoder" else model.model.audio_tower
        inner.layers = torch.nn.ModuleList()
        with pytest.raises(TuningError, match=f"has no linear layer in {part} \\(model"):
            plan_scope(model, "qwen2_audio", scope)

    def test_a_head_that_is_missing(self):
        model, _ = tiny.qwen2_audio()
        model.get_output_embeddings = lambda: None
        with pytest.raises(TuningError, match="has no output layer"):
            plan_scope(model, "qwen2_audio", "lm_head")

    @pytest.mark.parametrize("scope", ["lm_head", "all_linear"])
    def test_a_head_that_is_quantised(self, scope):
        model, _ = tiny.qwen2_audio()
        rounded = model.lm_head.weight.mul(100).to(torch.int8)
        model.lm_head.weight = torch.nn.Parameter(rounded, requires_grad=False)
        with pytest.raises(TuningError, match=r"'lm_head' is a Linear \(int8\): it is quantised"):
            plan_scope(model, "qwen2_audio", scope)
        assert plan_scope(model, "qwen2_audio", "decoder").modules, "the way out"

    def test_a_head_of_another_class(self):
        class Linear4bit(torch.nn.Linear):
            """In the place of bitsandbytes's."""

        model, _ = tiny.qwen2_audio()
        model.lm_head = Linear4bit(32, 262, bias=False)
        with pytest.raises(TuningError, match="is a Linear4bit"):
            plan_scope(model, "qwen2_audio", "lm_head")


def test_a_rank_that_no_layer_can_use_is_rejected():
    shapes = {"a": (32, 262), "b": (64, 48)}
    layers = AdaptedLayers("decoder", "lm_head", {}, shapes, (), tied=False)
    layers.validate_rank(48)
    with pytest.raises(TuningError, match="--lora-rank 1000000 is above 48"):
        layers.validate_rank(1_000_000)
