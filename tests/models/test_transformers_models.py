"""Audio models of transformers: asked in the right order, in any batch, and never in silence."""

import json
import logging
from dataclasses import replace

import pytest
import tiny
from asking import ask, clip, silence
from tiny import torch, transformers

from otoscope.models.base import ModelError, Status
from otoscope.models.batch_invariance import batch_invariance_check
from otoscope.models.guards import audio_input_check, with_silence
from otoscope.models.transformers_models import open_transformers
from otoscope.prompts.parts import Text
from otoscope.responses.closed_set import closed_set_name

WHOLE = ("qwen2_audio", "audioflamingo3")


@pytest.fixture(scope="module", params=WHOLE)
def family(request):
    return request.param


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """A checkpoint of each family that goes the whole way."""
    folder = tmp_path_factory.mktemp("checkpoints")
    return {name: tiny.save(getattr(tiny, name)(), folder / name) for name in WHOLE}


@pytest.fixture(scope="module")
def model(family, checkpoints):
    return open_transformers(checkpoints[family], batch_size=4, max_new_tokens=6)


@pytest.fixture(scope="module")
def qwen(checkpoints):
    return open_transformers(checkpoints["qwen2_audio"], batch_size=4, max_new_tokens=6)


def some_questions(n=4):
    """Of other lengths, in words and in sound, so that batches have to be padded."""
    return [
        ask("Louder? " * (1 + 3 * i), clip(i, seconds=0.5 + 0.7 * (n - i)), name=f"q{i}")
        for i in range(n)
    ]


def without_time(answers):
    """What must not depend on company: all but the time."""
    return [(a.text, a.status, a.text_truncated, a.n_tokens_in, a.n_tokens_out) for a in answers]


class TestAsking:
    def test_answers_do_not_depend_on_the_batch(self, model):
        questions = some_questions()
        together = model.answer(questions)
        alone = [model.answer([request])[0] for request in questions]
        assert without_time(together) == without_time(alone)
        assert len({answer.text for answer in together}) > 1, "the model must listen for this"

    def test_the_batch_check_agrees(self, model):
        check = batch_invariance_check(model, some_questions())
        assert check == (4, 4, ())

    def test_every_answer_is_counted(self, model):
        short, long = model.answer([ask("a", clip()), ask("a" * 11, clip())])
        assert long.n_tokens_in - short.n_tokens_in == 10, "one token a byte"
        assert short.n_tokens_out == 6
        assert short.wall_s > 0

    def test_questions_with_and_without_audio_keep_their_order(self, model):
        questions = [ask("No sound."), ask("Sound:", clip()), ask("None again.")]
        alone = [model.answer([request])[0] for request in questions]
        assert without_time(model.answer(questions)) == without_time(alone)

    def test_an_answer_ends_at_the_token_that_ends_it(self, model):
        request = ask("Louder?", clip())
        inputs = model.encoder.encode([request]).inputs
        ids = model.loaded.model.generate(**inputs, max_new_tokens=6, do_sample=False)
        third = ids[0, inputs["input_ids"].shape[1] + 2].item()
        own = transformers.GenerationConfig(eos_token_id=[third, 256], pad_token_id=257)
        ending = replace(model, loaded=model.loaded._replace(own_generation=own))
        (answer,) = ending.answer([request])
        assert not answer.text_truncated
        assert answer.n_tokens_out <= 3
        (cut,) = model.answer([request])
        assert cut.text_truncated

    def test_a_question_beyond_the_context_is_an_error_and_the_others_are_answered(self, model):
        questions = [ask("Louder?", clip()), ask("x" * 3000, clip()), ask("Softer?", clip())]
        good, bad, also_good = model.answer(questions)
        assert bad.status is Status.ERROR
        assert f"takes {bad.n_tokens_in} tokens; this model has room for 2042" in bad.detail
        assert without_time([good, also_good]) == without_time(
            model.answer([questions[0], questions[2]])
        )


class TestOrder:
    def input_text(self, model, request):
        """The whole input as text, each run of sound written as one `~`."""
        ids = model.encoder.encode([request]).inputs["input_ids"][0]
        placeholder = model.loaded.processor.audio_token
        text = model.loaded.processor.tokenizer.decode(ids)
        while placeholder * 2 in text:
            text = text.replace(placeholder * 2, placeholder)
        return text.replace(placeholder, "~")

    def test_text_and_audio_come_in_the_order_of_the_question(self, model):
        first = self.input_text(model, ask("BEFORE", clip()))
        assert first.index("BEFORE") < first.index("~")
        second = self.input_text(model, ask(clip(), "AFTER"))
        assert second.index("~") < second.index("AFTER")
        assert model.description()["part_order"] == "as asked"

    def test_examples_are_interleaved(self, qwen):
        request = ask("ONE", clip(1), "TWO", clip(2, 0.4), "THREE")
        text = self.input_text(qwen, request)
        marks = [text.index("ONE"), text.index("~"), text.index("TWO")]
        assert marks == sorted(marks)
        assert text.index("TWO") < text.rindex("~") < text.index("THREE")
        (features,) = {qwen.encoder.encode([request]).inputs["input_features"].shape[0]}
        assert features == 2

    def test_a_family_with_one_clip_a_question_says_so(self, checkpoints):
        model = open_transformers(checkpoints["audioflamingo3"])
        with pytest.raises(ModelError, match=r"has 2 clips but audioflamingo3 takes at most 1"):
            model.answer([ask("Which?", clip(1), clip(2))])

    def test_a_template_that_moves_the_audio_is_described(self, checkpoints, tmp_path):
        made, processor = tiny.audioflamingo3()
        processor.chat_template = (
            "{% for p in messages[0]['content'] %}{% if p['type'] == 'audio' %}<sound>{% endif %}"
            "{% endfor %}{% for p in messages[0]['content'] %}{{ p['text'] }}{% endfor %}"
        )
        moved = open_transformers(tiny.save((made, processor), tmp_path))
        assert moved.description()["part_order"] == "set by the chat template"

    def test_a_system_message_comes_first(self, model):
        request = ask(Text("BE BRIEF", "system"), "Louder?", clip())
        ids = model.encoder.encode([request]).inputs["input_ids"][0]
        text = model.loaded.processor.tokenizer.decode(ids)
        assert "<|im_start|>system\nBE BRIEF<|im_end|>\n<|im_start|>user\n" in text
        assert model.answer([request])[0].status is Status.OK

    @pytest.mark.parametrize(
        ("template", "message"),
        [
            ("{% for part in messages[-1]['content'] %}{% if part['type'] == 'audio' %}<|AUDIO|>"
             "{% endif %}{% endfor %}", "has a system message.*template leaves it out"),
            ("{{ raise_exception('System role not supported') }}", "System role not supported"),
        ],
    )  # fmt: skip
    def test_a_template_without_a_system_role(self, qwen, monkeypatch, template, message):
        monkeypatch.setattr(qwen.loaded.processor, "chat_template", template)
        with pytest.raises(ModelError, match=message):
            qwen.answer([ask(Text("BE BRIEF", "system"), "Louder?", clip())])

    def test_a_template_that_leaves_the_audio_out_is_rejected(self, tmp_path):
        made, processor = tiny.audioflamingo3()
        processor.chat_template = "{% for p in messages[0]['content'] %}{{ p['text'] }}{% endfor %}"
        deaf = open_transformers(tiny.save((made, processor), tmp_path))
        with pytest.raises(ModelError, match=r"has 1 clips but the chat template .* 0"):
            deaf.answer([ask("Louder?", clip())])

    def test_text_with_the_placeholder_is_rejected(self, model):
        placeholder = model.loaded.processor.audio_token
        with pytest.raises(ModelError, match="the placeholder of a clip"):
            model.answer([ask(f"He said {placeholder}.", clip())])


class TestEnding:
    """An answer as it is taught: the word, and what ends the turn in the chat template."""

    def test_the_word_and_what_the_template_ends_with(self, model):
        ids = model.encoder.answer_tokens(ask("Louder?", clip()), "increase")
        assert model.loaded.processor.tokenizer.decode(ids) == "increase<|im_end|>\n"
        assert len(ids) == len("increase") + 2, "one token a byte, and one that ends"

    def test_a_template_that_writes_no_answers_leaves_the_token_that_ends(self, tmp_path):
        made, processor = tiny.audioflamingo3()
        processor.chat_template = "{% for p in messages[0]['content'] %}<sound>{% endfor %}:"
        model = open_transformers(tiny.save((made, processor), tmp_path))
        ids = model.encoder.answer_tokens(ask(clip()), "decrease")
        assert model.loaded.processor.tokenizer.decode(ids) == "decrease<|im_end|>"


class TestAudioInput:
    def test_the_input_changes_with_the_audio(self, model):
        request = ask("Louder?", clip(1))
        report = audio_input_check(model, request, with_silence(request), ask("Louder?", clip(2)))
        assert report.checked

    def test_the_input_is_the_same_for_another_text(self, model):
        assert model.input_fingerprint(ask("One", clip())) == model.input_fingerprint(
            ask("Another", clip())
        )
        assert model.input_fingerprint(ask("One", clip())) != model.input_fingerprint(
            ask("One", silence())
        )

    def test_a_processor_that_drops_the_audio_is_rejected(self, model, monkeypatch):
        def drops(*_, **given):
            return model.loaded.processor.tokenizer(given["text"], return_tensors="pt")

        monkeypatch.setattr(type(model.loaded.processor), "__call__", drops)
        with pytest.raises(ModelError, match="the model would get no audio"):
            model.input_fingerprint(ask("Louder?", clip()))

    def test_the_answer_depends_on_the_audio(self, model):
        answers = model.with_settings(logprobs=True).answer([ask("Up?", clip(n)) for n in range(3)])
        assert len({answer.logprobs["increase"] for answer in answers}) == 3

    def test_a_clip_at_another_rate_is_resampled(self, model):
        assert model.sampling_rate == 16000
        low, high = clip(1, rate=16000), clip(1, rate=48000)
        answers = model.answer([ask("Louder?", low), ask("Louder?", high)])
        assert answers[0].n_tokens_in == answers[1].n_tokens_in, "both last a second"

    def test_the_processor_gets_the_rate(self, model):
        wrong = replace(model, encoder=replace(model.encoder, sampling_rate=8000))
        with pytest.raises(ValueError, match="sampling rate of 16000"):
            wrong.answer([ask("Louder?", clip())])

    def test_an_empty_clip_is_rejected(self, model):
        with pytest.raises(ModelError, match=r"'clip-1' has 0 samples"):
            model.answer([ask("Louder?", clip(seconds=0))])


class TestWindow:
    def too_long(self, model):
        return model.max_audio_s + 1

    def test_a_longer_clip_is_rejected(self, model):
        with pytest.raises(ModelError, match=r"lasts .* but the model takes at most"):
            model.answer([ask("Louder?", clip(seconds=self.too_long(model), rate=16000))])

    def test_the_stored_word_for_it_is_that_of_version_0_1(self, model, family, checkpoints):
        named = open_transformers(
            checkpoints[family], batch_size=4, max_new_tokens=6, on_long="reject"
        )
        assert named.description() == model.description()
        assert named.description()["on_long"] == "refuse"

    def test_or_its_start_is_used_and_flagged(self, model, family, checkpoints):
        flagging = open_transformers(checkpoints[family], on_long="flag", max_new_tokens=6)
        long = clip(seconds=self.too_long(model), rate=16000)
        n_heard = round(model.max_audio_s * 16000)
        short = replace(long, samples=long.samples[:n_heard])
        answers = flagging.answer([ask("Louder?", long), ask("Louder?", short)])
        assert [answer.audio_truncated for answer in answers] == [True, False]
        assert answers[0].text == answers[1].text
        assert flagging.description()["on_long"] == "flag"

    def test_a_clip_as_long_as_the_window_is_not_cut(self, model):
        (answer,) = model.answer([ask("Louder?", clip(seconds=model.max_audio_s, rate=16000))])
        assert not answer.audio_truncated

    def test_without_us_the_processor_would_cut(self, model, family):
        """The reason for the two above: nothing is raised, and the end is gone."""
        processor = model.loaded.processor
        long = clip(seconds=self.too_long(model), rate=16000).samples
        short = long[: round(model.max_audio_s * 16000)]
        made = [
            processor(
                text=[processor.audio_token], audio=[x], sampling_rate=16000, return_tensors="pt"
            )
            for x in (long, short)
        ]
        assert torch.equal(made[0]["input_features"], made[1]["input_features"])


NO_MEMORY = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")


class Cramped:
    """A model's `generate` with memory for so many questions."""

    def __init__(self, monkeypatch, inner, holds, error=NO_MEMORY):
        self.sizes, generate = [], inner.generate

        def cramped(**given):
            self.sizes.append(len(given["input_ids"]))
            if self.sizes[-1] > holds:
                raise error
            return generate(**given)

        monkeypatch.setattr(inner, "generate", cramped)


class TestMemory:
    @pytest.fixture
    def fresh(self, family, checkpoints):
        return open_transformers(checkpoints[family], batch_size=4, max_new_tokens=6)

    def test_half_a_batch_is_tried_and_the_answers_are_the_same(
        self, fresh, model, monkeypatch, caplog
    ):
        cramped = Cramped(monkeypatch, fresh.loaded.model, holds=1)
        with caplog.at_level(logging.WARNING):
            answers = fresh.answer(some_questions(4))
        assert without_time(answers) == without_time(model.answer(some_questions(4)))
        assert cramped.sizes == [4, 2, 1, 1, 1, 1]
        assert [record.levelname for record in caplog.records] == ["WARNING"], "said once"
        assert "out of memory with 4 questions at once" in caplog.text
        assert fresh.batch_size == 1
        assert fresh.with_settings(max_new_tokens=2).batch_size == 1

    @pytest.mark.parametrize(
        "error",
        [
            NO_MEMORY,
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate"),
            MemoryError(),
        ],
    )
    def test_a_question_that_never_fits_is_an_error(self, fresh, monkeypatch, error):
        Cramped(monkeypatch, fresh.loaded.model, holds=0, error=error)
        (answer,) = fresh.answer([ask("Louder?", clip(seconds=2))])
        assert answer.status is Status.ERROR
        assert answer.text is None
        assert answer.detail == "out of memory with this question alone (2.0 s of sound)"

    def test_another_error_is_not_taken_for_it(self, fresh, monkeypatch):
        Cramped(monkeypatch, fresh.loaded.model, holds=0, error=RuntimeError("shapes differ"))
        with pytest.raises(RuntimeError, match="shapes differ"):
            fresh.answer([ask("Louder?", clip())])


class TestSettings:
    def test_siblings_share_weights(self, model):
        longer = model.with_settings(max_new_tokens=9)
        assert longer.loaded.model is model.loaded.model
        first, second = (m.answer([ask("Louder?", clip())])[0] for m in (model, longer))
        assert (first.n_tokens_out, second.n_tokens_out) == (6, 9)
        assert longer.description()["generation"]["max_new_tokens"] == 9
        assert model.description()["generation"]["max_new_tokens"] == 6

    def test_the_checkpoints_own_sampling_is_left_out_by_default(self, tmp_path):
        made, processor = tiny.qwen2_audio()
        made.generation_config = transformers.GenerationConfig(
            do_sample=True, temperature=0.7, top_k=20, top_p=0.5, repetition_penalty=1.1
        )
        folder = tiny.save((made, processor), tmp_path, scale=1.0)
        greedy, own = open_transformers(folder), open_transformers(folder, preset="own")
        generation = greedy.description()["generation"]
        assert generation["do_sample"] is False
        assert "temperature" not in generation
        assert generation["repetition_penalty"] == 1.1, "no setting of sampling: it stays"
        drawn = own.description()["generation"]
        assert (drawn["do_sample"], drawn["temperature"], drawn["top_k"]) == (True, 0.7, 20)

    def test_drawn_answers_repeat_themselves_in_any_company(self, tmp_path):
        folder = tiny.save(tiny.qwen2_audio(), tmp_path, scale=1.0)
        drawn = open_transformers(folder, preset="mimo-audio", max_new_tokens=12)
        assert drawn.description()["decoding"] == {
            "preset": "mimo-audio",
            "sampled": True,
            "temperature": 0.3,
            "top_p": 0.95,
            "seed": 1234,
        }
        questions = some_questions()
        together = without_time(drawn.answer(questions))
        torch.manual_seed(5)
        assert together == without_time(drawn.answer(questions))
        assert together == without_time([drawn.answer([request])[0] for request in questions])
        assert together != without_time(drawn.with_settings(preset="greedy").answer(questions)), (
            "a temperature of 0.3 on logits this flat must show"
        )

    def test_a_preset_that_does_not_exist_is_named(self, checkpoints):
        with pytest.raises(LookupError, match="did you mean 'mimo-audio'"):
            open_transformers(checkpoints["qwen2_audio"], preset="mimo_audio")

    def test_nothing_is_logged(self, tmp_path, caplog, monkeypatch):
        """Not even where the checkpoint would sample and the preset does not."""
        made, processor = tiny.qwen2_audio()
        made.generation_config = transformers.GenerationConfig(
            do_sample=True, temperature=0.7, top_k=20, top_p=0.5
        )
        greedy = open_transformers(tiny.save((made, processor), tmp_path), max_new_tokens=3)
        monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)
        with caplog.at_level(logging.WARNING):
            greedy.answer([ask("Louder?", clip())])
        assert not caplog.records


class TestLogprobs:
    def by_hand(self, model, request, word):
        """Token by token, each with a pass of its own over all that stands before it."""
        inputs = dict(model.encoder.encode([request]).inputs)
        total = 0.0
        for token in model.loaded.processor.tokenizer.encode(word):
            with torch.inference_mode():
                logits = model.loaded.model(**inputs).logits[0, -1]
            total += torch.log_softmax(logits, 0)[token].item()
            added = torch.tensor([[token]])
            inputs["input_ids"] = torch.cat([inputs["input_ids"], added], 1)
            inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        return total

    def test_they_are_those_of_the_whole_word_after_the_question(self, model):
        scoring = model.with_settings(logprobs=True)
        questions = [
            ask("Louder?", clip(1), labels=("up", "decrease")),
            ask("Is this one louder?", clip(2, 0.4), labels=("increase", "down", "no")),
            ask("Say anything.", clip(3), labels=()),
        ]
        first, second, third = scoring.answer(questions)
        for request, answer in zip(questions[:2], (first, second), strict=True):
            assert tuple(answer.logprobs) == request.question.labels
            for word, score in answer.logprobs.items():
                assert score == pytest.approx(self.by_hand(model, request, word), abs=1e-3)
        assert third.logprobs is None

    def test_options_with_letters_are_scored_by_their_letters(self, model):
        labels = ("cat", "dog", "cow")
        parser = closed_set_name(labels, letters=True)
        lettered = ask("A. cat B. dog C. cow?", clip(1), labels=labels, parser=parser)
        plain = ask("A. cat B. dog C. cow?", clip(1), labels=("A", "B", "C"))
        first, second = model.with_settings(logprobs=True).answer([lettered, plain])
        assert first.logprobs == {
            label: pytest.approx(second.logprobs[letter], abs=1e-6)
            for label, letter in zip(labels, "ABC", strict=True)
        }

    def test_there_are_none_by_default(self, model):
        (answer,) = model.answer([ask("Louder?", clip())])
        assert answer.logprobs is None


class TestDescription:
    def test_it_is_json_and_names_no_folder_of_this_machine(self, model, family, checkpoints):
        described = json.dumps(model.description())
        assert checkpoints[family] not in described
        assert json.loads(described)["name"] == family

    def test_it_has_what_pins_the_weights(self, model, family):
        described = model.description()
        assert described["model_type"] == family
        assert described["dtype"] == "float32"
        assert len(described["content"]) == 64
        assert described["adapter"] is None

    def test_other_weights_of_the_same_shape_are_other_weights(self, qwen, tmp_path):
        other = open_transformers(tiny.save(tiny.qwen2_audio(seed=1), tmp_path))
        assert other.description()["content"] != qwen.description()["content"]

    def test_the_requested_dtype_is_the_one_described(self, checkpoints):
        model = open_transformers(checkpoints["qwen2_audio"], dtype="bfloat16", max_new_tokens=2)
        assert model.description()["dtype"] == "bfloat16"
        assert model.answer([ask("Louder?", clip())])[0].status is Status.OK
