"""Replies under the many names that servers give them: what becomes of answer, status and calls.

Names of reasons, fields and errors are those in the public references of OpenAI, Azure, Gemini,
Anthropic, Mistral, Cohere, DeepSeek, OpenRouter, LiteLLM, vLLM and FastAPI.
"""

import json
import logging
import time
from pathlib import Path

import pytest
from chat_server import ChatServer, Reply, always, completion, in_turn, one_answer, opened
from chat_server import request_about as question

from otoscope.models.base import ModelError, Status
from otoscope.models.retrying import NOT_FINAL
from otoscope.models.server_errors import is_filtered, is_not_taken, wait_in
from otoscope.models.server_responses import ending_of

CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "replies.jsonl"


def choice(**fields):
    """A completion whose choice has these fields and no others."""
    return Reply({"choices": [{"index": 0, **fields}]})


def said(text, **fields):
    return {"role": "assistant", "content": text, **fields}


def read(reply):
    return one_answer(always(reply), max_retries=0)[0]


@pytest.mark.parametrize(
    ("kind", "reasons"),
    [
        ("end", "stop STOP eos eos_token end_turn stop_sequence COMPLETE tool_calls function_call"
                " FinishReason.STOP finished None"),
        ("cut", "length MAX_TOKENS max_output_tokens model_length max-tokens token_limit "
                "model_context_window_exceeded incomplete"),
        ("filtered", "content_filter CONTENT_FILTERED safety BLOCKLIST SPII recitation "
                     "IMAGE_SAFETY guardrail_intervened MODEL_ARMOR sensitive "
                     "data_inspection_failed"),
        ("refused", "refusal Refused"),
        ("broken", "error ERROR abort cancelled timeout MALFORMED_FUNCTION_CALL OTHER network_error"
                   " insufficient_system_resource FINISH_REASON_UNSPECIFIED"),
        ("unknown", "LANGUAGE banana 7"),
    ],
)  # fmt: skip
def test_reasons_to_end(kind, reasons):
    assert {name: ending_of(name) for name in reasons.split()} == dict.fromkeys(
        reasons.split(), kind
    )


class TestFilteredAndBroken:
    @pytest.mark.parametrize(
        "reply",
        [
            choice(finish_reason="SAFETY", message=said("")),
            choice(finish_reason="PROHIBITED_CONTENT", message=said(None)),
            choice(finish_reason="content_filter: RECITATION", message=said(None)),
            choice(finish_reason="content_filter"),
            choice(finish_reason="stop", native_finish_reason="SAFETY", message=said("")),
            choice(finish_reason="stop", message=said(""), content_filter_results={
                "hate": {"filtered": False}, "violence": {"filtered": True, "severity": "high"}}),
            choice(finish_reason="error", message=said(""), error={
                "code": 403, "message": "flagged", "metadata": {"reasons": ["violence"]}}),
            choice(finishReason="SAFETY", message=said("")),
            choice(stop_reason="guardrail_intervened", message=said("")),
            choice(finish_details={"type": "content_filter"}, message=said(None)),
            choice(finish_reason="stop", message=said(""), content_filter_result={
                "violence": {"filtered": True}}),
            Reply({**completion(""), "prompt_filter_results": [
                {"content_filter_results": {"hate": {"filtered": True}}}]}),
            Reply({"choices": [], "promptFeedback": {"blockReason": "SAFETY"}}),
            Reply({"error": {"code": "content_filter", "message": "no"}}),
            Reply({"error": {"message": "filtered", "innererror": {
                "code": "ResponsibleAIPolicyViolation"}}}, 400),
            Reply({"error": {"code": 403, "message": "Your input was flagged",
                             "metadata": {"reasons": ["violence"]}}}, 403),
            Reply({"error": {"code": "data_inspection_failed", "message": "unsafe"}}, 400),
            Reply({"error": {"type": "x", "message": "triggering Azure OpenAI's content "
                             "management policy. Please modify"}}, 400),
        ],
    )  # fmt: skip
    def test_filtered_wherever_it_is_told_and_the_run_goes_on(self, reply):
        answer, server = one_answer(always(reply), after_success=False)
        assert (answer.status, answer.text, len(server.bodies)) == (Status.FILTERED, None, 1)
        assert answer.detail

    def test_refused_by_its_reason_or_in_a_part(self):
        answer = read(choice(finish_reason="refusal", message=said("")))
        assert (answer.status, answer.text) == (Status.REFUSED, None)
        parts = [{"type": "refusal", "refusal": "I will not"}]
        answer = read(choice(finish_reason="stop", message=said(parts)))
        assert (answer.status, answer.text) == (Status.REFUSED, "I will not")

    @pytest.mark.parametrize(
        "reply",
        [
            choice(finish_reason="error", message=said("incr"),
                   error={"code": 502, "message": "Provider returned error"}),
            choice(finish_reason="stop", message=said("incr"), error={"message": "lost"}),
            choice(finish_reason="abort", message=said("incr")),
            choice(finish_reason="stop", native_finish_reason="OTHER", message=said("incr")),
            choice(stop_reason="error", message=said("incr")),
            Reply({**completion("incr"), "error": {"code": 500, "message": "lost"}}),
            Reply({**completion("incr"), "error": "lost"}),
            Reply({"object": "error", "message": "overloaded", "code": 503}),
            Reply({"error": {"code": 502, "message": "no upstream"}}),
            Reply({"error": {"code": "429", "message": "slow down"}}),
        ],
    )  # fmt: skip
    def test_a_torn_text_is_no_answer_and_is_requested_again(self, reply):
        answer, server = one_answer(in_turn(reply, Reply()))
        assert (answer.status, answer.text, len(server.bodies)) == (Status.OK, "increase", 2)
        answer, server = one_answer(always(reply))
        assert (answer.status, answer.text, len(server.bodies)) == (Status.ERROR, None, 3)
        assert answer.status in NOT_FINAL  # neither final nor cached

    def test_an_end_that_is_not_known_is_named_and_no_answer(self):
        answer, server = one_answer(always(choice(finish_reason="banana", message=said("incr"))))
        assert (answer.status, answer.text) == (Status.ERROR, None)
        assert answer.detail == "finish_reason 'banana' is not known to end an answer"
        assert len(server.bodies) == 1

    def test_a_part_whose_text_is_not_known_is_named(self):
        for parts, text in (
            ([{"type": "text", "text": {"value": "increase", "annotations": []}}], "increase"),
            ([{"type": "text", "text": ""}], ""),
        ):
            answer = read(choice(finish_reason="stop", message=said(parts)))
            assert (answer.status, answer.text) == (Status.OK, text)
        parts = [{"type": "image_url", "image_url": {"url": "data:"}}]
        answer = read(choice(finish_reason="stop", message=said(parts)))
        assert (answer.status, answer.text) == (Status.ERROR, None)
        assert answer.detail == "no text is known in a part of type 'image_url'"

    @pytest.mark.parametrize(
        "cut",
        [{"stop_reason": "max_tokens"}, {"done_reason": "length"}, {"finishReason": "MAX_TOKENS"},
         {"finish_details": {"type": "max_tokens"}}],
    )  # fmt: skip
    def test_cut_under_other_names_of_the_field(self, cut):
        answer = read(choice(message=said("incr"), **cut))
        assert (answer.status, answer.text, answer.text_truncated) == (Status.OK, "incr", True)

    @pytest.mark.parametrize("reason", ["length", "error", 151645])
    def test_the_stop_string_of_vllm_is_no_reason_to_end(self, reason):
        reply = choice(finish_reason="stop", stop_reason=reason, message=said("increase"))
        answer = read(reply)
        assert (answer.status, answer.text, answer.text_truncated) == (Status.OK, "increase", False)

    def test_an_error_at_the_top_of_a_reply_is_told(self):
        answer = read(Reply({"success": False, "errors": [{"message": "no such account"}]}))
        assert (answer.status, answer.detail) == (
            Status.ERROR,
            "the server's reply holds no choice: no such account",
        )

    @pytest.mark.parametrize("reason", ["length", "model_length", "MAX_TOKENS"])
    def test_cut(self, reason):
        answer = read(choice(finish_reason=reason, message=said("The volume")))
        assert (answer.status, answer.text, answer.text_truncated) == ("ok", "The volume", True)

    def test_deep_nesting_is_a_broken_reply(self):
        deep = b'{"choices":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
        answer = read(Reply(raw=deep))
        assert answer.status is Status.ERROR
        assert "is not JSON" in answer.detail

    @pytest.mark.parametrize("n", [10**30, -1, 1.5, "3", True, None])
    def test_counts_that_cannot_be_are_none(self, n, tmp_path):
        prices = tmp_path / "prices.csv"
        prices.write_text("model,text_in,text_out,audio_in\ntiny-lalm,1,10,50\n")
        reply = Reply(completion() | {"usage": {"prompt_tokens": n, "completion_tokens": 3}})
        answer, _ = one_answer(always(reply), prices=prices)
        assert (answer.status, answer.n_tokens_in, answer.cost) == (Status.OK, None, None)


class TestThoughtAndSpoken:
    @pytest.mark.parametrize(
        "message",
        [
            said("increase", reasoning_content="decrease?"),
            said("increase", reasoning="decrease?", reasoning_details=[
                {"type": "reasoning.text", "text": "decrease?"}]),
            said("increase", thinking="decrease?", thought_signature="c2ln"),
            said("increase", thinking_blocks=[
                {"type": "thinking", "thinking": "decrease?", "signature": "c2ln"}]),
            said([{"type": "reasoning", "text": "decrease?"},
                  {"type": "text", "text": "increase"}]),
            said([{"type": "thinking", "thinking": [{"type": "text", "text": "decrease?"}]},
                  {"type": "text", "text": "increase"}]),
            said([{"text": "decrease?", "thought": True}, {"text": "increase"}]),
        ],
    )  # fmt: skip
    def test_reasoning_is_kept_apart(self, message):
        answer = read(choice(finish_reason="stop", message=message))
        assert (answer.text, answer.reasoning) == ("increase", "decrease?")

    def test_reasoning_alone_is_an_empty_answer(self):
        message = said(None, reasoning_content="increase")
        answer = read(choice(finish_reason="length", message=message))
        assert (answer.text, answer.reasoning, answer.text_truncated) == ("", "increase", True)

    def test_thinking_tags_stay_in_the_text(self):
        text = "<think>rise or decrease?</think>\n\nincrease"
        answer = read(choice(finish_reason="stop", message=said(text)))
        assert (answer.text, answer.reasoning) == (text, None)

    @pytest.mark.parametrize(
        "message",
        [
            said(None, audio={"id": "a", "data": "", "transcript": "increase"}),
            said("", audio={"transcript": "increase"}),
            said([{"type": "output_audio", "transcript": "increase", "data": "AAAA"}]),
            said([{"type": "audio", "audio": {"data": "AAAA", "transcript": "increase"}}]),
            said("increase", audio={"transcript": "something else"}),
            said({"type": "text", "text": "increase"}),
            said([{"type": "output_text", "text": "increase"}]),
        ],
    )
    def test_spoken_and_in_other_parts(self, message):
        answer = read(choice(finish_reason="stop", message=message))
        assert (answer.text, answer.reasoning) == ("increase", None)


class TestKeysAndModelsUnderOtherStatuses:
    @pytest.mark.parametrize(
        ("status", "body"),
        [
            (400, [{"error": {"code": 400, "status": "INVALID_ARGUMENT",
                              "message": "API key not valid. Please pass a valid API key."}}]),
            (400, {"error": {"message": "Incorrect API key provided", "code": "x"}}),
            (400, {"error": {"details": [{"reason": "API_KEY_INVALID"}], "message": "no"}}),
            (422, {"detail": "Missing API key"}),
            (200, {"error": {"code": 401, "message": "No auth credentials found"}}),
            (402, {"error": {"message": "Insufficient Balance"}}),
            (400, {"error": {"message": "banana is not a valid model ID", "code": 400}}),
        ],
    )  # fmt: skip
    def test_the_run_stops_at_the_first_call(self, status, body):
        with pytest.raises(ModelError), ChatServer(always(Reply(body, status))) as server:
            opened(server).answer([question()])
        assert len(server.bodies) == 1

    def test_the_way_out_is_named(self):
        body = [{"error": {"code": 400, "message": "API key not valid."}}]
        with pytest.raises(ModelError, match="does not accept the key in OPENAI_API_KEY"):
            one_answer(always(Reply(body, 400)), after_success=False)

    def test_a_bad_request_is_one_failed_answer(self):
        body = [{"error": {"code": 400, "message": "audio too short"}}]
        answer, _ = one_answer(always(Reply(body, 400)), after_success=False)
        assert (answer.status, answer.detail) == (Status.ERROR, "HTTP 400: audio too short")


@pytest.mark.parametrize(
    ("body", "wait_s"),
    [
        ([{"error": {"details": [{"@type": "x/RetryInfo", "retryDelay": "0.3s"}]}}], 0.3),
        ({"error": {"details": [{"retryDelay": {"seconds": "3", "nanos": 0}}]}}, 3),
        ({"message": "You are being rate limited.", "retry_after": 1.5}, 1.5),
        ({"error": {"metadata": {"headers": {"Retry-After": "4"}}}}, 4),
        ({"error": {"metadata": {"retry_after_seconds": 2}}}, 2),
        ({"error": {"retry_after_ms": 250}}, 0.25),
        ({"error": {"message": "Rate limit reached. Please try again in 6ms."}}, 0.006),
        ({"error": {"message": "Please try again in 1m2.5s. Visit us"}}, 62.5),
        ({"error": {"message": "Please retry after 10 seconds."}}, 10),
        ({"error": {"message": "Please retry in 36.5s."}}, 36.5),
        ("Retry after 7 s", 7),
        ({"error": {"message": "Try again in 2 days"}}, 172_800),
        ({"error": {"message": "Please try again in a moment"}}, None),
        ({"error": {"message": "try again in 3 bananas"}}, None),
        ({"error": {"retry_after": None, "retryDelay": True}}, None),
        ({"error": {"code": 429}}, None),
        (None, None),
        ([], None),
    ],
)  # fmt: skip
def test_waits_told_in_bodies(body, wait_s):
    assert wait_in(body) == (wait_s and pytest.approx(wait_s))


def test_a_wait_told_in_a_body_is_waited_for():
    body = [{"error": {"code": 429, "details": [{"retryDelay": "0.4s"}]}}]
    answer, server = one_answer(in_turn(Reply(body, 429), Reply()))
    assert answer.status is Status.OK
    assert server.started[1] - server.started[0] >= 0.4


def test_one_that_is_too_long_is_not():
    body = {"error": {"message": "daily limit; try again in 9h3m"}}
    answer, server = one_answer(always(Reply(body, 429)))
    assert (answer.status, len(server.bodies)) == (Status.ERROR, 1)


class TestOtherNameOfTheLimit:
    def takes(self, name, body_of):
        other = ({"max_tokens", "max_completion_tokens"} - {name}).pop()

        def reply_to(n, body, headers):
            return Reply(body_of(other), 400) if other in body else Reply()

        return reply_to

    @pytest.mark.parametrize("name", ["max_completion_tokens", "max_tokens"])
    @pytest.mark.parametrize(
        "body_of",
        [
            lambda name: {"error": {"code": "unsupported_parameter", "param": name, "message":
                                    "Use the other one instead."}},
            lambda name: {"error": {"message": f"Unrecognized request argument supplied: {name}"}},
            lambda name: {"detail": [{"type": "extra_forbidden", "loc": ["body", name],
                                      "msg": "Extra inputs are not permitted"}]},
        ],
    )  # fmt: skip
    def test_requested_once_more_and_so_from_then_on(self, name, body_of):
        extra = {} if name != "max_tokens" else {"max_tokens": None, "max_completion_tokens": 128}
        with ChatServer(self.takes(name, body_of)) as server:
            model = opened(server, concurrency=1, extra=extra, max_retries=0)
            before = json.dumps(model.description)
            answers = model.answer([question("a"), question("b")])
            answers += model.answer([question("c")])
        assert [answer.status for answer in answers] == ["ok"] * 3
        assert [body.get(name) for body in server.bodies] == [None, 128, 128, 128]
        assert json.dumps(model.description) == before  # the answer cache goes by it

    def test_a_server_that_takes_neither_is_an_error(self):
        def reply_to(n, body, headers):
            (name,) = {"max_tokens", "max_completion_tokens"} & set(body)
            return Reply({"error": {"message": f"{name} is not supported"}}, 400)

        answer, server = one_answer(reply_to)
        assert (answer.status, len(server.bodies)) == (Status.ERROR, 2)

    def test_a_field_that_is_not_taken_is_named_with_the_way_out(self):
        body = {"error": {"param": "temperature", "message": "Unsupported value"}}
        answer, _ = one_answer(always(Reply(body, 400)))
        assert "--extra '{\"temperature\": null}'" in answer.detail

    def test_a_limit_that_is_too_high_is_another_matter(self):
        assert not is_not_taken({"error": {"message": "max_tokens is too large"}}, "max_tokens")


class TestRetriesAreTold:
    def test_a_server_that_is_not_there(self, caplog):
        began = time.monotonic()
        with ChatServer() as server:
            gone = server.base_url
        server.base_url = gone
        with pytest.raises(ModelError, match="no connection"):
            opened(server).answer([question()])
        (line,) = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
        assert f"no connection to {gone}" in line
        assert "attempt 2 of 3 follows in" in line
        assert time.monotonic() - began < 60

    def test_a_server_that_says_nothing(self, caplog, monkeypatch):
        monkeypatch.setattr("otoscope.models.server_calls.LONGEST_CONNECT_S", 0.1)
        one_answer(always(Reply(hang=True)), timeout_s=0.6, max_retries=0)
        lines = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
        assert len(lines) == 1
        assert "no reply from http://127.0.0.1" in lines[0]

    def test_a_server_that_answers_is_quiet(self, caplog):
        one_answer(always(Reply()))
        assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


@pytest.mark.skipif(not CASES.is_file(), reason="an extra on cases that lie beside the clone")
def test_cases_beside_the_clone():
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        reply = Reply(case["reply"], case.get("status", 200))
        name, right = case["name"], case["right"]
        if "stops at the first" in right:
            with pytest.raises(ModelError):
                one_answer(always(reply), after_success=False)
            continue
        answer, server = one_answer(in_turn(reply, Reply()), after_success=False)
        again = "again" in right or "asked once more" in right
        assert len(server.bodies) == 1 + again, name
        expected = {"filtered": "filtered", "refused": "refused"}.get(
            right.split(",")[0].split(";")[0]
        )
        assert answer.status == (expected or "ok"), name
        assert answer.text_truncated == (right == "text_truncated"), name
        if right.startswith("text 'increase'"):
            assert answer.text == "increase", name


def test_what_no_filter_did():
    for body in ({"error": {"message": "audio too long"}}, {"error": {"code": 403}}, "no", None):
        assert not is_filtered(body)
