"""One retry policy: which statuses are open, which answers are replaced, and by whom."""

from dataclasses import dataclass, replace

import pytest
from chat_server import ChatServer, Reply, completion, request_about

from otoscope.audits.answer_cache import cache_key
from otoscope.models.base import Answer, ModelError, Status
from otoscope.models.openai_server import open_openai
from otoscope.models.retrying import ON_ERROR, RetryPolicy, immediate_retry, replaced


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
    limit = 256 if failed else None
    assert RetryPolicy(on_parse_failure=256).new_limit(parser, answer) == limit
    assert ON_ERROR.new_limit(parser, answer) is None


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


@dataclass(frozen=True)
class ToyPolicy(RetryPolicy):
    """As a contributor would add a rule: one more field."""

    on_truncation: int | None = immediate_retry(lambda parser, answer: answer.text_truncated)


class TestAnAddedRule:
    cut = Answer("It increases, because", text_truncated=True)

    def test_decides_what_is_requested_again_and_with_which_limit(self):
        policy = ToyPolicy(on_truncation=512)
        assert policy.new_limit("paper", self.cut) == 512
        assert policy.new_limit("paper", Answer("It increases.")) is None
        assert policy.new_limit("paper", Answer("Well …")) is None
        both = ToyPolicy(on_parse_failure=256, on_truncation=512)
        assert both.new_limit("paper", Answer("Well …")) == 256
        assert both.new_limit("paper", replace(self.cut, text="Well …")) == 512

    def test_is_in_run_json_in_descriptions_and_in_cache_keys(self):
        policies = [
            RetryPolicy(), RetryPolicy(on_parse_failure=256), ToyPolicy(on_truncation=256),
            ToyPolicy(on_truncation=512), ToyPolicy(on_parse_failure=256, on_truncation=256),
        ]  # fmt: skip
        assert [policy.recorded for policy in policies] == [
            False, True, {"on_truncation": 256}, {"on_truncation": 512},
            {"on_parse_failure": 256, "on_truncation": 256},
        ]  # fmt: skip
        assert ToyPolicy(on_parse_failure=256).recorded is True
        model = open_openai("name", base_url="http://localhost:1/v1")
        described = [p.prepare(model).description["retry_max_tokens"] for p in policies]
        assert described == [None, 256, *(policy.recorded for policy in policies[2:])]
        keys = {cache_key(request_about("a"), {}, policy) for policy in policies}
        assert len(keys) == len(policies)

    def test_is_named_where_a_model_cannot_raise_its_limit(self):
        with pytest.raises(ModelError, match="retry on truncation: this model has no limit"):
            ToyPolicy(on_truncation=512).prepare(object())

    def test_is_made_by_a_model_with_settings(self):
        class Longer:
            def with_settings(self, *, max_new_tokens):
                self.limit = max_new_tokens
                return self

            def answer(self, requests):
                return [Answer(f"decrease, {self.limit}")]

        answer = ToyPolicy(on_truncation=512).settled(Longer(), request_about("a"), self.cut)
        assert (answer.text, answer.first_text) == ("decrease, 512", self.cut.text)

    def test_settings_that_make_no_model(self):
        class Forgetful:
            def with_settings(self, *, max_new_tokens):
                return None

        with pytest.raises(ModelError, match=r"Forgetful\.with_settings returns a NoneType"):
            ToyPolicy(on_truncation=512).settled(Forgetful(), request_about("a"), self.cut)

    def test_is_made_by_a_server_adapter(self):
        replies = [completion("It increases, because", finish="length"), completion("fall")]
        with ChatServer(lambda n, body, headers: Reply(replies[n])) as server:
            model = open_openai("name", base_url=server.base_url)
            prepared = ToyPolicy(on_truncation=512).prepare(model)
            (answer,) = prepared.answer([request_about("a")])
        assert (answer.text, answer.first_text) == ("fall", "It increases, because")
        assert [body["max_tokens"] for body in server.bodies] == [128, 512]


@pytest.mark.parametrize(
    ("costs", "cost"), [((1.0, 2.0), 3.0), ((1.0, None), 1.0), ((None, None), None)]
)
def test_the_second_answer_has_the_first_text_and_the_cost_of_both(costs, cost):
    first, second = Answer("a", wall_s=1.0, cost=costs[0]), Answer("b", wall_s=2.0, cost=costs[1])
    answer = replaced(first, second)
    assert (answer.text, answer.first_text, answer.wall_s, answer.cost) == ("b", "a", 3.0, cost)
