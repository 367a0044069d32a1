"""Log-probabilities of labels: of letters where options have them, as servers show them."""

import math

import pytest
from chat_server import ChatServer, Reply, always, completion, failure, opened, request_about

from otoscope.models.base import Status
from otoscope.models.label_scores import (
    NO_LETTER_FIRST,
    NO_LETTERS,
    NOT_GIVEN,
    answer_words,
    letter_scores,
    letters_of,
)
from otoscope.responses.closed_set import closed_set_name

ANIMALS = ("cat", "dog", "cow")
LETTERED = closed_set_name(ANIMALS, letters=True)
LETTERS = {"cat": "A", "dog": "B", "cow": "C"}


def token(text, p, *others):
    """A position: its token with a probability, and the other likely ones."""
    top = [{"token": t, "logprob": math.log(q)} for t, q in ((text, p), *others)]
    return {"token": text, "logprob": math.log(p), "top_logprobs": top}


def scored(*positions, text="B"):
    reply = completion(text)
    reply["choices"][0]["logprobs"] = {"content": list(positions)}
    return reply


def animal(parser=LETTERED):
    return request_about("a", labels=ANIMALS, label="dog", parser=parser)


class TestWordsOfAnswers:
    def test_a_letter_where_options_have_letters(self):
        assert answer_words(animal().question) == LETTERS == letters_of(animal().question)

    def test_the_label_itself_elsewhere(self):
        question = animal(closed_set_name(ANIMALS)).question
        assert answer_words(question) == {label: label for label in ANIMALS}
        assert letters_of(question) == {}

    def test_labels_that_are_letters(self):
        question = request_about("a", labels=("A", "B"), label="A", parser="option_letter").question
        assert letters_of(question) == {"A": "A", "B": "B"}


class TestLettersOfAServer:
    def test_tokens_of_one_letter_are_added(self):
        # P(B) = .5 + .2, P(A) = .1; nothing is shown of C
        reply = scored(token("B", 0.5, (" B", 0.2), ("A", 0.1), ("The", 0.05)))
        scores, why = letter_scores(reply, LETTERS)
        assert {k: math.exp(v) for k, v in scores.items()} == pytest.approx(
            {"dog": 0.7, "cat": 0.1}
        )
        assert why == ""

    def test_brackets_and_blanks_before_the_letter(self):
        reply = scored(token("\n", 1.0), token(" (", 1.0), token("C", 0.9, ("A", 0.1)))
        scores, _ = letter_scores(reply, LETTERS)
        assert scores == pytest.approx({"cow": math.log(0.9), "cat": math.log(0.1)})

    @pytest.mark.parametrize("first", ["The", "<think>", "b", "D", "AB"])
    def test_an_answer_that_begins_otherwise_has_no_scores(self, first):
        reply = scored(token(first, 0.6, ("A", 0.3)), token("A", 1.0))
        assert letter_scores(reply, LETTERS) == (None, NO_LETTER_FIRST)

    @pytest.mark.parametrize(
        "logprobs",
        [None, [], {}, {"content": None}, {"content": []}, {"content": ["B"]},
         {"content": [{"token": "B", "logprob": "x", "top_logprobs": [{"token": "A"}, 3]}]},
         {"content": [{"token": "B", "logprob": 2.0}]}],
    )  # fmt: skip
    def test_servers_that_give_none(self, logprobs):
        reply = completion("B")
        reply["choices"][0]["logprobs"] = logprobs
        assert letter_scores(reply, LETTERS) == (None, NOT_GIVEN)


class TestCalls:
    def ask(self, reply_to, *requests):
        with ChatServer(reply_to) as server:
            answers = opened(server, label_scores=True).answer(list(requests or [animal()]))
        return answers, server.bodies

    def test_lettered_questions_request_tokens_and_store_scores(self):
        (answer,), (body,) = self.ask(always(Reply(scored(token("B", 0.75, ("A", 0.25))))))
        assert (body["logprobs"], body["top_logprobs"]) == (True, 20)
        assert answer.logprobs == pytest.approx({"dog": math.log(0.75), "cat": math.log(0.25)})
        assert (answer.text, answer.detail) == ("B", "")

    def test_other_questions_do_not_and_the_answer_says_so(self):
        (answer,), (body,) = self.ask(always(Reply()), animal(closed_set_name(ANIMALS)))
        assert "logprobs" not in body
        assert (answer.status, answer.logprobs, answer.detail) == (Status.OK, None, NO_LETTERS)

    def test_nothing_is_requested_unless_wanted(self):
        with ChatServer(always(Reply())) as server:
            model = opened(server)
            (answer,) = model.answer([animal()])
        assert "logprobs" not in server.bodies[0]
        assert answer.detail == ""
        assert "label_scores" not in model.description
        assert opened(server, label_scores=True).description["label_scores"] == 20

    @pytest.mark.parametrize(
        "message",
        [
            "You are not allowed to request logprobs from this model",
            "Requested sample logprobs of 20, which is greater than max allowed: 5",
            "Unknown parameter: 'top_logprobs'",
        ],
    )
    def test_a_server_that_does_not_take_them_gets_the_request_without(self, message):
        def reply_to(n, body, headers):
            return failure(400, message) if "logprobs" in body else Reply(completion("B"))

        with ChatServer(reply_to) as server:
            model = opened(server, label_scores=True, concurrency=1)
            answers = model.answer([animal(), animal()])
        assert [(a.text, a.logprobs, a.detail) for a in answers] == [("B", None, NOT_GIVEN)] * 2
        assert ["logprobs" in body for body in server.bodies] == [True, False, False]

    def test_a_server_may_want_another_name_of_the_limit_too(self):
        def reply_to(n, body, headers):
            if "logprobs" in body:
                return failure(400, "logprobs is not supported")
            if "max_tokens" in body:
                return failure(400, "'max_tokens' is not supported: use 'max_completion_tokens'")
            return Reply(completion("B"))

        (answer,), bodies = self.ask(reply_to)
        assert answer.text == "B"
        assert len(bodies) == 3
