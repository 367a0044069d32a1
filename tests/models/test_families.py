"""The table of families: every entry is asked, each as far as it can be built without more."""

import json
import shutil

import pytest
import tiny
from asking import ask, clip, silence
from tiny import peft, torch, transformers
from tiny_others import OTHERS

from otoscope.models.base import ModelError, Status
from otoscope.models.families import FAMILIES
from otoscope.models.transformers_models import open_transformers
from otoscope.prompts.parts import Text

pytestmark = pytest.mark.filterwarnings(
    # peft asks transformers by an old name when it makes an adapter
    "ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"
)
OWN_ADAPTER = "speech-lora"


@pytest.mark.parametrize("model_type", sorted(FAMILIES))
def test_every_family_exists_in_transformers(model_type):
    family = FAMILIES[model_type]
    assert hasattr(transformers, family.model)
    assert hasattr(transformers, family.processor)
    assert transformers.CONFIG_MAPPING[model_type]
    assert family.proven in ("real weights", "tiny", "unrun")


def test_every_family_marked_tiny_runs_here():
    whole = {"qwen2_audio", "audioflamingo3", "qwen2_5_omni"}
    assert {name for name in FAMILIES if FAMILIES[name].proven == "tiny"} == whole | set(OTHERS)


@pytest.fixture(params=sorted(OTHERS))
def opened(request, tmp_path, monkeypatch):
    """A family's model; its processor is handed over, since its libraries are not installed."""
    return opening(request.param, tmp_path, monkeypatch)


def opening(name, folder, monkeypatch, **options):
    model, processor = OTHERS[name](monkeypatch)
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(20)
    model.save_pretrained(folder)
    if name == "phi4_multimodal" and options.pop("with_adapter", True):
        config = peft.LoraConfig(r=2, target_modules=r".*qkv_proj", init_lora_weights=False)
        peft.get_peft_model(model, config).save_pretrained(folder / OWN_ADAPTER)
    handing_over(processor, monkeypatch)
    return open_transformers(str(folder), batch_size=4, max_new_tokens=5, **options)


def handing_over(processor, monkeypatch):
    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", lambda *_, **__: processor)


def without_time(answers):
    return [(a.text, a.status, a.text_truncated, a.n_tokens_in, a.n_tokens_out) for a in answers]


class TestEveryOtherFamily:
    def test_answers_do_not_depend_on_the_batch(self, opened):
        questions = [ask("Up? " * (i + 1), clip(i, seconds=0.5 + 0.6 * i)) for i in range(3)]
        together = opened.with_settings(logprobs=True).answer(questions)
        alone = [opened.with_settings(logprobs=True).answer([request])[0] for request in questions]
        assert without_time(together) == without_time(alone)
        assert all(answer.status is Status.OK for answer in together)
        for first, second in zip(together, alone, strict=True):
            assert first.logprobs == pytest.approx(second.logprobs, abs=1e-3)

    def test_the_audio_reaches_the_answer(self, opened):
        audio_inputs = (clip(1), clip(2), silence())
        assert len({opened.input_fingerprint(ask("?", sound)) for sound in audio_inputs}) == 3
        scoring = opened.with_settings(logprobs=True)
        answers = scoring.answer([ask("?", sound) for sound in audio_inputs])
        assert len({answer.logprobs["increase"] for answer in answers}) > 1

    def test_text_and_audio_come_in_the_order_of_the_question(self, opened):
        request = ask("ONE", clip(1, 0.5), "TWO", clip(2, 0.8), "THREE")
        ids = opened.encoder.encode([request]).inputs["input_ids"][0]
        placeholder = opened.loaded.processor.audio_token
        text = opened.loaded.processor.tokenizer.decode(ids)
        pieces = [piece for piece in text.split(placeholder) if piece]
        assert len(pieces) == 3
        assert [
            word in piece for word, piece in zip(("ONE", "TWO", "THREE"), pieces, strict=True)
        ] == [True] * 3
        assert opened.answer([request])[0].status is Status.OK

    def test_a_question_needs_no_clip(self, opened):
        questions = [ask("Which?"), ask("Louder?", clip(1, 0.5)), ask("Which colour?")]
        together = opened.with_settings(logprobs=True).answer(questions)
        alone = [opened.with_settings(logprobs=True).answer([request])[0] for request in questions]
        assert without_time(together) == without_time(alone)
        assert [answer.status for answer in together] == [Status.OK] * 3

    def test_a_system_message_reaches_the_model_or_is_rejected(self, opened):
        request = ask(Text("BE BRIEF", "system"), "Louder?", clip(1, 0.5))
        if opened.loaded.family.model_type in ("voxtral", "granite_speech"):
            with pytest.raises(ModelError, match=r"has a system message|gives the model 0"):
                opened.answer([request])
            return
        ids = opened.encoder.encode([request]).inputs["input_ids"][0]
        text = opened.loaded.processor.tokenizer.decode(ids)
        assert text.startswith("<|im_start|>system\nBE BRIEF<|im_end|>\n<|im_start|>user\nLouder?")

    def test_it_is_described(self, opened):
        described = opened.description()
        json.dumps(described)
        assert described["model_type"] in OTHERS
        assert described["part_order"] == "as asked"

    def test_long_clips_are_cut_where_the_table_says_so(self, opened):
        family = opened.loaded.family
        if family.model_type == "qwen2_5_omni_thinker":  # cuts longer clips without an error
            assert opened.max_audio_s == tiny.WINDOW_S
            return
        short, long = (
            opened.encoder.encode([ask("?", clip(1, seconds, rate=16000))]).inputs
            for seconds in (tiny.WINDOW_S, 2 * tiny.WINDOW_S)
        )
        features = family.features[0]
        assert long[features].numel() == pytest.approx(2 * short[features].numel(), rel=0.02)


def test_an_omni_checkpoint_uses_its_thinker(tmp_path, monkeypatch):
    """Its checkpoint has the thinker's weights under a prefix, beside those that speak."""
    from safetensors.torch import load_file, save_file

    alone = opening("qwen2_5_omni_thinker", tmp_path / "thinker", monkeypatch)
    whole = tmp_path / "whole"
    shutil.copytree(tmp_path / "thinker", whole)
    weights = load_file(whole / "model.safetensors")
    prefixed = {
        name if name.startswith("thinker.") else f"thinker.{name}": weight
        for name, weight in weights.items()
    }
    save_file(prefixed, whole / "model.safetensors", metadata={"format": "pt"})
    thinker = json.loads((whole / "config.json").read_text())
    config = {"model_type": "qwen2_5_omni", "thinker_config": thinker}
    (whole / "config.json").write_text(json.dumps(config))
    model = open_transformers(str(whole), max_new_tokens=5)
    assert model.description()["model_type"] == "qwen2_5_omni"
    questions = [ask("Louder?", clip())]
    assert without_time(model.answer(questions)) == without_time(alone.answer(questions))


def test_a_family_with_an_audio_adapter_of_its_own_gets_it(tmp_path, monkeypatch):
    model = opening("phi4_multimodal", tmp_path, monkeypatch)
    assert model.description()["own_adapter"] == OWN_ADAPTER
    assert any("lora" in name for name, _ in model.loaded.model.named_parameters())


def test_and_is_rejected_without(tmp_path, monkeypatch):
    with pytest.raises(ModelError, match=r"no folder 'speech-lora'.*--adapter"):
        opening("phi4_multimodal", tmp_path, monkeypatch, with_adapter=False)


def test_a_library_that_a_processor_needs_is_named(tmp_path, monkeypatch):
    transformers.GraniteSpeechConfig().save_pretrained(tmp_path)

    def missing(*_, **__):
        raise ImportError("GraniteSpeechFeatureExtractor requires the torchaudio library")

    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", missing)
    with pytest.raises(ModelError, match=r"torchaudio library.*pip install torchaudio"):
        open_transformers(str(tmp_path))
