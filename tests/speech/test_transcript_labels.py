"""Labels from transcripts: by hand, and against plain sums of log-probabilities."""

import math

import pytest

from otoscope.models.base import Answer, ModelError, Status
from otoscope.registry import UnknownName
from otoscope.speech.base import SpeechError
from otoscope.speech.label_models import AnsweringModel, prompt_of
from otoscope.speech.transcript_labels import TranscriptItem, TranscriptLabel, open_labeller
from tests.speech.tiny_text_model import save_tiny_text_model

MATCH = ("match", "no match")
ANIMALS = ("cow", "hen", "sheep")


def item(transcript, quoted=None, label=None, name="a"):
    return TranscriptItem(name, transcript, quoted, label)


def test_uncertainty_is_entropy_over_its_maximum():
    one = TranscriptLabel("a", (0.5, 0.25, 0.25), "")
    assert one.uncertainty == pytest.approx(1.5 * math.log(2) / math.log(3))
    assert TranscriptLabel("a", (1.0, 0.0), "").uncertainty == 0
    assert (TranscriptLabel("a", None, "").conf, TranscriptLabel("a", None, "").uncertainty) == (
        1,
        0,
    )
    assert (TranscriptLabel(None, None, "").conf, TranscriptLabel(None, None, "").uncertainty) == (
        0, 1,
    )  # fmt: skip


class TestMatching:
    @pytest.fixture
    def fitted(self):
        labeller = open_labeller("matching", MATCH, "speech_text_matching")
        labeller.fit(
            [item("please call stella", "Please call Stella.", "match")] * 3
            + [item("please call stella", "Six spoons of snow peas.", "no match")] * 3
        )
        return labeller

    def test_alike_is_a_match(self, fitted):
        same, other = fitted.predict(
            [item("six spoons of snow", "six spoons of snow"), item("you", "six spoons of snow")]
        )
        assert (same.label, other.label) == MATCH
        assert same.conf == same.scores[0] > 0.5 > other.scores[0]
        assert sum(other.scores) == pytest.approx(1)

    def test_the_right_label_of_an_item_is_not_read(self, fitted):
        first = fitted.predict([item("you", "snow", "match")])
        assert first == fitted.predict([item("you", "snow", "no match")])

    def test_rows_that_quote_nothing_are_named(self, fitted):
        with pytest.raises(SpeechError, match="row 'a' has no `text`"):
            fitted.predict([item("you")])

    def test_other_sentences_do_not_move_the_threshold_to_the_middle(self):
        """Matches are exact, others differ in one letter of five or in all: between 0.8 and 1."""
        labeller = open_labeller("matching", MATCH, "speech_text_matching")
        labeller.fit(
            [item("abcde", "abcde", "match")] * 4
            + [item("abcdx", "abcde", "no match")] * 2
            + [item("vwxyz", "abcde", "no match")] * 2
        )
        assert labeller.threshold == pytest.approx(0.9)
        found = labeller.predict([item("abcdz", "abcde"), item("abcde", "abcde")])
        assert [one.label for one in found] == ["no match", "match"]

    def test_three_labels_are_too_many(self):
        with pytest.raises(SpeechError, match="two labels apart, and there are 3"):
            open_labeller("matching", ANIMALS, "generic")

    def test_one_label_has_no_threshold(self):
        labeller = open_labeller("matching", MATCH, "speech_text_matching")
        with pytest.raises(SpeechError, match="a threshold needs two"):
            labeller.fit([item("a", "a", "match")] * 3)


def test_keywords():
    labeller = open_labeller("keywords", ANIMALS, "generic")
    labeller.fit([item("", label="hen")] * 3 + [item("", label="cow")])
    found = labeller.predict([item("A cow! Cow and sheep."), item("Cowboys."), item("")])
    assert [one.label for one in found] == ["cow", "hen", "hen"]
    assert [one.rule for one in found] == ["words", "most frequent", "most frequent"]
    assert found[0].scores == pytest.approx((2 / 3, 0, 1 / 3))
    assert found[2].scores == (0.25, 0.75, 0)


@pytest.mark.parametrize(
    ("spec", "error", "match"),
    [
        ("machting", UnknownName, "did you mean 'matching'"),
        ("matching:x", SpeechError, "takes no name"),
        ("openai", SpeechError, "names no model"),
        ("transformers:/no/such", ModelError, "no text model"),
    ],
)
def test_specifications_that_name_nothing(spec, error, match):
    with pytest.raises(error, match=match):
        open_labeller(spec, ANIMALS, "generic")


def test_longer_words_count_before_those_within_them():
    labeller = open_labeller("keywords", MATCH, "speech_text_matching")
    labeller.fit([item("", label="match")])
    assert labeller.predict([item("There is no match.")])[0].scores == (0, 1)


def test_the_prompt_quotes_what_was_recognised():
    prompt = prompt_of("generic", ANIMALS, item('He said "moo".'))
    assert '"He said \\"moo\\"."' in prompt
    assert "cow, hen, sheep" in prompt
    assert "nothing, so it may hold no speech" in prompt_of("generic", ANIMALS, item(""))


def test_scores_of_a_text_model_are_its_label_probabilities(tmp_path):
    import torch

    labeller = open_labeller(
        f"transformers:{save_tiny_text_model(tmp_path)}", ("ab", "c"), "generic", device="cpu"
    )
    items = [item("a"), item("a b c", name="b"), item("", name="c")]
    found = labeller.predict(items)
    for one, own in zip(found, items, strict=True):
        prompt = labeller.tokenizer.encode(
            prompt_of("generic", ("ab", "c"), own) + "\nAnswer:", add_special_tokens=False
        )
        logs = []
        for label in ("ab", "c"):
            tokens = labeller.tokenizer.encode(f" {label}", add_special_tokens=False)
            with torch.inference_mode():
                logits = labeller.model(torch.tensor([prompt + tokens])).logits[0]
            steps = logits.log_softmax(-1)[len(prompt) - 1 : -1]
            logs.append(sum(float(step[t]) for step, t in zip(steps, tokens, strict=True)))
        shares = torch.tensor(logs).softmax(0).tolist()
        assert one.scores == pytest.approx(shares, abs=1e-5)
        assert one.label == ("ab", "c")[shares.index(max(shares))]
        assert one.n_tokens_in == len(prompt)
    assert labeller.predict(items[1:2])[0].scores == pytest.approx(found[1].scores, abs=1e-6)


class Answers:
    def __init__(self, *answers):
        self.answers = answers

    def answer(self, questions):
        assert not any(request.audio_inputs for request in questions)
        return list(self.answers)


def test_answers_of_a_server_are_parsed():
    given = Answers(
        Answer("The answer is cow.", cost=0.25, n_tokens_in=7, n_tokens_out=2),
        Answer("who knows"),
        Answer(None, Status.REFUSED),
        Answer(
            "hen", logprobs={"cow": math.log(0.2), "hen": math.log(0.2), "sheep": math.log(0.4)}
        ),
    )
    labeller = AnsweringModel(given, "openai:x", ANIMALS, "generic")
    found = labeller.predict([item("", name=str(n)) for n in range(4)])
    assert [one.label for one in found] == ["cow", None, None, "hen"]
    assert [one.conf for one in found] == [1, 0, 0, pytest.approx(0.5)]
    assert (found[0].price, found[0].n_tokens_in) == (0.25, 7)
    assert found[2].rule == "refused"
    assert found[3].scores == pytest.approx((0.25, 0.25, 0.5))


def test_a_call_that_failed_is_no_label():
    labeller = AnsweringModel(
        Answers(Answer(None, Status.TIMEOUT, detail="60 s")), "openai:x", ANIMALS, "generic"
    )
    with pytest.raises(ModelError, match=r"'a' was not answered \(timeout: 60 s\); run the same"):
        labeller.predict([item("")])
