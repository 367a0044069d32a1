"""Answers by the logits of letters: against a plain pass through the same tiny model."""

import numpy as np
import pytest
import tiny
from asking import ask, clip
from tiny import torch

from otoscope.models.base import Answer, ModelError
from otoscope.models.opening import open_model
from otoscope.models.option_logits import OptionLogitsModel, likeliest, single_tokens

LETTERS = tuple("ABCDEFG")


def lettered(folder, letters=LETTERS, seed=0):
    """A tiny Qwen2-Audio whose tokenizer has a blank and a letter as one token."""
    model, processor = tiny.qwen2_audio(seed)
    processor.tokenizer.add_tokens([f" {letter}" for letter in letters])
    torch.manual_seed(seed)
    model.resize_token_embeddings(len(processor.tokenizer), mean_resizing=False)
    return tiny.save((model, processor), folder)


class Weighing:
    """Has the same logits for everything."""

    def __init__(self, *logits):
        self.description, self.logits = {"kind": "weighing"}, logits

    def option_logits(self, questions, options):
        assert options == [f" {letter}" for letter in LETTERS[: len(self.logits)]]
        return np.tile(self.logits, (len(questions), 1))


def requests_of(*seconds):
    return [
        ask("Which emotion?", clip(seed=n, seconds=s), labels=LETTERS, name=f"q{n}")
        for n, s in enumerate(seconds)
    ]


class TestDeciding:
    def test_the_softmax_is_over_the_labels_alone(self):
        found = likeliest("AB", np.array([np.log(3.0), 0.0]))
        assert found.text == "A"
        assert {k: np.exp(v) for k, v in found.logprobs.items()} == pytest.approx(
            {"A": 0.75, "B": 0.25}
        )

    def test_of_equal_logits_the_earliest_counts(self):
        assert likeliest("ABC", np.array([0.0, 2.0, 2.0])).text == "B"

    def test_great_logits_do_not_overflow(self):
        assert likeliest("AB", np.array([1e5, 1e5 + 1])).logprobs["B"] == pytest.approx(
            -np.log1p(np.exp(-1))
        )

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_logit_that_is_no_number(self, bad):
        with pytest.raises(ModelError, match="logits of A, B are not all finite"):
            likeliest("AB", np.array([0.0, bad]))


class TestReader:
    def test_asks_for_the_labels_with_a_blank_before_them(self):
        question = ask("?", clip(), labels=("A", "B"))
        (answer,) = OptionLogitsModel(Weighing(0.0, 1.0)).answer([question])
        assert answer.text == "B"
        assert answer.logprobs.keys() == {"A", "B"}

    def test_questions_with_other_labels_keep_their_order(self):
        class Longest:
            def option_logits(self, questions, options):
                return np.tile(np.arange(len(options)), (len(questions), 1))

        questions = [ask("?", clip(), labels=tuple("ABCDEFG"[:n])) for n in (2, 3, 2, 4)]
        answered = [answer.text for answer in OptionLogitsModel(Longest()).answer(questions)]
        assert answered == ["B", "C", "B", "D"]

    def test_a_question_without_options_is_named(self):
        with pytest.raises(ModelError, match=r"'q\|main' offers no options"):
            OptionLogitsModel(Weighing()).answer([ask("?", clip(), labels=())])

    def test_a_model_without_logits_is_rejected_with_the_reason(self):
        class WithoutLogits:
            def __init__(self):
                self.description = {"kind": "openai"}

            def answer(self, questions):
                return [Answer("A") for _ in questions]

        with pytest.raises(
            ModelError, match="openai gives no logits, by which options are compared"
        ):
            OptionLogitsModel(WithoutLogits())

    def test_its_answers_are_none_that_were_written(self):
        assert OptionLogitsModel(Weighing(0.0)).description == {
            "kind": "weighing",
            "answers_by": "logits of ' A', ' B' …",
        }


class TestOfTransformers:
    def test_logits_are_those_at_the_last_position(self, tmp_path):
        folder = lettered(tmp_path / "tiny")
        model = open_model(f"transformers:{folder}", batch_size=2)
        questions = requests_of(1.0, 2.5, 0.7)
        found = model.option_logits(questions, [f" {letter}" for letter in LETTERS])
        ids = [model.loaded.processor.tokenizer.convert_tokens_to_ids(f" {x}") for x in LETTERS]
        for question, row in zip(questions, found, strict=True):
            with torch.no_grad():  # one by one, so that nothing is padded
                plain = model.loaded.model(**model.encode([question]).inputs).logits
            np.testing.assert_allclose(row, plain[0, -1, ids].numpy(), atol=2e-4)
        assert np.ptp(found, axis=0).max() > 1e-3, "the model must listen for this"

    def test_an_option_of_several_tokens_is_rejected(self, tmp_path):
        folder = lettered(tmp_path / "tiny", letters="ABCDEF")
        reader = OptionLogitsModel(open_model(f"transformers:{folder}"))
        with pytest.raises(ModelError, match=r"option ' G' is 2 tokens of this tokenizer, \[.*\]"):
            reader.answer(requests_of(1.0))

    def test_options_that_share_a_token(self):
        class Same:
            def encode(self, text, add_special_tokens):
                return [7]

        with pytest.raises(ModelError, match=r"' A', ' B' share tokens: \[7, 7\]"):
            single_tokens(Same(), [" A", " B"])
