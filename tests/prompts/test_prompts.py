"""Every prompt, byte for byte, and the contract that a new one has to meet."""

import re

import pytest

from otoscope.prompts import PROMPTS, prompt_text
from otoscope.prompts.paraphrases import paraphrase
from otoscope.prompts.questions import question
from otoscope.responses import PARSERS
from otoscope.responses.words import one_label

UP_DOWN = '\n\nAnswer with only one word: "increase" or "decrease".'
DOWN_UP = '\n\nAnswer with only one word: "decrease" or "increase".'
PUBLISHED = {
    "main": "Does the echo increase or decrease over time?" + UP_DOWN,
    "swap_order": "Does the echo decrease or increase over time?" + DOWN_UP,
    "audio_ref": "Does the echo of this audio clip increase or decrease over time?" + UP_DOWN,
    "swap_order_audio_ref": (
        "Does the echo of this audio clip decrease or increase over time?" + DOWN_UP
    ),
    "source_bias": "Does the echo increase or decrease over time?" + UP_DOWN,
    "change": 'Does the echo vary with time?\n\nAnswer with only one word: "yes" or "no".',
    "ternary": (
        "How does the echo vary with time?\n\n"
        'Answer with only one word: "increase", "decrease" or "constant".'
    ),
    "rise_fall": (
        "Does the loudness rise or fall as the audio progresses?\n\n"
        'Answer with only one word: "rise" or "fall".'
    ),
    "intensity_increase_decrease": (
        "Does the sound intensity increase or decrease throughout the recording?" + UP_DOWN
    ),
    "intensity_increasing_decreasing": (
        "Is the audio intensity increasing or decreasing over time?\n\n"
        'Answer with only one word: "increasing" or "decreasing".'
    ),
    "tone_rise_fall": (
        'Does the tone rise or fall over time?\n\nAnswer with only one word: "rise" or "fall".'
    ),
    "frequency_upward_downward": (
        "Does the sound frequency change upward or downward over time?\n\n"
        'Answer with only one word: "upward" or "downward".'
    ),
    "frequency_rise_decline": (
        "Over time, does the frequency of the voice rise or decline?\n\n"
        'Answer with only one word: "rise" or "decline".'
    ),
    "pace_faster_slower": (
        "Does the pace of speech become faster or slower over time?\n\n"
        'Answer with only one word: "faster" or "slower".'
    ),
    "tempo_increase_decrease": ("Does the speech tempo increase or decrease with time?" + UP_DOWN),
    "delivery_accelerate_decelerate": (
        "Does the pace of delivery accelerate or decelerate over time?\n\n"
        'Answer with only one word: "accelerate" or "decelerate".'
    ),
}
CATEGORY_OF_PARAPHRASE = {
    "rise_fall": "volume",
    "intensity_increase_decrease": "volume",
    "intensity_increasing_decreasing": "volume",
    "tone_rise_fall": "voice_pitch",
    "frequency_upward_downward": "voice_pitch",
    "frequency_rise_decline": "voice_pitch",
    "pace_faster_slower": "speaking_speed",
    "tempo_increase_decrease": "speaking_speed",
    "delivery_accelerate_decelerate": "speaking_speed",
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_text_is_the_published_one(name):
    assert prompt_text(name, "echo").encode() == PUBLISHED[name].encode()


def test_every_prompt_has_its_text_here():
    assert {name.removesuffix("_audio_first") for name in PROMPTS} == {*PUBLISHED, "few_shot"}


def test_paraphrases_belong_to_their_categories():
    bound = {name: PROMPTS[name].category for name in PUBLISHED if PROMPTS[name].category}
    assert bound == CATEGORY_OF_PARAPHRASE


def test_a_paraphrase_with_new_answer_words_has_a_parser_of_its_own(monkeypatch):
    climbing = one_label({"climb": "increase", "drop": "decrease"})
    monkeypatch.setitem(PARSERS, "climb_drop", climbing)
    wording = "Does the voice climb or drop over time?"
    monkeypatch.setitem(
        PROMPTS, "toy", paraphrase("voice_pitch", "climb", "drop", wording, parser="climb_drop")
    )
    row = {"id": "a", "category": "voice_pitch", "attribute": "voice pitch", "label": 1}
    asked = question(row, "toy")
    assert asked.parts[0].text == wording + '\n\nAnswer with only one word: "climb" or "drop".'
    assert PARSERS[asked.parser]("It climbs. I mean: climb.").label == asked.label == "increase"
    assert PARSERS["paraphrase"]("climb").label is None


@pytest.mark.parametrize("name", [name for name in PROMPTS if PROMPTS[name].audio_first])
def test_audio_first_changes_nothing_but_the_order(name):
    twin = PROMPTS[name.removesuffix("_audio_first")]
    assert PROMPTS[name].template == twin.template
    assert (PROMPTS[name].rows, PROMPTS[name].parser) == (twin.rows, twin.parser)
    assert not twin.audio_first


@pytest.mark.parametrize("name", PROMPTS)
class TestEveryPrompt:
    def test_offers_its_answer_words_in_order(self, name):
        prompt = PROMPTS[name]
        assert re.findall(r'"(\w+)"', prompt.template) == list(prompt.answer_words)

    def test_has_no_slot_left(self, name):
        assert not set("{}") & set(prompt_text(name, "audio distortion"))

    def test_its_parser_reads_each_offered_word_as_its_label(self, name):
        prompt = PROMPTS[name]
        for word, label in prompt.answer_words.items():
            for text in (word, f'"{word.capitalize()}."'):
                assert PARSERS[prompt.parser](text).label == label, text

    def test_its_parser_returns_no_label_it_does_not_allow(self, name):
        prompt = PROMPTS[name]
        assert set(PARSERS[prompt.parser].labels) == set(prompt.labels)

    def test_right_answers_are_among_its_labels(self, name):
        prompt = PROMPTS[name]
        assert {prompt.clip_label, prompt.source_label} <= {*prompt.labels, None}

    def test_reads_its_own_question_as_no_answer(self, name):
        # a model that only repeats the question has not answered it
        prompt = PROMPTS[name]
        if prompt.parser in ("paper", "paraphrase"):
            assert PARSERS[prompt.parser](prompt_text(name, "echo")).rule == "both directions"


def test_unknown_prompt_is_named_with_its_neighbour():
    with pytest.raises(LookupError, match="did you mean 'audio_ref'"):
        prompt_text("audio_reff", "volume")


def test_an_attribute_is_put_in_as_it_is():
    assert prompt_text("main", "{odd} name").startswith("Does the {odd} name increase")
