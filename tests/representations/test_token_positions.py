"""Places in rows of tokens made by hand: 9 is sound, 0 is padding."""

import numpy as np
import pytest
from asking import ask, clip

from otoscope.models.base import ModelError
from otoscope.representations.token_positions import locate_clip, locate_question_words


def positions(*ids, request=None):
    row = np.array(ids)
    return locate_clip(request or ask("?", clip()), row, row != 0, 9)


def test_the_clip_its_quarters_and_the_output_position():
    found = positions(0, 0, 1, 9, 9, 9, 9, 9, 2, 3)
    assert found.clip.tolist() == [3, 4, 5, 6, 7]
    # boundaries of 5 frames: 0 1 2 3 5, so the quarters end at frames 0, 1, 2, 4
    assert found.at == {"o": 9, "a1": 3, "a2": 4, "a3": 5, "a4": 7}
    assert found.end == 9


def test_padding_on_the_right_is_no_output_position():
    found = positions(1, 9, 9, 2, 0, 0)
    assert (found.at["o"], found.end) == (3, 3)


def test_an_input_that_ends_in_audio_has_its_output_position_before():
    found = positions(1, 2, 9, 9)
    assert (found.at["o"], found.end) == (1, 3)


@pytest.mark.parametrize(
    ("ids", "message"),
    [((1, 2), "no audio token"), ((9, 1, 9), "is not in one piece")],
)
def test_a_clip_that_cannot_be_pooled_is_rejected(ids, message):
    with pytest.raises(ModelError, match=message):
        positions(*ids)


class TestQuestionWords:
    """Each letter is a token: its number in the alphabet."""

    def found(self, prompt, row, attribute="ab"):
        request = ask(clip(), prompt)
        object.__setattr__(request.question, "attribute", attribute)
        return locate_question_words(request, np.array(tokens(row)), tokens)

    def test_they_are_searched_for_within_the_question(self):
        # the attribute stands before the question too, which does not matter
        assert self.found("xaby", "abxabyz") == {"q_attr": 4, "q_p": 4, "q_l": 5}

    def test_a_form_that_is_there_twice_gives_way_to_the_next(self):
        # "ab" twice, " ab" once
        assert self.found("abx aby", "abx aby", attribute="ab")["q_attr"] == 5

    @pytest.mark.parametrize("row", ["zzz", "xabyxaby"])
    def test_a_question_that_is_not_there_once_is_rejected(self, row):
        with pytest.raises(ModelError, match="is not once among its tokens"):
            self.found("xaby", row)


def tokens(text):
    return [ord(letter) for letter in text]
