"""Requests to a server over HTTP, whether it works or fails."""

import asyncio
import contextlib
import gc
import io
import json
import logging
import os
import re
import socket
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import soxr
from chat_server import (
    ChatServer,
    Reply,
    always,
    audio_input,
    completion,
    failure,
    in_turn,
    one_answer,
    opened,
    request_about,
    sent_parts,
)

from otoscope.models.base import ModelError, Status, description_of, stream
from otoscope.models.in_flight import LoopThread, RateLimiter, as_they_arrive
from otoscope.models.openai_server import open_openai
from otoscope.models.redacting import Redactor
from otoscope.models.retrying import RetryPolicy
from otoscope.models.server_errors import retry_after
from otoscope.prompts.parts import Text

HERE = Path(__file__).parent
KEY = "sk-test-0123456789abcdefXYZ"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


ON_PARSE_FAILURE = RetryPolicy(on_parse_failure=256)


class TestFairWeather:
    def test_an_answer_with_its_counts(self):
        answer, server = one_answer(always(Reply(completion("Increase."))))
        assert (answer.text, answer.status) == ("Increase.", Status.OK)
        assert (answer.n_tokens_in, answer.n_tokens_out) == (120, 3)
        assert not answer.text_truncated
        assert answer.detail == ""
        assert answer.wall_s > 0
        assert server.paths == ["/v1/chat/completions"]

    def test_the_request_says_what_was_set_and_nothing_else(self):
        _, server = one_answer(always(Reply()))
        (body,) = server.bodies
        assert {k: v for k, v in body.items() if k != "messages"} == {
            "model": "tiny-lalm",
            "temperature": 0,
            "max_tokens": 128,
        }

    def test_parts_keep_their_order(self):
        first, second = audio_input("x", seed=1), audio_input("y", seed=2)
        parts = (Text("Example audio:\n"), first, Text("\nQuery:\n"), second, Text(" ?"))
        _, server = one_answer(always(Reply()), request_about("y", *parts))
        sent = sent_parts(server.bodies[0])
        assert [sent[0], sent[2], sent[4]] == ["Example audio:\n", "\nQuery:\n", " ?"]
        for (pcm, rate), clip in ((sent[1], first), (sent[3], second)):
            assert rate == 16_000
            np.testing.assert_array_equal(pcm, clip.samples * 32768)

    def test_a_system_message_is_one_text_before_the_users(self):
        parts = (Text("Be ", "system"), Text("brief.", "system"), Text("Hear: "), audio_input("y"))
        _, server = one_answer(always(Reply()), request_about("y", *parts))
        system, user = server.bodies[0]["messages"]
        assert system == {"role": "system", "content": "Be brief."}
        assert [user["role"], *(part["type"] for part in user["content"])] == [
            "user", "text", "input_audio",
        ]  # fmt: skip

    def test_a_question_needs_no_clip(self):
        answer, server = one_answer(always(Reply()), request_about("y", Text("Which colour?")))
        (message,) = server.bodies[0]["messages"]
        assert message["content"] == [{"type": "text", "text": "Which colour?"}]
        assert answer.text == "increase"

    @pytest.mark.parametrize(
        ("asked_for", "expected"), [(16_000, 16_000), (None, 48_000), (0, 48_000)]
    )
    def test_audio_is_the_clip_after_resampling(self, asked_for, expected):
        clip = audio_input("a", rate=48_000, n=9600)
        _, server = one_answer(
            always(Reply()), request_about("a", Text("?"), clip), sampling_rate=asked_for
        )
        pcm, rate = sent_parts(server.bodies[0])[1]
        assert rate == expected
        moved = clip.samples
        if expected != 48_000:
            moved = soxr.resample(moved, 48_000, expected, quality="HQ")
        np.testing.assert_array_equal(pcm, np.rint(moved * 32768))

    def test_flac_is_sent_as_flac(self):
        _, server = one_answer(always(Reply()), audio_format="flac")
        (part,) = [p for p in server.bodies[0]["messages"][0]["content"] if "input_audio" in p]
        assert part["input_audio"]["format"] == "flac"
        assert part["input_audio"]["data"].startswith("ZkxhQ")  # "fLaC"

    def test_overshoot_of_resampling_is_reported(self):
        square = np.sign(np.sin(np.arange(4800) * 0.05)).astype(np.float32) * 0.999
        clip = audio_input("a", rate=48_000)
        loud = type(clip)("a", square, 48_000, "sha")
        answer, server = one_answer(always(Reply()), request_about("a", Text("?"), loud))
        assert re.fullmatch(r"\d+ samples clipped in resampling", answer.detail)
        pcm, _ = sent_parts(server.bodies[0])[1]
        assert pcm.max() == 32767

    def test_a_clip_that_cannot_be_encoded_is_an_error_of_its_own(self):
        clip = audio_input("a")
        broken = type(clip)("a", np.array([np.nan, 0], np.float32), 16_000, "sha")
        answer, server = one_answer(always(Reply()), request_about("a", Text("?"), broken))
        assert answer.status is Status.ERROR
        assert "clip 'a'" in answer.detail
        assert "NaN" in answer.detail
        assert server.bodies == []

    def test_a_clip_that_is_too_long_is_not_sent(self):
        answer, server = one_answer(always(Reply()), max_audio_s=0.05)
        assert (answer.status, server.bodies) == (Status.ERROR, [])
        assert answer.detail.startswith("clip 'a' lasts 0.10 s, longer than --max-audio-s 0.05")
        answer, _ = one_answer(always(Reply()), max_audio_s=0.1)
        assert answer.status is Status.OK

    def test_answers_come_in_order_and_stream_as_they_arrive(self):
        def reply_to(n, body, headers):
            text = body["messages"][0]["content"][0]["text"]
            time.sleep(0.3 if text == "0" else 0)
            return Reply(completion(text))

        questions = [request_about(str(i), Text(str(i)), audio_input()) for i in range(6)]
        with ChatServer(reply_to) as server:
            model = opened(server, concurrency=3)
            assert [a.text for a in model.answer(questions)] == list("012345")
            streamed = list(stream(model, iter(questions)))
        assert {index: answer.text for index, answer in streamed} == dict(enumerate("012345"))
        assert [index for index, _ in streamed].index(0) > 0

    def test_presets_and_settings(self):
        _, server = one_answer(always(Reply()), preset="gemini-3-flash", extra={"seed": 7})
        fields = {k: v for k, v in server.bodies[0].items() if k not in ("messages", "model")}
        assert fields == {
            "temperature": 1.0, "top_k": 5, "max_tokens": 128, "reasoning_effort": "low", "seed": 7,
        }  # fmt: skip

    def test_what_is_given_goes_before_the_preset_and_none_drops_a_field(self):
        extra = {"max_tokens": None, "max_completion_tokens": 5}
        _, server = one_answer(
            always(Reply()), preset="gemini-3-flash", temperature=0.5, extra=extra
        )
        assert server.bodies[0]["temperature"] == 0.5
        assert server.bodies[0]["max_completion_tokens"] == 5
        assert "max_tokens" not in server.bodies[0]

    def test_the_retry_on_parse_failure_keeps_both_answers(self):
        reply_to = in_turn(
            Reply(completion("Well, the volume", finish="length")), Reply(completion("decrease"))
        )
        answer, server = one_answer(reply_to, retry=ON_PARSE_FAILURE)
        assert (answer.text, answer.first_text) == ("decrease", "Well, the volume")
        assert not answer.text_truncated
        assert [body["max_tokens"] for body in server.bodies] == [128, 256]
        first, second = (body["messages"] for body in server.bodies)
        assert first == second

    def test_that_retry_raises_the_limit_whatever_it_is_called(self):
        extra = {"max_tokens": None, "max_completion_tokens": 128}
        reply_to = in_turn(Reply(completion("hm")), Reply())
        _, server = one_answer(reply_to, extra=extra, retry=ON_PARSE_FAILURE)
        assert [body["max_completion_tokens"] for body in server.bodies] == [128, 256]
        assert not any("max_tokens" in body for body in server.bodies)

    def test_no_retry_when_the_first_can_be_parsed_or_none_is_wanted(self):
        answer, server = one_answer(always(Reply()), retry=ON_PARSE_FAILURE)
        assert (len(server.bodies), answer.first_text) == (1, None)
        _, server = one_answer(always(Reply(completion("hm"))))
        assert len(server.bodies) == 1


class TestAnswersOfOtherKinds:
    def test_cut_at_the_limit(self):
        answer, _ = one_answer(always(Reply(completion("The vol", finish="length"))))
        assert (answer.text, answer.status, answer.text_truncated) == ("The vol", "ok", True)

    def test_filtered(self):
        answer, _ = one_answer(always(Reply(completion(None, finish="content_filter"))))
        assert (answer.text, answer.status) == (None, Status.FILTERED)

    def test_filtered_by_an_error(self):
        reply = failure(400, "The response was filtered", "content_filter")
        answer, server = one_answer(always(reply))
        assert (answer.status, answer.detail) == (Status.FILTERED, "The response was filtered")
        assert len(server.bodies) == 1

    def test_refused(self):
        answer, _ = one_answer(always(Reply(completion(None, refusal="I cannot do that"))))
        assert (answer.text, answer.status) == ("I cannot do that", Status.REFUSED)

    def test_an_empty_text_is_an_answer(self):
        answer, _ = one_answer(always(Reply(completion(None, refusal=None))))
        assert (answer.text, answer.status) == ("", Status.OK)

    def test_content_in_parts(self):
        parts = [{"type": "text", "text": "in"}, {"type": "text", "text": "crease"}]
        answer, _ = one_answer(always(Reply(completion(parts))))
        assert answer.text == "increase"

    def test_without_usage(self):
        body = completion()
        del body["usage"]
        answer, _ = one_answer(always(Reply(body)))
        assert (answer.status, answer.n_tokens_in, answer.cost) == ("ok", None, None)


BROKEN = {
    "no choice": (Reply({"choices": []}), "holds no choice"),
    "an error in a 200": (Reply({"error": {"message": "blocked"}}), "holds no choice: blocked"),
    "no message": (Reply({"choices": [{}]}), "a choice without a message"),
    "not JSON": (Reply(raw=b"<html>hello</html>"), "is not JSON: '<html>hello"),
    "JSON cut": (Reply(raw=b'{"choices": ['), "is not JSON"),
    "a list": (Reply(raw=b"[1]"), "is a JSON list"),
    "no bytes": (Reply(raw=b""), "is not JSON: ''"),
}


class TestFoulWeather:
    @pytest.mark.parametrize("name", BROKEN)
    def test_a_reply_without_an_answer_is_an_error(self, name):
        reply, complaint = BROKEN[name]
        answer, server = one_answer(always(reply))
        assert (answer.text, answer.status) == (None, Status.ERROR)
        assert complaint in answer.detail
        assert len(server.bodies) == 1

    @pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
    def test_what_may_pass_is_tried_again(self, status):
        answer, server = one_answer(in_turn(failure(status), failure(status), Reply()))
        assert (answer.text, answer.status) == ("increase", Status.OK)
        assert len(server.bodies) == 3

    @pytest.mark.parametrize("status", [400, 413, 422])
    def test_what_will_not_pass_is_not(self, status):
        answer, server = one_answer(always(failure(status, "audio is not supported")))
        assert answer.status is Status.ERROR
        assert answer.detail == f"HTTP {status}: audio is not supported"
        assert len(server.bodies) == 1

    def test_retries_end(self):
        answer, server = one_answer(always(failure(500)))
        assert answer.detail == "HTTP 500 (3 attempts): something broke"
        assert len(server.bodies) == 3

    @pytest.mark.parametrize("header", [{"Retry_After": "0.4"}, {"retry_after_ms": "400"}])
    def test_retry_after_is_honoured(self, header):
        answer, server = one_answer(in_turn(failure(429, **header), Reply()))
        assert answer.status is Status.OK
        assert server.started[1] - server.started[0] >= 0.4

    def test_without_it_the_wait_is_short_and_grows(self):
        replies = [failure(429)] * 3 + [Reply()]
        answer, server = one_answer(in_turn(*replies), max_retries=3, backoff_s=0.1)
        waits = np.diff(server.started)
        assert answer.status is Status.OK
        for wait, base in zip(waits, (0.1, 0.2, 0.4), strict=True):
            assert base <= wait < base + 3  # jitter of 0.1 s, and a busy machine

    def test_retry_after_holds_back_the_other_requests_too(self):
        with ChatServer(in_turn(failure(429, Retry_After="0.8"), Reply())) as server:
            model = opened(server, concurrency=2, requests_per_minute=60 / 0.4)
            model.answer([request_about("a"), request_about("b")])
        first, second, *_ = sorted(server.started)
        assert second - first >= 0.8  # and not 0.4, the pace

    def test_a_retry_after_that_is_too_long_is_not_waited_for(self):
        answer, server = one_answer(always(failure(429, "daily limit", Retry_After="86400")))
        assert answer.detail == "HTTP 429: daily limit"
        assert len(server.bodies) == 1

    def test_a_hang_is_a_timeout(self):
        answer, server = one_answer(always(Reply(hang=True)), timeout_s=0.8, max_retries=1)
        assert (answer.text, answer.status) == (None, Status.TIMEOUT)
        assert answer.detail == "no answer within 0.8 s (2 attempts)"
        assert len(server.bodies) == 2

    def test_a_body_that_drips_is_a_timeout_too(self):
        answer, _ = one_answer(always(Reply(drip=True)), timeout_s=0.5, max_retries=0)
        assert (answer.status, answer.detail) == (Status.TIMEOUT, "no answer within 0.5 s")

    def test_a_hang_that_passes(self):
        answer, _ = one_answer(in_turn(Reply(hang=True), Reply()), timeout_s=1.0)
        assert answer.status is Status.OK

    def test_half_a_body_is_an_error_and_may_pass(self):
        answer, server = one_answer(always(Reply(cut=True)))
        assert answer.status is Status.ERROR
        assert answer.detail.startswith(f"no connection to {server.base_url} (3 attempts): ")
        answer, _ = one_answer(in_turn(Reply(cut=True), Reply()))
        assert answer.status is Status.OK

    def test_one_storm_over_many_questions_loses_none(self):
        kinds = [
            Reply(), failure(429), failure(429, Retry_After="0.01"), failure(500),
            Reply(cut=True), Reply(raw=b"{"), Reply({"choices": []}),
            Reply(completion(None, finish="content_filter")),
        ]  # fmt: skip
        with ChatServer(lambda n, body, headers: kinds[n % len(kinds)]) as server:
            model = opened(server, concurrency=4)
            answers = dict(model.stream(request_about(str(i)) for i in range(40)))
        assert sorted(answers) == list(range(40))
        assert {a.status for a in answers.values()} >= {Status.OK, Status.ERROR, Status.FILTERED}
        assert all((a.text is None) == (a.status is not Status.OK) for a in answers.values())


class TestHopeless:
    def test_a_retired_model_stops_the_run_and_is_named(self, tmp_path):
        prices = tmp_path / "prices.csv"
        prices.write_text("model,replaced_by\ntiny-lalm,tiny-lalm-2\n")
        reply = failure(404, "The model `tiny-lalm` does not exist", "model_not_found")
        with pytest.raises(ModelError, match=r"no model 'tiny-lalm' at http://127.*/v1; use "
                           r"'tiny-lalm-2', or replay saved answers"):  # fmt: skip
            one_answer(always(reply), after_success=False, prices=prices)

    def test_once_it_has_answered_it_is_one_failed_answer(self):
        reply = failure(404, "The model `tiny-lalm` does not exist", "model_not_found")
        answer, server = one_answer(always(reply))
        assert answer.status is Status.ERROR
        assert answer.detail.startswith("HTTP 404: no model 'tiny-lalm' at http://127")
        assert len(server.bodies) == 1

    def test_a_wrong_path_is_another_matter(self):
        with pytest.raises(ModelError, match=r"a base URL usually ends in /v1"):
            one_answer(always(Reply({"detail": "Not Found"}, 404)), after_success=False)

    @pytest.mark.parametrize("status", [401, 403])
    def test_a_key_that_is_not_accepted_names_its_variable(self, status):
        with pytest.raises(ModelError, match=r"does not accept the key in OPENAI_API_KEY"):
            one_answer(always(failure(status)), after_success=False)

    def test_a_spent_quota_is_not_waited_for(self):
        reply = failure(429, "You exceeded your current quota", "insufficient_quota")
        with pytest.raises(ModelError, match="HTTP 429: You exceeded your current quota"):
            one_answer(always(reply), after_success=False)

    def test_nobody_there(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        model = open_openai(
            "tiny", base_url=f"http://127.0.0.1:{port}/v1", backoff_s=0.01, max_retries=1
        )
        with pytest.raises(ModelError, match=rf"no connection to http://127.0.0.1:{port}/v1 \(2"):
            model.answer([request_about()])

    def test_answers_given_before_are_kept(self):
        reply_to = in_turn(Reply(), failure(401))
        with ChatServer(reply_to) as server:
            statuses = [
                a.status for a in opened(server, concurrency=1).answer([request_about()] * 3)
            ]
        assert statuses == [Status.OK, Status.ERROR, Status.ERROR]


class TestManyAtOnce:
    def test_never_more_than_allowed_and_as_many_as_allowed(self):
        with ChatServer(latency_s=0.05) as server:
            opened(server, concurrency=3).answer([request_about()] * 18)
        assert server.most_at_once == 3

    def test_starts_keep_the_pace(self):
        with ChatServer() as server:
            opened(server, concurrency=8, requests_per_minute=60 / 0.1).answer(
                [request_about()] * 6
            )
        assert np.ptp(server.started) >= 0.35  # five gaps of 0.1 s, less what the first was late

    def test_retries_keep_the_pace_too(self):
        with ChatServer(in_turn(failure(500), failure(500), Reply())) as server:
            model = opened(server, requests_per_minute=60 / 0.2)
            model.server_models.add("x")
            model.answer([request_about()])
        assert (np.diff(server.started) >= 0.1).all()  # and not 0.01, the back-off

    def test_questions_are_taken_only_when_needed(self):
        taken = 0

        def questions():
            nonlocal taken
            for i in range(1000):
                taken += 1
                yield request_about(str(i))

        with ChatServer() as server:
            answers = opened(server, concurrency=2).stream(questions())
            for n_had in range(1, 20):
                next(answers)
                assert taken <= n_had + 4
            answers.close()
        assert taken < 30

    def test_stopping_early_cancels_what_is_in_flight(self):
        with ChatServer(in_turn(Reply(), Reply(hang=True))) as server:
            answers = opened(server, concurrency=4).stream(request_about(str(i)) for i in range(50))
            next(answers)
            began = time.monotonic()
            answers.close()
            assert time.monotonic() - began < 2
        assert len(server.bodies) <= 8

    def test_what_a_question_raises_is_raised_and_nothing_is_left_running(self):
        def questions():
            yield request_about("a")
            raise RuntimeError("the disk is gone")

        with ChatServer() as server, pytest.raises(RuntimeError, match="the disk is gone"):
            list(opened(server).stream(questions()))

    def test_no_questions(self):
        with ChatServer() as server:
            assert opened(server).answer([]) == []

    def test_what_a_call_raises_is_raised(self):
        async def call(question):
            raise KeyError(question)

        loop = LoopThread()
        try:
            with pytest.raises(KeyError, match="7"):
                list(as_they_arrive(loop, [7], call, n_ahead=2))
        finally:
            loop.close()


class TestRateLimiter:
    """On a clock of its own."""

    def run(self, steps, per_minute):
        import asyncio

        now = 100.0
        starts = []

        async def sleep(seconds):
            nonlocal now
            now += seconds

        pace = RateLimiter(per_minute, clock=lambda: now, sleep=sleep)

        async def play():
            for hold in steps:
                if hold:
                    pace.delay(hold)
                await pace.acquire()
                starts.append(now - 100)

        asyncio.run(play())
        return starts

    def test_even_starts(self):
        assert self.run([0.0, 0.0, 0.0], 30.0) == [0, 2, 4]

    def test_no_limit(self):
        assert self.run([0.0, 0.0, 0.0], None) == [0, 0, 0]

    def test_held_back(self):
        assert self.run([0.0, 7.0, 0.0], 30.0) == [0, 7, 9]


class TestNoKeyAnywhere:
    def echo(self, n, body, headers):
        said = f"bad header {headers['Authorization']} and {headers}"
        return Reply({"error": {"message": said, "code": KEY}}, 400)

    def test_not_in_an_error_that_echoes_it(self):
        answer, server = one_answer(self.echo)
        assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
        assert "[key]" in answer.detail
        assert KEY not in repr(answer)

    @pytest.mark.parametrize("status", [401, 404])
    def test_not_in_what_is_raised(self, status):
        def reply_to(n, body, headers):
            return failure(status, f"wrong: {headers['Authorization']} {KEY[:12]}***")

        with pytest.raises(ModelError) as raised:
            one_answer(reply_to, after_success=False)
        seen = raised.value
        while seen is not None:
            assert KEY not in f"{seen!r} {seen} {vars(seen)}"
            assert KEY[:12] not in str(seen)
            seen = seen.__cause__

    def test_not_in_a_broken_reply(self):
        answer, _ = one_answer(always(Reply(raw=KEY.encode())))
        assert KEY not in repr(answer)

    @pytest.mark.parametrize("key", ["a", "increase", KEY])
    def test_an_answer_is_never_altered_and_short_texts_are_no_keys(self, key, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        said = f"an increase, and {key}"
        answer, _ = one_answer(always(Reply(completion(said, reasoning=said))))
        assert (answer.text, answer.reasoning) == (said, said)
        answer, _ = one_answer(always(failure(400, f"a bad {key}")))
        cleaned = key if key == "a" else "[key]"
        assert answer.detail == f"HTTP 400: a bad {cleaned}"

    @pytest.mark.parametrize(
        ("text", "cleaned"),
        [
            ("skillfully skateboarding", "skillfully skateboarding"),
            ("Bearer authentication is required", "Bearer authentication is required"),
            ("Bearer abc123def456", "[key]"),
            ("sk-proj-0123456789ab, hf_0123456789ab", "[key], [key]"),
            ("Incorrect key: AIzaSy0123456789", "Incorrect key: [key]"),
            ("a\x1b[2Jred\0 \x9b31m\u202eb", "a [2Jred 31m b"),
        ],
    )
    def test_what_looks_like_a_key(self, text, cleaned):
        assert Redactor(None).line(text) == cleaned

    @pytest.mark.parametrize(
        ("options", "what"),
        [
            ({"extra": {"headers": {"x-key": KEY}}}, "--extra"),
            ({"extra": {"token": "sk-0123456789abcdef"}}, "--extra"),
            ({"base_url": f"http://localhost/{KEY}/v1"}, "the base URL"),
            ({"name": f"tiny?key={KEY}"}, "the model's name"),
        ],
    )
    def test_a_setting_that_run_json_would_hold_carries_none(self, options, what, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        options = {"name": "tiny", "base_url": "http://localhost/v1"} | options
        with pytest.raises(ModelError, match=f"^openai: {what} carries a key") as raised:
            open_openai(options.pop("name"), **options)
        assert KEY not in str(raised.value)

    def test_not_in_description_repr_or_logs(self, caplog):
        caplog.set_level(logging.DEBUG)
        err, out = io.StringIO(), io.StringIO()
        with (
            ChatServer(
                in_turn(failure(500, KEY), self.echo(0, {}, {"Authorization": KEY}))
            ) as server,
            contextlib.redirect_stderr(err),
            contextlib.redirect_stdout(out),
        ):
            model = opened(server)
            answers = model.answer([request_about()])
        assert answers[0].status is Status.ERROR
        everything = " ".join(
            [repr(model), json.dumps(description_of(model)), repr(answers), caplog.text,
             str([record.args for record in caplog.records]), err.getvalue(), out.getvalue()]
        )  # fmt: skip
        assert "HTTP Request: POST" in everything
        assert KEY not in everything

    @pytest.mark.parametrize("url", ["http://me:hush@localhost/v1", "http://localhost/v1?k=hush"])
    def test_a_url_that_carries_one_is_rejected_since_it_would_be_logged(self, url):
        with pytest.raises(ModelError, match="http://localhost/v1 carries a password") as raised:
            open_openai("tiny", base_url=url)
        assert "hush" not in str(raised.value)

    def test_another_variable(self, monkeypatch):
        monkeypatch.setenv("MY_KEY", "other-key-42")
        _, server = one_answer(always(Reply()), api_key_env="MY_KEY")
        assert server.headers[0]["Authorization"] == "Bearer other-key-42"

    def test_a_local_server_needs_none(self, monkeypatch):
        monkeypatch.delenv("OPENAI_API_KEY")
        answer, _ = one_answer(always(Reply()))
        assert answer.status is Status.OK

    def test_another_one_does(self, monkeypatch):
        monkeypatch.delenv("OPENAI_API_KEY")
        with pytest.raises(ModelError, match=r"api\.openai\.com wants a key; .* OPENAI_API_KEY"):
            open_openai("gpt-audio")


class TestCost:
    def test_audio_tokens_are_priced_apart(self, tmp_path):
        prices = tmp_path / "prices.csv"
        prices.write_text("model,as_of,text_in,text_out,audio_in\ntiny-lalm,2026-01-01,1,10,50\n")
        answer, _ = one_answer(always(Reply()), prices=prices)
        assert answer.cost == pytest.approx((20 * 1 + 100 * 50 + 3 * 10) / 1e6)

    def test_both_calls_are_paid(self, tmp_path):
        prices = tmp_path / "prices.csv"
        prices.write_text("model,text_in,text_out,audio_in\ntiny-lalm,1,10,50\n")
        answer, _ = one_answer(
            always(Reply(completion("hm"))), prices=prices, retry=ON_PARSE_FAILURE
        )
        assert answer.cost == pytest.approx(2 * (20 * 1 + 100 * 50 + 3 * 10) / 1e6)

    def test_an_estimate_before_asking(self, tmp_path):
        prices = tmp_path / "prices.csv"
        prices.write_text(
            "model,host,text_in,text_out,audio_in,audio_tokens_per_s\n"
            "rated,localhost,1,10,50,32\nunrated,localhost,1,10,50,\nelsewhere,example.org,1,1,1,1\n"
        )
        costs = {}
        for name in ("rated", "unrated", "elsewhere", "unknown"):
            model = open_openai(name, base_url="http://localhost:1/v1", prices=prices)
            costs[name] = model.estimate(n_questions=10, audio_s=25.0, n_characters=400)
        # 100 tokens of text, 800 of audio, at most 1,280 of answers
        assert costs.pop("rated") == pytest.approx((100 + 800 * 50 + 1280 * 10) / 1e6)
        assert costs == dict.fromkeys(("unrated", "elsewhere", "unknown"))

    def test_audio_tokens_not_counted_apart_come_from_the_documented_rate_or_not_at_all(
        self, tmp_path
    ):
        prices = tmp_path / "prices.csv"
        reply = completion(usage=(120, 3, 0))
        for rate, cost in (("320", (88 + 32 * 50 + 3 * 10) / 1e6), ("", None)):
            prices.write_text(
                f"model,text_in,text_out,audio_in,audio_tokens_per_s\ntiny-lalm,1,10,50,{rate}\n"
            )  # the clip lasts 0.1 s
            answer, _ = one_answer(always(Reply(reply)), prices=prices)
            assert answer.cost == (cost and pytest.approx(cost))

    def test_our_own_table_is_dated_and_says_where_it_is_from(self):
        import csv
        import datetime
        from importlib.resources import files

        text = (files("otoscope.models") / "data" / "prices.csv").read_text()
        for row in csv.DictReader(text.splitlines()):
            assert datetime.date.fromisoformat(row["as_of"]) > datetime.date(2026, 1, 1)
            assert row["source"].startswith("https://")
            assert float(row["text_in"]) < float(row["audio_in"])

    def test_a_price_of_ones_own_needs_no_split_of_tokens(self):
        reply = completion(usage=(120, 3, 0))
        answer, _ = one_answer(always(Reply(reply)), price_in=2.0, price_out=10.0)
        assert answer.cost == pytest.approx((120 * 2 + 3 * 10) / 1e6)

    @pytest.mark.parametrize("amount", ["nan", "inf", "-1"])
    def test_a_table_holds_numbers(self, amount, tmp_path):
        prices = tmp_path / "prices.csv"
        prices.write_text(f"model,text_in\ntiny-lalm,{amount}\n")
        with pytest.raises(ModelError, match="is not a price"):
            open_openai("tiny", base_url="http://localhost:1/v1", prices=prices)

    def test_an_unknown_model_has_no_cost(self):
        answer, _ = one_answer(always(Reply()))
        assert answer.cost is None


class TestSettings:
    def test_description_is_json_and_stays_the_same(self):
        with ChatServer() as server:
            model = opened(server)
            before = json.dumps(model.description)
            model.answer([request_about()])
        assert json.dumps(model.description) == before
        assert model.description["settings"] == {"temperature": 0, "max_tokens": 128}
        assert model.server_models == {"tiny-lalm-2026"}

    @pytest.mark.parametrize(
        ("options", "complaint"),
        [
            ({"audio_format": "mp3"}, "audio format 'mp3' is none of"),
            ({"concurrency": 0}, "concurrency is 0; at least 1"),
            ({"timeout_s": 0.0}, "timeout_s is 0"),
            ({"timeout_s": float("nan")}, "timeout_s is nan; at least 0.001, and finite"),
            ({"requests_per_minute": float("inf")}, "requests_per_minute is inf"),
            ({"temperature": -1.0}, "temperature is -1"),
            ({"price_in": 1.0}, "--price-in and --price-out are given together"),
            ({"price_in": float("nan"), "price_out": 1.0}, "price_in is nan"),
            ({"requests_per_minute": 0.0}, "requests_per_minute is 0"),
            ({"base_url": "localhost:8000/v1"}, "'localhost:8000/v1' is no base URL"),
            ({"base_url": "http://"}, "no base URL"),
            ({"base_url": "http://[1/v1"}, "no base URL"),
            ({"preset": "gemini"}, "did you mean 'gemini-3-flash'"),
            ({"preset": "kimi-audio"}, r"settings no chat server takes: \['audio_rep"),
            ({"prices": "nowhere.csv"}, "prices: nowhere.csv: No such file"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_used_is_named(self, options, complaint):
        with pytest.raises(ModelError, match=complaint):
            open_openai("tiny", **({"base_url": "http://localhost:1/v1"} | options))

    def test_a_name_is_needed(self):
        with pytest.raises(ModelError, match="name the model"):
            open_openai(None)

    def test_the_input_fingerprint_changes_with_the_audio(self):
        model = open_openai("tiny", base_url="http://localhost:1/v1")
        first, second = (
            model.input_fingerprint(request_about("a", audio_input(seed=i))) for i in (1, 2)
        )
        assert first != second
        assert model.input_fingerprint(request_about("a", audio_input(seed=1))) == first


def test_retry_after_as_a_date():
    import datetime

    now = datetime.datetime(2026, 11, 30, 12, 0, 0, tzinfo=datetime.UTC)
    header = {"retry-after": "Mon, 30 Nov 2026 12:00:07 GMT"}
    assert retry_after(header, now=now) == 7
    assert retry_after({"retry-after": "soon"}) is None


def test_nothing_stays_open():
    with ChatServer() as server:
        opened(server).answer([request_about()] * 3)
    gc.collect()  # an unclosed socket or loop would warn, and a warning is an error here


def test_a_connection_that_was_not_begun_ends_without_a_warning(monkeypatch):
    """Closing comes between the start of a library's own task and its first step."""
    anyio = pytest.importorskip("anyio")

    async def call():
        started.set()
        assert closing.wait(5)  # blocks the loop: what closes it is waiting behind this
        await asyncio.sleep(0)  # now that has a task, which runs before the one begun here
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asyncio.sleep, 30)

    def submit(coroutine):
        submitted = LoopThread.submit(loop, coroutine)
        closing.set()
        return submitted

    started, closing, loop = threading.Event(), threading.Event(), LoopThread()
    future = loop.submit(call())
    assert started.wait(5)
    monkeypatch.setattr(loop, "submit", submit)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        loop.close()
        gc.collect()
    assert future.cancelled()
    assert [str(each.message) for each in seen] == []


def test_python_exits_though_a_stream_was_not_read_to_its_end():
    code = """
from chat_server import ChatServer, Reply, request_about
from otoscope.models.openai_server import open_openai

server = ChatServer(lambda n, body, headers: Reply(hang=n > 0)).__enter__()
requests = (request_about(str(i)) for i in range(50))
answers = open_openai("tiny", base_url=server.base_url, max_retries=0).stream(requests)
print(next(answers)[1].status, flush=True)
server.__exit__()
"""
    path = os.environ | {"PYTHONPATH": str(HERE.parents[1])}
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, cwd=HERE, env=path, capture_output=True, text=True, timeout=30)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("ok\n", "", 0)
