"""One retry policy: which statuses are open, which answers are replaced, and by whom."""

import pytest

from otoscope.models.base import Answer, Status
from otoscope.models.openai_server import open_openai
from otoscope.models.retrying import ON_ERROR, RetryPolicy, replaced


@pytest.mark.parametrize("status", list(Status))
def test_errors_are_always_open_and_other_statuses_on_request(status):
    assert ON_ERROR.is_open(status) == (status in ("timeout", "error"))
    assert RetryPolicy(["refused"]).is_open(status) == (status in ("timeout", "error", "refused"))


@pytest.mark.parametrize(
    ("parser", "answer", "failed"),
    [
        ("paper", Answer("Well …"), True),
        ("paper", Answer(None), True),
        ("paper", Answer("It increases."), False),
        ("paper", Answer(None, Status.REFUSED), False),
        ("", Answer("Well …"), False),
    ],
)
def test_a_parse_failure_needs_a_parser_and_an_answer_of_status_ok(parser, answer, failed):
    assert RetryPolicy(on_parse_failure=256).failed(parser, answer) == failed
    assert not ON_ERROR.failed(parser, answer)


def test_run_json_has_whether_there_is_a_retry_and_a_limit_that_is_not_the_published_one():
    limits = (None, 256, 512)
    assert [RetryPolicy(on_parse_failure=n).recorded for n in limits] == [False, True, 512]


def test_a_server_adapter_makes_the_retry_itself_and_describes_it_as_before():
    model = open_openai("name", base_url="http://localhost:1/v1")
    assert RetryPolicy(["refused"]).prepare(model) is model
    prepared = RetryPolicy(on_parse_failure=256).prepare(model)
    described = prepared.description
    assert (described.pop("retry_max_tokens"), model.description["retry_max_tokens"]) == (256, None)
    assert described.items() <= model.description.items()


@pytest.mark.parametrize(
    ("costs", "cost"), [((1.0, 2.0), 3.0), ((1.0, None), 1.0), ((None, None), None)]
)
def test_the_second_answer_has_the_first_text_and_the_cost_of_both(costs, cost):
    first, second = Answer("a", wall_s=1.0, cost=costs[0]), Answer("b", wall_s=2.0, cost=costs[1])
    answer = replaced(first, second)
    assert (answer.text, answer.first_text, answer.wall_s, answer.cost) == ("b", "a", 3.0, cost)
