"""Requested once, stored at once, and counted by the plan only."""

import io
import math
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
import soundfile

from otoscope.audits.answer_cache import AnswerCache, cache_key
from otoscope.audits.asking import ATTENUATED
from otoscope.audits.journal import sent_calls
from otoscope.audits.perception import plan, run
from otoscope.audits.runs import attempts, load_run
from otoscope.cli.run.session import summary
from otoscope.errors import InvalidValue
from otoscope.models.base import Answer, AudioInput, ModelError, Request, Status
from otoscope.models.retrying import RetryPolicy
from otoscope.models.simple import RandomChoice
from otoscope.prompts.parts import Clip, Question, Text
from otoscope.responses import PARSERS
from tests.audits.models import InTurn, RecordingModel
from tests.audits.tiny_dataset import clip, in_memory, row, rows

ON_PARSE_FAILURE = RetryPolicy(on_parse_failure=256)


@pytest.fixture
def ask(tmp_path):
    """Asks five questions of one run folder."""
    made = in_memory(rows(5))

    def request(model, *, out="run", dataset=made, **options):
        return run(dataset, model, out=tmp_path / out, **options)

    request.folder = tmp_path / "run"
    return request


@pytest.fixture
def cache(tmp_path):
    opened = AnswerCache(tmp_path / "cache" / "answers.sqlite")
    yield opened
    opened.close()


def statuses(folder):
    return list(load_run(folder)["status"])


class TestAskedOnce:
    def test_a_finished_run_asks_nothing(self, ask):
        model = RecordingModel()
        first, second = ask(model), ask(model)
        assert len(model.requested) == 5
        assert (first.n_before, first.n_answered, first.n_parsed) == (0, 5, 5)
        assert (second.n_before, second.n_answered, second.n_repeated) == (5, 0, 0)

    def test_only_answers_that_ended_well_count_as_parsed(self, ask):
        progress = ask(RecordingModel(lambda _: Answer("increase", Status.REFUSED)))
        assert (progress.n_answered, progress.n_parsed) == (5, 0)

    @pytest.mark.parametrize("status", list(Status))
    def test_only_timeouts_and_errors_are_retried(self, ask, status):
        model = InTurn(status)
        ask(model)
        ask(model)
        again = status in (Status.TIMEOUT, Status.ERROR)
        assert len(model.requested) == (10 if again else 5)
        assert len(load_run(ask.folder)) == 5
        assert statuses(ask.folder) == [status.value] * 5

    def test_a_timeout_is_mended_by_the_next_call(self, ask):
        model = InTurn(Status.TIMEOUT, Status.OK)
        assert ask(model).statuses == {"timeout": 5}
        assert ask(model).statuses == {"ok": 5}
        assert statuses(ask.folder) == ["ok"] * 5
        assert ask(model).n_before == 5

    def test_a_refusal_is_retried_only_on_demand(self, ask):
        model = InTurn(Status.REFUSED, Status.OK)
        ask(model)
        ask(model)
        assert len(model.requested) == 5
        ask(model, retry=RetryPolicy({"refused"}))
        assert len(model.requested) == 10
        assert statuses(ask.folder) == ["ok"] * 5

    def test_batches_are_filled_and_the_last_is_shorter(self, ask):
        model = RecordingModel(batch_size=2)
        sizes = []
        answer = model.answer
        model.answer = lambda questions: sizes.append(len(questions)) or answer(questions)
        ask(model)
        assert sizes == [2, 2, 1]

    def test_answers_that_arrive_in_another_order_find_their_questions(self, ask):
        class Streaming(RecordingModel):
            def stream(self, questions):
                held = list(enumerate(questions))
                for index, request in reversed(held):
                    yield index, Answer(request.question.question_id)

        ask(Streaming())
        found = load_run(ask.folder)
        assert list(found["text"]) == list(found["question_id"])

    def test_requests_are_the_planned_questions(self, ask):
        model = RecordingModel()
        ask(model)
        found = load_run(ask.folder)
        assert model.requested == list(found["question_id"])
        assert [[s.sha256 for s in audio_inputs] for audio_inputs in model.audio_inputs] == list(
            found["audio_sha256"]
        )

    def test_calls_of_a_question_are_numbered_on_whether_answered_or_lost(self, ask):
        """Over ranks and starts, so that the last one is known whichever file it stands in."""

        def say(question_id):
            raise KeyboardInterrupt

        for model in (
            InTurn(Status.ERROR),
            RecordingModel(say),
            InTurn(Status.ERROR),
            RecordingModel(),
        ):
            try:
                ask(model, rank=1, world=5)
            except KeyboardInterrupt:
                continue
        numbers = [(line["attempt"], line["status"]) for line in attempts(ask.folder)]
        assert numbers == [(1, "error"), (3, "error"), (4, "ok")]
        assert [n for _, n in sent_calls(ask.folder)] == [1, 2, 3, 4]
        assert ask(RecordingModel()).n_repeated == 1


class TestDenominators:
    def test_whatever_becomes_of_an_answer_its_question_stays(self, ask):
        output = dict(
            zip(
                (f"volume-{i}|main" for i in range(5)),
                (
                    Answer("increase"),
                    Answer("I cannot say."),
                    Answer(None, Status.REFUSED),
                    Answer(None, Status.FILTERED),
                    Answer(None, Status.ERROR, detail="lost"),
                ),
                strict=True,
            )
        )
        progress = ask(RecordingModel(output.get))
        found = load_run(ask.folder)
        assert len(found) == 5
        assert (progress.n_answered, progress.n_parsed) == (5, 1)
        labels = [PARSERS["paper"](text).label for text in found["text"]]
        assert labels == ["increase", None, None, None, None]
        assert found["detail"][4] == "lost"

    def test_a_clip_that_cannot_be_read_fails_alone_and_is_named(self, ask):
        """Its header is whole, so that it is found out only when its turn comes."""
        made = rows(5)
        made[1]["audio"] = clip(1, n_samples=4000)[:600]
        model = RecordingModel()
        progress = ask(model, dataset=in_memory(made))
        assert progress.statuses == {"ok": 4, "error": 1}
        assert len(model.requested) == 4
        row = load_run(ask.folder)[1]
        assert row["status"] == "error"
        assert "row 'volume-1': cut short" in row["detail"]

    def test_a_clip_beyond_full_scale_after_decoding_is_counted(self, ask):
        made, mp3 = rows(3), io.BytesIO()
        square = np.random.default_rng(0).choice([-1.0, 1.0], 16_000)
        soundfile.write(mp3, square, 16_000, format="MP3", subtype="MPEG_LAYER_III")
        made[1]["audio"] = mp3.getvalue()
        progress = ask(RecordingModel(), dataset=in_memory(made))
        assert progress.statuses == {"ok": 3}
        assert progress.notes == {ATTENUATED: 1}
        assert not progress.complaints
        assert load_run(ask.folder)["detail"][:] == ["", ATTENUATED, ""]
        assert f"1 answered with a note: {ATTENUATED}" in summary(progress, ask.folder)


class TestTheModelFails:
    @pytest.mark.parametrize("batch_size", [1, 2])
    def test_half_way(self, ask, batch_size):
        """Earlier answers are stored, and the next call requests the rest."""

        def say(question_id):
            if question_id.startswith("volume-3"):
                raise RuntimeError("CUDA error: device-side assert")
            return Answer("increase")

        with pytest.raises(
            ModelError,
            match=r"failed with RuntimeError: CUDA.*in flight was '.*volume-3\|main'.* stored",
        ):
            ask(RecordingModel(say, batch_size=batch_size))
        stored = 3 if batch_size == 1 else 2
        assert statuses(ask.folder) == ["ok"] * stored + [None] * (5 - stored)
        model = RecordingModel()
        progress = ask(model)
        assert len(model.requested) == 5 - stored
        assert progress.n_repeated == batch_size

    @pytest.mark.parametrize("error", [KeyError("increase"), ValueError("bad"), OSError("gone")])
    def test_with_an_error_that_looks_like_one_of_ours(self, ask, error):
        def say(question_id):
            raise error

        with pytest.raises(ModelError, match=f"failed with {type(error).__name__}: .*volume-0"):
            ask(RecordingModel(say))

    def test_because_it_uses_an_old_name(self, ask):
        class Old:
            def answer(self, questions):
                return [Answer(str(len(request.sounds))) for request in questions]

        with pytest.raises(ModelError, match=r"'sounds'; since .* its `audio_inputs`"):
            ask(Old())

    def test_with_an_interrupt(self, ask):
        def say(question_id):
            if question_id.startswith("volume-2"):
                raise KeyboardInterrupt
            return Answer("increase")

        with pytest.raises(KeyboardInterrupt):
            ask(RecordingModel(say))
        assert statuses(ask.folder) == ["ok", "ok", None, None, None]

    @pytest.mark.parametrize("n", [0, 1, 3])
    def test_to_return_one_answer_a_question(self, ask, n):
        class Miscounting(RecordingModel):
            def answer(self, questions):
                return [Answer("increase")] * n

        with pytest.raises(ModelError, match=f"the model returned {n} answers to 2 questions"):
            ask(Miscounting(batch_size=2))

    def test_to_answer_all_that_it_streams(self, ask):
        class Forgetful(RecordingModel):
            def stream(self, questions):
                for index, _ in enumerate(questions):
                    if index != 2:
                        yield index, Answer("increase")

        with pytest.raises(
            ModelError, match=r"left 1 of its questions unanswered, 'volume-2\|main'"
        ):
            ask(Forgetful())
        assert statuses(ask.folder) == ["ok", "ok", None, "ok", "ok"]

    @pytest.mark.parametrize("junk", [5, (0,), ([], Answer("increase")), (0, "increase")], ids=repr)
    def test_to_stream_answers(self, ask, junk):
        class Junk(RecordingModel):
            def stream(self, questions):
                for _ in questions:
                    yield junk

        with pytest.raises(ModelError, match=r"Junk\.stream yields|answered with a str"):
            ask(Junk())

    @pytest.mark.parametrize("index", [0, 7, -1])
    def test_to_say_which_question_it_answers(self, ask, index):
        class Confused(RecordingModel):
            def stream(self, questions):
                for n, _ in enumerate(questions):
                    yield (0 if n == 0 else index), Answer("increase")

        with pytest.raises(ModelError, match=f"answered question {index}, which is not open"):
            ask(Confused())

    def test_to_return_answers(self, ask):
        class Plain:
            def answer(self, questions):
                return ["increase"] * len(questions)

        with pytest.raises(ModelError, match=r"answered with a str; it must be an .*Answer"):
            ask(Plain())

    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ("3", "text is a str or None, not 3"),
            ("None, n_tokens_in='many'", "n_tokens_in is a whole number or None, not 'many'"),
            ("None, n_tokens_out=2.5", "n_tokens_out is a whole number or None, not 2.5"),
            ("None, n_tokens_out=float('nan')", "n_tokens_out is a whole number or None, not nan"),
            ("None, audio_truncated='no'", "audio_truncated is a bool, not 'no'"),
            ("None, text_truncated=None", "text_truncated is a bool, not None"),
            ("None, wall_s=None", "wall_s is a number, not None"),
            ("None, cost='x'", "cost is a number or None, not 'x'"),
            ("None, logprobs=[1]", "logprobs is a mapping to numbers or None, not [1]"),
            ("None, logprobs={'a': 'b'}", "logprobs is a mapping to numbers or None"),
            ("None, detail=4", "detail is a str, not 4"),
            ("None, first_text=4", "first_text is a str or None, not 4"),
            ("None, status='asleep'", "no status named 'asleep'; there are ['ok', 'refused',"),
            ("None, status='refused'", "Status.REFUSED"),
        ],
    )
    def test_to_fill_an_answer_in(self, answer, expected):
        code = f"from otoscope.models.base import Answer; print(repr(Answer({answer}).status))"
        done = subprocess.run(  # tests check types, other processes do not
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert expected in done.stdout + done.stderr

    def test_to_fill_numbers_of_numpy_in(self):
        code = (
            "import numpy as np; from otoscope.models.base import Answer\n"
            "Answer(None, n_tokens_in=np.int64(3), wall_s=np.float32(1), cost=np.array(0.5),\n"
            "    audio_truncated=np.True_, logprobs={'a': np.float32(-1)}, text_truncated=False)\n"
            "Answer(None, cost=1, wall_s=0, n_tokens_out=3.0)\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_a_fault_of_the_disk_is_no_fault_of_the_model(self, ask, monkeypatch):
        monkeypatch.setattr(
            "otoscope.audits.journal.Journal.send",
            lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")),
        )
        with pytest.raises(OSError, match="No space left"):
            ask(RecordingModel())


class TestMaxCost:
    @staticmethod
    def priced(question_id):
        return Answer("increase", cost=0.5)

    def test_stops_and_a_later_call_goes_on(self, ask):
        model = RecordingModel(self.priced)
        first = ask(model, max_cost=1.0)
        assert (first.n_answered, first.cost) == (2, 1.0)
        assert first.stopped == "--max-cost 1 is reached"
        assert statuses(ask.folder) == ["ok"] * 2 + [None] * 3
        again = ask(model, max_cost=1.0)
        assert (again.n_answered, again.stopped) == (0, "--max-cost 1 is reached")
        more = ask(model, max_cost=2.0)
        assert (more.n_answered, more.n_before, more.stopped) == (2, 2, "--max-cost 2 is reached")
        rest = ask(model)
        assert (rest.n_answered, rest.stopped) == (1, "")
        assert len(model.requested) == 5

    def test_that_is_not_reached_stops_nothing(self, ask):
        progress = ask(RecordingModel(self.priced), max_cost=2.6)
        assert (progress.n_answered, progress.stopped) == (5, "")

    def test_cannot_be_applied_where_no_price_is_known(self, ask):
        model = RecordingModel()
        assert "price of this model is not known" in ask(model, max_cost=1.0).stopped
        assert len(model.requested) == 1

    def test_nothing_is_sent_to_a_model_whose_price_is_known_to_be_unknown(self, ask):
        model = RecordingModel()
        model.price_is_known = False
        progress = ask(model, max_cost=1.0)
        assert "--price-in and --price-out give it" in progress.stopped
        assert (model.requested, progress.n_answered) == ([], 0)

    def test_many_at_once_only_after_the_first_has_had_a_cost(self, ask):
        class Eager(RecordingModel):
            def stream(self, questions):
                ahead = list(questions)
                sizes.append(len(ahead))
                yield from enumerate(self.answer(ahead))

        sizes = []
        progress = ask(Eager(self.priced), max_cost=9.0)
        assert (sizes, progress.n_answered) == ([1, 4], 5)
        sizes.clear()
        assert ask(Eager(), out="second", max_cost=9.0).stopped
        assert sum(sizes) == 1

    @pytest.mark.parametrize("limit", [math.nan, math.inf, -1.0])
    def test_a_limit_that_is_none_is_rejected(self, ask, limit):
        with pytest.raises(InvalidValue, match="--max-cost is"):
            ask(RecordingModel(), max_cost=limit)

    def test_counts_what_a_failed_call_cost(self, ask):
        model = RecordingModel(lambda _: Answer(None, Status.ERROR, cost=1.0))
        ask(model, max_cost=2.0)
        ask(model, max_cost=2.0)
        assert len(model.requested) == 2

    def test_is_shared_by_ranks(self, ask):
        models = [RecordingModel(self.priced), RecordingModel(self.priced)]
        ask(models[0], max_cost=1.0, rank=0, world=2)
        assert len(models[0].requested) == 1

    def test_answers_from_the_cache_are_free(self, ask, cache):
        ask(RecordingModel(self.priced), cache=cache)
        model = RecordingModel(self.priced)
        progress = ask(model, out="second", cache=cache, max_cost=0.5)
        assert (progress.n_cached, progress.cost, progress.stopped) == (5, None, "")
        assert model.requested == []


def request(text="Which way?", audio="aa", span=None, **changed):
    question = Question(
        "a|main", "a", "main", (Text(text), Clip("a")), ("increase", "decrease"), "increase",
        "paper", "volume", "volume",
    )  # fmt: skip
    audio = AudioInput("a", np.zeros(4, np.float32), 8000, audio, span)
    return Request(replace(question, **changed), (Text(text), audio))


DESCRIBED = {
    "kind": "transformers", "name": "someone/model", "revision": "0a1b", "adapter": None,
    "dtype": "bfloat16", "generation": {"max_new_tokens": 128, "do_sample": False},
}  # fmt: skip


class TestTheCache:
    @pytest.mark.parametrize(
        "change",
        [
            {"request": request(audio="bb")},
            {"request": request(text="Which way? ")},
            {"request": request(span=(0.0, 1.0))},
            {"request": request(labels=("decrease", "increase"))},
            {"request": request(question_id="b|main")},
            {"request": Request(request().question, request().parts[::-1])},
            {"request": Request(request().question, request().parts * 2)},
            {"name": "someone/else"},
            {"revision": "0a1c"},
            {"adapter": "./lora"},
            {"dtype": "float32"},
            {"generation": {"max_new_tokens": 256, "do_sample": False}},
            {"generation": {"max_new_tokens": 128, "do_sample": True}},
            {"retry": RetryPolicy(on_parse_failure=256)},
            {"retry": RetryPolicy(on_parse_failure=512)},
        ],
        ids=str,
    )
    def test_whatever_changes_an_answer_is_a_miss(self, cache, change):
        cache.put(cache_key(request(), DESCRIBED), Answer("increase"))
        assert cache.get(cache_key(request(), dict(reversed(DESCRIBED.items())))).text == "increase"
        options = {k: v for k, v in change.items() if k in ("request", "retry")}
        described = DESCRIBED | {k: v for k, v in change.items() if k not in options}
        key = cache_key(
            options.get("request", request()), described, options.get("retry", RetryPolicy())
        )
        assert cache.get(key) is None

    def test_keys_are_those_of_version_0_1(self):
        """Computed with the code of version 0.1, the second one with `retry_unparsed=True`."""
        described = {"kind": "transformers", "name": "someone/model", "dtype": "bfloat16"}
        known = request(span=(0.0, 1.0))
        assert [cache_key(known, described), cache_key(known, described, ON_PARSE_FAILURE)] == [
            "cc41cddcad37ce16dfb642913af56731a0344db135637eab8a9f64142bca9d28",
            "585c39e2d1e72c29a31afb2e5d22e59d24a6442d8461d4149c55ec9b0406fd84",
        ]

    def test_the_audio_itself_is_in_the_key(self, ask, cache):
        """The same ids and prompts, other audio."""
        ask(RecordingModel(), cache=cache)
        others = in_memory([row(i, audio=clip(50 + i)) for i in range(5)])
        model = RecordingModel()
        assert ask(model, out="other", dataset=others, cache=cache).n_cached == 0
        assert len(model.requested) == 5

    @pytest.mark.parametrize("status", list(Status))
    def test_only_what_went_well_is_kept(self, ask, cache, status):
        """A cached refusal would be a refusal for ever."""
        ask(InTurn(status), cache=cache)
        model = RecordingModel()
        model.description = InTurn(status).description
        progress = ask(model, out="second", cache=cache)
        assert progress.n_cached == (5 if status is Status.OK else 0)

    def test_comes_back_whole_and_says_that_it_is_cached(self, ask, cache):
        output = Answer("increase", text_truncated=True, n_tokens_in=3, wall_s=2.0,
                      logprobs={"increase": -0.1}, cost=1.0, first_text="hm")  # fmt: skip
        ask(RecordingModel(lambda _: output), cache=cache)
        ask(RecordingModel(), out="second", cache=cache)
        first = load_run(ask.folder)[0]
        second = load_run(ask.folder.with_name("second"))[0]
        different = {k for k in first if first[k] != second[k]} - {"time"}
        assert different == {"cached", "wall_s", "cost"}
        assert (first["cached"], second["cached"]) == (False, True)

    def test_a_model_that_does_not_describe_itself_is_not_cached(self, ask, cache):
        """Its code may have changed between two runs, and nothing would show it."""

        class Nameless:
            def answer(self, questions):
                return [Answer("increase") for _ in questions]

        ask(Nameless(), cache=cache)
        assert ask(Nameless(), out="second", cache=cache).n_cached == 0

    def test_random_draws_stay_those_of_their_question(self, ask, cache):
        twins = in_memory([row(i, audio=clip(0)) for i in range(30)])
        ask(RandomChoice(0), dataset=twins, cache=cache)
        ask(RandomChoice(0), dataset=twins, out="plain")
        plain = load_run(ask.folder.with_name("plain"))
        assert list(load_run(ask.folder)["text"]) == list(plain["text"])

    @pytest.mark.parametrize("content", [b"no database at all, but long enough" * 50, None])
    def test_a_broken_cache_ends_no_run(self, ask, tmp_path, caplog, content):
        path = tmp_path / "broken" / "answers.sqlite"
        path.parent.mkdir()
        path.mkdir() if content is None else path.write_bytes(content)
        broken = AnswerCache(path)
        assert ask(RecordingModel(), cache=broken).n_answered == 5
        broken.close()
        assert [r.message.split(":")[0] for r in caplog.records] == ["the answer cache is not used"]

    def test_a_cache_that_another_process_holds_ends_no_run(
        self, ask, cache, tmp_path, monkeypatch
    ):
        connect = sqlite3.connect
        monkeypatch.setattr(
            sqlite3, "connect", lambda *a, **k: connect(*a, **k | {"timeout": 0.05})
        )
        mine = AnswerCache(tmp_path / "cache" / "answers.sqlite")
        other = connect(tmp_path / "cache" / "answers.sqlite", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        assert ask(RecordingModel(), cache=mine).n_answered == 5
        mine.close()
        other.close()

    def test_two_at_once_lose_nothing(self, tmp_path):
        def fill(offset):
            one = AnswerCache(tmp_path / "shared.sqlite")
            for i in range(100):
                one.put(f"{offset + i}", Answer(str(offset + i)))
            one.close()

        threads = [threading.Thread(target=fill, args=(1000 * n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        one = AnswerCache(tmp_path / "shared.sqlite")
        assert all(
            one.get(f"{1000 * n + i}").text == f"{1000 * n + i}"
            for n in range(3)
            for i in range(100)
        )
        one.close()


class Retrying(RecordingModel):
    """Says nothing of use within 128 tokens."""

    def __init__(self, second, tokens=128):
        super().__init__(lambda _: Answer("Well, let me think", wall_s=1.0, cost=0.25))
        self.second, self.tokens, self.tried = second, tokens, []

    def with_settings(self, *, max_new_tokens):
        self.tried.append(max_new_tokens)
        return RecordingModel(lambda _: self.second)


class TestRetryOnParseFailure:
    def test_keeps_both_texts_and_pays_both(self, ask):
        model = Retrying(Answer("decrease", wall_s=2.0, cost=0.5))
        progress = ask(model, retry=ON_PARSE_FAILURE)
        row = load_run(ask.folder)[0]
        assert (row["text"], row["first_text"]) == ("decrease", "Well, let me think")
        assert (row["wall_s"], row["cost"]) == (3.0, 0.75)
        assert model.tried == [256] * 5
        assert (progress.n_parsed, progress.cost) == (5, 3.75)

    @pytest.mark.parametrize("module", ["otoscope.models.theirs", "mine"])
    def test_a_model_that_raises_in_it_is_one_error(self, ask, module):
        def fails(question_id):
            raise RuntimeError("out of luck")

        class Unlucky(Retrying):
            def with_settings(self, *, max_new_tokens):
                return type("Again", (RecordingModel,), {"__module__": module})(fails)

        with pytest.raises(ModelError, match=r"RuntimeError: out of luck"):
            ask(Unlucky(None), retry=ON_PARSE_FAILURE)

    def test_is_not_made_unless_requested(self, ask):
        model = Retrying(Answer("decrease"))
        ask(model)
        assert model.tried == []
        assert load_run(ask.folder)[0]["first_text"] is None

    def test_is_not_made_where_there_is_an_answer(self, ask):
        model = Retrying(Answer("decrease"))
        model.say = lambda _: Answer("increase")
        ask(model, retry=ON_PARSE_FAILURE)
        assert model.tried == []

    def test_is_not_made_of_a_refusal(self, ask):
        model = Retrying(Answer("decrease"))
        model.say = lambda _: Answer(None, Status.REFUSED)
        ask(model, retry=ON_PARSE_FAILURE)
        assert model.tried == []

    def test_that_cannot_be_parsed_either_counts_once_as_unparsed(self, ask):
        progress = ask(Retrying(Answer("still thinking")), retry=ON_PARSE_FAILURE)
        assert (progress.n_answered, progress.n_parsed) == (5, 0)
        assert load_run(ask.folder)[0]["text"] == "still thinking"

    def test_that_fails_is_retried_from_the_start(self, ask):
        model = Retrying(Answer(None, Status.TIMEOUT))
        ask(model, retry=ON_PARSE_FAILURE)
        assert statuses(ask.folder) == ["timeout"] * 5
        model.second = Answer("increase")
        ask(model, retry=ON_PARSE_FAILURE)
        assert statuses(ask.folder) == ["ok"] * 5

    def test_is_cached_apart_from_the_first(self, ask, cache):
        ask(Retrying(Answer("decrease")), retry=ON_PARSE_FAILURE, cache=cache)
        model = Retrying(Answer("decrease"))
        assert ask(model, out="second", cache=cache).n_cached == 0
        assert load_run(ask.folder.with_name("second"))[0]["text"] == "Well, let me think"


def test_a_span_outside_its_clip_is_an_error_of_one_question(ask):
    made = in_memory([row(i, span_start_s=4.0 * (i == 1), span_end_s=5.0) for i in range(3)])
    ask(RecordingModel(), dataset=made)
    assert statuses(ask.folder) == ["ok", "error", "ok"]


def test_every_call_is_noted_before_it_is_made(ask):
    noted = []

    def say(question_id):
        noted.append((question_id, 1) in set(sent_calls(ask.folder)))
        return Answer("increase")

    ask(RecordingModel(say))
    assert noted == [True] * 5


def test_every_answer_is_written_before_the_next_question(ask):
    written = []

    def say(question_id):
        written.append(len(list(attempts(ask.folder))))
        return Answer("increase")

    ask(RecordingModel(say))
    assert written == [0, 1, 2, 3, 4]


def test_a_plan_made_before_is_the_one_that_is_run(tmp_path):
    made = in_memory(rows(4))
    model = RecordingModel()
    run(made, model, out=tmp_path / "run", planned=plan(made, limit_sources=2))
    assert len(model.requested) == 2
