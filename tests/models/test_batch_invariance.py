"""Whether company changes an answer."""

import pytest
from asking import ask

from otoscope.models.base import Answer
from otoscope.models.batch_invariance import BatchDifference, batch_invariance_check


class Swayed:
    """Says how many were asked with it, up to a number."""

    def __init__(self, batch_size, at_most):
        self.batch_size, self.at_most = batch_size, at_most

    def answer(self, questions):
        return [Answer(str(min(len(questions), self.at_most))) for _ in questions]


QUESTIONS = [ask("?", name=name) for name in "abc"]


def test_answers_that_change_in_company_are_named():
    check = batch_invariance_check(Swayed(2, at_most=9), QUESTIONS)
    assert (check.n_questions, check.batch_size) == (3, 2)
    assert check.different == (
        BatchDifference("a|main", "2", "1"),
        BatchDifference("b|main", "2", "1"),
    )


def test_there_are_none_when_nothing_changes():
    assert batch_invariance_check(Swayed(2, at_most=1), QUESTIONS).different == ()


def test_it_needs_a_question():
    with pytest.raises(ValueError, match="needs a question"):
        batch_invariance_check(Swayed(2, at_most=1), [])
