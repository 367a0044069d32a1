"""One pass gives what a plain pass gives, at every site of both families that go the whole way."""

import shutil
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
import tiny
from asking import ask, clip
from asking_inside import question, questions
from tiny import peft, torch, transformers

from otoscope.models.base import Answer, ModelError, Request
from otoscope.models.loading import chat_template_of
from otoscope.models.transformers_models import open_transformers
from otoscope.representations import hooks
from otoscope.representations.hidden_states import CustomModelExtractor, extractor_for
from otoscope.representations.mel import mel_features
from tests.representations.test_pooling import plain_pooled

pytestmark = pytest.mark.filterwarnings(
    # peft asks transformers by an old name when it makes an adapter
    "ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"
)
WHOLE = ("qwen2_audio", "audioflamingo3")
N_LAYERS, WIDTH = 2, 32


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints")
    return {name: tiny.save(getattr(tiny, name)(), folder / name) for name in WHOLE}


@pytest.fixture(scope="module", params=WHOLE)
def model(request, checkpoints):
    return open_transformers(checkpoints[request.param], batch_size=4)


@pytest.fixture(scope="module")
def qwen(checkpoints):
    return open_transformers(checkpoints["qwen2_audio"], batch_size=4)


def plain(model, request):
    """All hidden states of one question alone, and its tokens, as transformers gives them."""
    inputs = model.encoder.encode([request]).inputs
    with torch.no_grad():
        out = model.loaded.model(**inputs, output_hidden_states=True)
    states = [state[0].numpy() for state in out.hidden_states]
    return states, inputs["input_ids"][0].tolist()


def audio_token(model):
    processor = model.loaded.processor
    return processor.tokenizer.convert_tokens_to_ids(processor.audio_token)


def close(found, expected):
    np.testing.assert_allclose(found, expected, atol=2e-5)


class TestStates:
    @pytest.mark.parametrize("audio_first", [False, True])
    def test_every_site_is_what_a_plain_pass_holds_there(self, model, audio_first):
        requests = questions(4, audio_first=audio_first)
        seen = extractor_for(model)
        sites = [s for s in seen.widths if "q_" not in s and s != "answer"]
        found = seen.extract(requests, sites).states
        assert list(found) != []
        for n, one in enumerate(requests):
            states, ids = plain(model, one)
            positions = [i for i, token in enumerate(ids) if token == audio_token(model)]
            m = len(positions)
            close(found["mel"][n], mel_features(one.audio_inputs[0]))
            close(found["pre_llm"][n], plain_pooled(states[0][positions]))
            for k in range(N_LAYERS + 1):
                close(found[f"audio.{k}"][n], plain_pooled(states[k][positions]))
                close(found[f"text.{k}"][n], states[k][-1])
                for quarter in range(1, 5):
                    # as published: the last frame before the boundary that is cut down to a whole
                    end = positions[int(quarter * m / 4) - 1]
                    close(found[f"audio.{k}@a{quarter}"][n], states[k][end])

    def test_widths_are_those_declared(self, model):
        seen = extractor_for(model)
        sites = [site for site in seen.widths if site != "answer" and "q_" not in site]
        states = seen.extract(questions(2), sites).states
        assert {site: states[site].shape[1] for site in sites} == {
            site: seen.widths[site] for site in sites
        }
        assert seen.widths["mel"] == 2048
        assert seen.widths["audio.1"] == 16 * WIDTH
        assert seen.widths["text.1"] == seen.widths["answer"] == WIDTH

    def test_the_last_state_is_what_the_output_layer_reads(self, model):
        (found,) = extractor_for(model).extract([question(1)], ["text.2"]).states.values()
        inputs = model.encoder.encode([question(1)]).inputs
        with torch.no_grad():
            logits = model.loaded.model(**inputs).logits[0, -1]
            close(model.loaded.model.lm_head(torch.from_numpy(found))[0], logits)

    def test_states_do_not_depend_on_the_batch(self, model):
        requests, seen = questions(5), extractor_for(model)
        sites = ["pre_llm", "audio.2", "text.1", "text.2", "audio.1@a3", "answer"]
        together = seen.extract(requests, sites)
        for n, one in enumerate(requests):
            alone = seen.extract([one], sites)
            for site in sites[:-1]:
                close(together.states[site][n], alone.states[site][0])
            close(together.answers[n][0], alone.answers[0][0])

    def test_an_adapter_changes_states_and_description(self, checkpoints, tmp_path):
        folder = checkpoints["qwen2_audio"]
        with_it = extractor_for(open_transformers(folder, adapter=tiny.adapter(tmp_path / "lora")))
        without = extractor_for(open_transformers(folder))
        sites = ["pre_llm", "text.0", "text.2"]
        tuned, base = (x.extract([question()], sites).states for x in (with_it, without))
        close(tuned["pre_llm"], base["pre_llm"])
        close(tuned["text.0"], base["text.0"])
        assert np.abs(tuned["text.2"] - base["text.2"]).max() > 1e-3
        differs = {k for k, v in with_it.description.items() if without.description[k] != v}
        assert differs == {"adapter"}

    @pytest.mark.parametrize("kind", ["PromptTuningConfig", "PromptEncoderConfig"])
    def test_an_adapter_that_puts_tokens_before_the_prompt_is_rejected(
        self, checkpoints, tmp_path, kind
    ):
        config = getattr(peft, kind)(task_type="CAUSAL_LM", num_virtual_tokens=8)
        peft.get_peft_model(tiny.qwen2_audio()[0], config).save_pretrained(tmp_path)
        shifted = open_transformers(checkpoints["qwen2_audio"], adapter=str(tmp_path))
        asked = question(audio_first=True)
        n_tokens = shifted.encode([asked]).inputs["input_ids"].shape[1]
        message = f"{n_tokens + 8} hidden states for a prompt of {n_tokens} tokens"
        for site in ("text.1", "audio.0", "text.2@q_l"):
            with pytest.raises(ModelError, match=message):
                extractor_for(shifted).extract([asked], [site])
        with pytest.raises(ModelError, match="hidden states for a prompt"):
            extractor_for(shifted).extract([asked], ["answer"])

    def test_a_template_that_names_the_date_gives_the_same_states_on_every_day(
        self, checkpoints, tmp_path, monkeypatch
    ):
        shutil.copytree(checkpoints["qwen2_audio"], tmp_path / "dated")
        opened = open_transformers(str(tmp_path / "dated"))
        processor = opened.loaded.processor
        own = chat_template_of(processor)
        dated = "<|im_start|>system\nToday: {{ strftime_now('%d %b %Y') }}<|im_end|>\n" + own
        processor.chat_template = dated
        seen = extractor_for(opened)
        found = {}
        for day in (1, 2):
            clock = type("Clock", (datetime,), {"now": classmethod(lambda c, d=day: c(2027, 1, d))})
            monkeypatch.setattr(transformers.utils.chat_template_utils, "datetime", clock)
            found[day] = seen.extract([question()], ["text.1", "text.2"]).states
            assert "Today: 01 Jan 2026<" in opened.encoder.answer_text(question(), "up").before
        np.testing.assert_array_equal(found[1]["text.2"], found[2]["text.2"])
        assert seen.description["chat_template_date"] == "2026-01-01T12:00:00"
        assert (
            "chat_template_date"
            not in extractor_for(open_transformers(checkpoints["qwen2_audio"])).description
        )

    def test_what_only_changes_answers_is_no_part_of_the_description(self, checkpoints):
        folder = checkpoints["qwen2_audio"]
        one, other = (
            extractor_for(
                open_transformers(folder, max_new_tokens=n, preset=preset, label_scores=n > 5)
            )
            for n, preset in ((5, "greedy"), (9, "mimo-audio"))
        )
        assert one.description == other.description
        assert one.description["content"]


class TestAnswer:
    def test_its_states_predict_the_gold_answer_token_by_token(self, model):
        requests = questions(3)
        found = extractor_for(model).extract(requests, ["answer"]).answers
        network, tokenizer = model.loaded.model, model.loaded.processor.tokenizer
        for one, (states, tokens) in zip(requests, found, strict=True):
            assert tokenizer.decode(tokens) == f"{one.question.label}<|im_end|>\n"
            inputs = dict(model.encoder.encode([one]).inputs)
            n = inputs["input_ids"].shape[1]
            ids = torch.cat([inputs["input_ids"], torch.tensor(tokens)[None]], dim=1)
            inputs |= {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
            with torch.no_grad():
                logits = network(**inputs).logits[0, n - 1 : -1]
                close(network.lm_head(torch.from_numpy(states)), logits)

    def test_the_first_one_is_where_the_answer_is_predicted(self, model):
        seen = extractor_for(model).extract(questions(2), ["answer", "text.2"])
        close(np.stack([states[0] for states, _ in seen.answers]), seen.states["text.2"])

    def test_the_word_is_the_one_that_the_prompt_offers(self, qwen):
        made = question(label="yes")
        changed = Request(replace(made.question, prompt_name="change"), made.parts)
        ((_, tokens),) = extractor_for(qwen).extract([changed], ["answer"]).answers
        assert qwen.loaded.processor.tokenizer.decode(tokens).startswith("yes<")

    def test_no_right_answer_is_rejected(self, qwen):
        with pytest.raises(ModelError, match=r"'q0\|main' has no right answer"):
            extractor_for(qwen).extract([question(label=None)], ["answer"])


class TestQuestionWords:
    def test_positions_are_the_last_tokens_of_what_they_name(self, model):
        requests = questions(4, audio_first=True)
        found = (
            extractor_for(model)
            .extract(requests, ["text.1@q_attr", "text.1@q_p", "text.1@q_l"])
            .states
        )
        tokenizer = model.loaded.processor.tokenizer
        for n, one in enumerate(requests):
            states, ids = plain(model, one)
            said = {end: tokenizer.decode(ids[: end + 1]) for end in range(len(ids))}
            prompt = one.question.prompt
            up_to_attribute = prompt[: prompt.index(one.question.attribute)]
            ends = {
                "q_attr": up_to_attribute + one.question.attribute,
                "q_p": prompt[:-1],
                "q_l": prompt,
            }
            for name, text in ends.items():
                (place,) = (end for end, before in said.items() if before.endswith(text))
                close(found[f"text.1@{name}"][n], states[1][place])

    def test_before_the_clip_they_are_rejected(self, model):
        with pytest.raises(ModelError, match=r"text before the clip.*main_audio_first"):
            extractor_for(model).extract([question()], ["text.1@q_l"])

    def test_an_attribute_that_occurs_twice_is_rejected(self, qwen):
        made = ask(clip(), "Does the volume, the volume, go up?")
        request = Request(replace(made.question, attribute="volume"), made.parts)
        with pytest.raises(ModelError, match="'volume' is not once among the tokens"):
            extractor_for(qwen).extract([request], ["text.1@q_attr"])


class TestOnePass:
    def layers_run(self, model, sites):
        run = []
        layers = [*model.loaded.model.model.language_model.layers, model.loaded.model.lm_head]
        handles = [
            layer.register_forward_hook(lambda *_, n=n: run.append(n))
            for n, layer in enumerate(layers)
        ]
        extractor_for(model).extract(questions(3), sites)
        for handle in handles:
            handle.remove()
        return run

    def test_all_sites_take_one(self, model):
        sites = [site for site in extractor_for(model).widths if "q_" not in site]
        assert self.layers_run(model, sites) == [0, 1], "each layer once, and never the head"

    def test_the_pass_ends_at_the_deepest_site(self, model):
        assert self.layers_run(model, ["pre_llm", "text.0"]) == []
        assert self.layers_run(model, ["text.1"]) == [0]

    def test_the_mel_site_does_not_run_the_model(self, model, monkeypatch):
        monkeypatch.setattr(type(model), "encode", None)
        assert extractor_for(model).extract([question()], ["mel"]).states["mel"].shape == (1, 2048)

    def test_results_are_no_view_of_anything_larger(self, model):
        sites = [site for site in extractor_for(model).widths if "q_" not in site and site != "mel"]
        seen = extractor_for(model).extract(questions(3), sites)
        for kept in (*seen.states.values(), *(states for states, _ in seen.answers)):
            held = kept
            while getattr(held, "base", None) is not None:
                held = held.base
            size = held.untyped_storage().nbytes() if torch.is_tensor(held) else held.nbytes
            assert size == kept.nbytes

    def test_no_hook_is_left_behind(self, model):
        decoder = model.loaded.model.model.language_model
        modules = (*decoder.layers, decoder.norm)
        before = [len(m._forward_pre_hooks) + len(m._forward_hooks) for m in modules]
        extractor_for(model).extract(questions(2), ["text.1", "text.2"])
        assert [len(m._forward_pre_hooks) + len(m._forward_hooks) for m in modules] == before


class TestRefusals:
    def test_no_clip_and_two_clips(self, qwen):
        for parts, n in ((["Louder?"], 0), (["Louder?", clip(1), clip(2)], 2)):
            for site in ("mel", "text.1"):
                with pytest.raises(ModelError, match=f"has {n} clips; hidden states are extracted"):
                    extractor_for(qwen).extract([ask(*parts)], [site])

    def test_an_input_without_audio_tokens(self, qwen, monkeypatch):
        processor = qwen.loaded.processor

        def deaf(text, **_):
            words = [one.replace(processor.audio_token, "") for one in text]
            return transformers.BatchFeature(processor.tokenizer(words, return_tensors="pt"))

        monkeypatch.setattr(type(processor), "__call__", lambda self, **given: deaf(**given))
        with pytest.raises(ModelError, match="gives the model no audio token"):
            extractor_for(qwen).extract([question()], ["text.1"])

    def test_a_version_of_transformers_with_other_parts(self, qwen):
        family = replace(qwen.loaded.family, decoder="model.words")
        other = replace(qwen, loaded=qwen.loaded._replace(family=family))
        with pytest.raises(ModelError, match=r"has no 'model.words'.*version of transformers"):
            _ = hooks.TransformersExtractor(other).widths


class TestMemory:
    def cramped(self, model, monkeypatch, holds):
        sizes, forward = [], model.loaded.model.forward

        def counting(**given):
            sizes.append(len(given["input_ids"]))
            if sizes[-1] > holds:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
            return forward(**given)

        monkeypatch.setattr(model.loaded.model, "forward", counting)
        return sizes

    def test_half_a_batch_is_tried_and_the_states_are_the_same(self, checkpoints, monkeypatch):
        fresh = open_transformers(checkpoints["qwen2_audio"], batch_size=4)
        expected = extractor_for(fresh).extract(questions(4), ["text.1"]).states["text.1"]
        sizes = self.cramped(fresh, monkeypatch, holds=2)
        close(extractor_for(fresh).extract(questions(4), ["text.1"]).states["text.1"], expected)
        assert sizes == [4, 2, 2]

    def test_a_question_that_never_fits_is_named(self, checkpoints, monkeypatch):
        fresh = open_transformers(checkpoints["qwen2_audio"], batch_size=4)
        self.cramped(fresh, monkeypatch, holds=0)
        with pytest.raises(ModelError, match=r"out of memory with question 'q0\|main' alone"):
            extractor_for(fresh).extract(questions(4), ["text.1"])


class Custom:
    """A model of one's own that can be looked into."""

    batch_size = 3

    def __init__(self):
        self.sites = {"ear": 2, "brain.0": 1}
        self.description = {"kind": "ear", "version": 1}

    def answer(self, questions):
        return [Answer("increase") for _ in questions]

    def states(self, questions, sites):
        power = [[float(np.square(q.audio_inputs[0].samples).mean()), 1.0] for q in questions]
        return {"ear": np.array(power), "brain.0": np.array(power)[:, :1]}


class TestOwnModel:
    def test_its_sites_stand_beside_the_mel_spectrogram(self):
        seen = extractor_for(Custom())
        assert dict(seen.widths) == {"mel": 2048, "ear": 2, "brain.0": 1}
        found = seen.extract(questions(2), ["mel", "ear"]).states
        assert found["ear"].shape == (2, 2)
        assert found["ear"].dtype == np.float32
        close(found["ear"][1, 0], np.square(questions(2)[1].audio_inputs[0].samples).mean())

    def test_one_that_declares_none_has_only_mel(self):
        class WithoutSites:
            def answer(self, questions):
                return []

        assert list(extractor_for(WithoutSites()).widths) == ["mel"]

    @pytest.mark.parametrize("name", ["mel", "answer"])
    def test_a_reserved_name_is_rejected(self, name):
        ear = Custom()
        ear.sites[name] = 3
        with pytest.raises(ModelError, match=f"Custom.sites: '{name}' is a built-in site"):
            _ = CustomModelExtractor(ear).widths

    @pytest.mark.parametrize("sites", [5, ["ear"], {"ear": "2"}, {"ear": 0}, {1: 2}])
    def test_sites_that_are_no_widths_are_rejected(self, sites):
        ear = Custom()
        ear.sites = sites
        with pytest.raises(ModelError, match=r"Custom\.sites"):
            _ = CustomModelExtractor(ear).widths

    @pytest.mark.parametrize(
        ("states", "message"),
        [
            (lambda *_: None, "returns a NoneType, not a mapping"),
            (lambda *_: 1 / 0, "raised ZeroDivisionError: division by zero"),
            (lambda *_: {"ear": [[1], [1, 2]]}, "raised ValueError"),
            (lambda *_: {"ear": [["a", "b"], ["c", "d"]]}, "raised ValueError"),
        ],
    )
    def test_states_that_are_none_are_rejected(self, states, message, monkeypatch):
        monkeypatch.setattr(Custom, "states", states)
        with pytest.raises(ModelError, match=rf"Custom\.states {message}"):
            extractor_for(Custom()).extract(questions(2), ["ear"])

    @pytest.mark.parametrize(
        ("made", "message"), [({}, "nothing"), ({"ear": np.zeros((2, 5))}, r"shape \(2, 5\)")]
    )
    def test_states_of_another_shape_are_rejected(self, made, message, monkeypatch):
        monkeypatch.setattr(Custom, "states", lambda *_: made)
        with pytest.raises(
            ModelError, match=rf"Custom.states gives {message} for 'ear', not \(2, 2\)"
        ):
            extractor_for(Custom()).extract(questions(2), ["ear"])
