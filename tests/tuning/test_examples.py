"""Rows for training, the tokens of their answers, and what is rejected."""

import pytest
import tiny

from otoscope.tuning.config import TuningError
from otoscope.tuning.examples import (
    end_remarks,
    examples_of,
    select_rows,
    token_lines,
    validate_answer_tokens,
)
from tests.tuning.tiny_training import LABELS, rows

TOKENS = {"decrease": (1, 5, 9), "increase": (2, 6, 9)}


def examples(columns, tokens=TOKENS, **more):
    answers = [(word, tokens[word]) for word in columns["label_name"]]
    return examples_of(columns, answers, more.get("split", "source"), 1234)


class TestChoosing:
    def test_only_the_category_and_the_splits_for_training(self):
        columns = rows(12)
        columns["category"] = ["volume"] * 8 + ["echo"] * 4
        columns["split"] = ["train"] * 4 + ["test"] * 4 + ["train"] * 4
        chosen, n_no_effect = select_rows(columns, ["volume"])
        assert chosen["id"] == ["q00", "q01", "q02", "q03"]
        assert n_no_effect == 0
        assert select_rows(columns, ["echo", "volume"])[0]["id"][-1] == "q11"

    def test_clips_without_effect_are_left_out_and_counted(self):
        columns = rows(6) | {"no_effect": [True, None, False, True, False, False]}
        chosen, n_no_effect = select_rows(columns, ["volume"])
        assert (chosen["id"], n_no_effect) == (["q01", "q02", "q04", "q05"], 2)

    def test_clips_without_a_label_are_left_out(self):
        columns = rows(6) | {"label": [0, 1, -1, -1, 0, 1]}
        assert select_rows(columns, ["volume"])[0]["id"] == ["q00", "q01", "q04", "q05"]

    def test_more_than_two_labels_are_kept_and_each_has_all_alternatives(self):
        names = ["angry", "happy", "sad"] * 4
        columns = rows(12) | {"label": [0, 1, 2] * 4, "label_name": names}
        chosen, _ = select_rows(columns, ["volume"])
        assert chosen["label_name"] == names
        tokens = {"angry": (1, 9), "happy": (2, 9), "sad": (3, 9)}
        made = examples(columns, tokens)
        assert made.alternatives[:2] == [((0, 2), (0, 3)), ((0, 1), (0, 3))]

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            ({"category": ["echo"] * 6}, "no clips of category 'volume', only of echo"),
            ({"split": ["test"] * 6}, "no split train, only test, and what a model is tested"),
            ({"label_name": ["increase"] * 6}, "has only clips labelled 'increase' for training"),
            ({"label": [-1] * 6}, "has no labelled clips for training"),
        ],
    )
    def test_unusable_rows_are_rejected(self, change, named):
        with pytest.raises(TuningError, match=named):
            select_rows(rows(6) | change, ["volume"])


class TestExamples:
    def test_answers_are_weighed_against_one_another_where_they_first_differ(self):
        assert examples(rows(8)).alternatives[:2] == [((0, 2),), ((0, 1),)]
        late = {"decrease": (7, 1, 9), "increase": (7, 2, 9)}
        assert examples(rows(8), late).alternatives[:2] == [((1, 2),), ((1, 1),)]

    def test_answers_with_the_same_tokens_are_rejected(self):
        with pytest.raises(TuningError, match=r"'decrease' .* 'increase' .* differ in none of"):
            examples(rows(8), dict.fromkeys(LABELS, (3, 9)))

    def test_a_word_with_two_spellings_is_rejected(self):
        answers = [("decrease", (1,)), ("increase", (2,)), ("decrease", (3,)), ("increase", (2,))]
        with pytest.raises(TuningError, match=r"'decrease' is \[1\] .* \[3\] in another's"):
            examples_of(rows(4), answers, "source", 1)

    def test_a_split_that_is_not_there(self):
        with pytest.raises(LookupError, match="no validation split named 'clip'; there are"):
            examples(rows(8), split="clip")

    def test_the_hash_tells_data_apart(self):
        hashes = {
            examples(rows(40), **change).sha256()
            for change in ({}, {"split": "paper"}, {"tokens": TOKENS | {"increase": (2, 9)}})
        }
        for name in ("id", "prompt", "audio_sha256"):
            columns = rows(40)
            columns[name] = ["other", *columns[name][1:]]
            hashes.add(examples(columns).sha256())
        assert len(hashes) == 6
        assert examples(rows(40)).sha256() in hashes


class TestTokens:
    """A byte-level tokenizer: a token a letter."""

    @pytest.fixture
    def tokenizer(self):
        return tiny.tokenizer("<|AUDIO|>")

    def ids(self, tokenizer, text):
        return tuple(tokenizer.encode(text, add_special_tokens=False))

    def test_the_word_and_its_end_are_taken(self, tokenizer):
        answer = "increase<|im_end|>\n"
        validate_answer_tokens(
            "increase", self.ids(tokenizer, answer), tokenizer, ("Why?\n", answer)
        )
        lines = token_lines({"increase": self.ids(tokenizer, "in<|im_end|>")}, tokenizer.decode)
        assert lines == ["increase  'i' 'n' '<|im_end|>'"]

    def test_what_the_template_writes_before_the_word_is_taken(self, tokenizer):
        answer = "<think>\n\n</think>\n\nincrease<|im_end|>"
        validate_answer_tokens("increase", self.ids(tokenizer, answer), tokenizer, ("?\n", answer))

    @pytest.mark.parametrize(
        ("stops", "named"),
        [(None, []), ("<|im_end|>", []), (["<|endoftext|>", "<|im_end|>"], []),
         ("<|endoftext|>", ["stops at '<|endoftext|>', which is not trained"]),
         (["<|AUDIO|>", "<|endoftext|>"], ["'<|AUDIO|>'"])],
    )  # fmt: skip
    def test_answers_at_which_generation_would_not_stop_are_told(self, tokenizer, stops, named):
        ids = None if stops is None else tokenizer.convert_tokens_to_ids(stops)
        tokens = {"up": self.ids(tokenizer, "up<|im_end|>\n")}
        for remark, part in zip(end_remarks(tokens, tokenizer, ids), named, strict=True):
            assert part in remark

    def test_one_answer_without_an_end_is_enough(self, tokenizer):
        tokens = {"up": self.ids(tokenizer, "up<|im_end|>"), "down": self.ids(tokenizer, "down")}
        assert len(end_remarks(tokens, tokenizer, None)) == 1

    @pytest.mark.parametrize("text", ["", "decrease<|im_end|>"])
    def test_tokens_that_spell_something_else_are_rejected(self, tokenizer, text):
        with pytest.raises(TuningError, match=r"'increase' becomes the tokens .* which spell"):
            validate_answer_tokens("increase", self.ids(tokenizer, text), tokenizer)

    def test_a_token_that_stands_for_the_unknown_is_rejected(self):
        class Poor:
            unk_token_id = 0

            def decode(self, ids):
                return "increase<unk>"

        with pytest.raises(TuningError, match="is the tokenizer's unknown token"):
            validate_answer_tokens("increase", (5, 0), Poor())

    def test_a_word_that_grows_together_with_the_question_is_rejected(self):
        class Greedy:
            unk_token_id = None

            def decode(self, ids):
                return "increase"

            def encode(self, text, add_special_tokens):
                return [9] if text.endswith(": increase") else [3, 4]

        with pytest.raises(TuningError, match=r"becomes the tokens \[9\], not \[7\]: the end of"):
            validate_answer_tokens("increase", (7,), Greedy(), ("Answer: ", "increase"))
