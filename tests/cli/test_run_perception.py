"""`otoscope run perception` as a person calls it: one line where it fails, else a summary."""

import os
import re

import pytest
from typer.testing import CliRunner

from otoscope.audits import AUDITS, Audit
from otoscope.audits.perception import plan
from otoscope.audits.runs import load_run, read_about
from otoscope.cli import app
from tests.audits.tiny_dataset import clip, row, rows, write

MODELS = """
from otoscope.models.base import Answer, Status

class Deaf:
    description = {"kind": "deaf"}
    def answer(self, questions):
        return [Answer("increase") for _ in questions]
    def input_fingerprint(self, request):
        return b"text only"

class Dear:
    description = {"kind": "dear"}
    def answer(self, questions):
        return [Answer("increase", cost=0.5) for _ in questions]
    def estimate(self, *, n_questions, audio_s, n_characters):
        return 0.5 * n_questions if audio_s > 1.9 and n_characters > 300 else None

class Broken:
    description = {"kind": "broken"}
    def answer(self, questions):
        raise RuntimeError("no kernel image is available")

class Steering:
    description = {"kind": "steering"}
    def answer(self, questions):
        return [Answer(None, Status.ERROR, detail="\\x1b[2J\\nnext: rm") for _ in questions]

class Stormy:
    description = {"kind": "stormy"}
    def answer(self, questions):
        return [Answer(None, Status.TIMEOUT) for _ in questions]
"""


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Six clips of three sources, their sources unchanged, and a module of models beside."""
    clips = [
        row(i, c, source_id=f"s{i % 3}", speaker_id=f"p{i % 3}")
        for c in ("volume", "echo")
        for i in range(3)
    ]
    for nth, made in enumerate(clips):
        made["audio"] = clip(nth, n_samples=4000)
    write(tmp_path / "data", {"all": {"test": clips}, "source": {"test": rows(2, "source")}})
    (tmp_path / "models_of_mine.py").write_text(MODELS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments, model="constant:increase", out="run", dataset="data"):
    fixed = ("run", "perception", "--dataset", dataset, "--model", model, "--out", out)
    return CliRunner().invoke(app, [*fixed, *map(str, arguments)], env={"COLUMNS": "200"})


def files(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_asks_all_and_then_nothing(data):
    done = call()
    assert done.exit_code == 0, done.output
    assert "6 of 6 questions answered, 6 now\n6 ok\n100.0 % of them parsed\n" in done.output
    result = r"^accuracy 33\.3 % \(95 % CI.*: [\d.]+ to [\d.]+\), n = 6$"  # two of six increase
    assert re.search(result, done.output, re.MULTILINE)
    assert "otoscope report run" in done.output
    assert list(load_run(data / "run")["text"]) == ["increase"] * 6
    again = call()
    assert again.exit_code == 0
    assert "6 of 6 questions answered, 0 now" in again.output
    other = call(out="second")
    assert "6 of them from the answer cache" in other.output
    assert "answer cache" not in call("--no-cache", out="third").output


OTHER = Audit("other", plan)


def test_the_audit_is_that_of_the_table(data, monkeypatch):
    monkeypatch.setitem(AUDITS, "perception", f"{__name__}:OTHER")
    assert call().exit_code == 0
    assert read_about(data / "run")["audit"] == "other"


class TestDryRun:
    def test_a_limit_on_tokens_is_one_option_for_every_model(self, data):
        for model in ("openai:x", "constant:up"):
            done = call(
                "--max-new-tokens", "5", "--base-url", "http://[::1]/v1", "--dry-run", model=model
            )
            assert (done.exit_code == 0) == (model == "openai:x"), done.output

    def test_writes_nothing_and_counts_right(self, data):
        before = files(data)
        done = call("--dry-run", "--prompt", "main", "--prompt", "change", model="observer")
        assert done.exit_code == 0, done.output
        assert [f for f in files(data) if "cache" not in f] == before
        hours = (12 * 0.5 + 4 * 0.05) / 3600
        assert (
            f"--- 16 requests, {hours:.2f} h of audio, price unknown; nothing was sent"
            in done.output
        )

    def test_shows_the_first_question_of_each_prompt_as_it_is_sent(self, data):
        done = call("--dry-run", "--prompt", "main", "--prompt", "rise_fall_audio_first")
        shown = done.output.split("--- ")
        assert shown[1] == (
            "main: volume-0|main\n"
            "Does the volume increase or decrease over time?\n\n"
            'Answer with only one word: "increase" or "decrease".\n'
            "[audio: volume-0, 0.50 s]\n"
            "(labels increase, decrease; correct: decrease; parser paper)\n"
        )
        assert shown[2].startswith(
            "rise_fall_audio_first: volume-0|rise_fall_audio_first\n[audio: volume-0, 0.50 s]\nDoes"
        )
        assert shown[3].startswith("9 requests, ")

    def test_says_the_price_and_that_it_is_a_part(self, data):
        done = call("--dry-run", "--limit-sources", 2, model="models_of_mine:Dear")
        assert "4 requests" in done.output
        assert "price about 2.00; partial: 2 of 3 sources; nothing was sent" in done.output


def test_neither_a_dataset_nor_a_server_steers_the_terminal(tmp_path, monkeypatch, data):
    asked = [row(0, prompt="up?\x1b[2J\x07"), row(1, prompt="up?")]
    write(tmp_path / "steering", {"all": {"test": asked}})
    done = call("--dry-run", "--prompt", "own", dataset="steering")
    assert "up?\\x1b[2J\\x07" in done.output
    done = call("--no-audio-input-check", model="models_of_mine:Steering")
    assert r"failed with: \x1b[2J\nnext: rm" in done.output
    assert "\x1b" not in done.output


class TestExitCodes:
    @pytest.mark.parametrize(
        ("options", "complaint"),
        [
            ({"model": "observr"}, "did you mean 'observer'?"),
            ({"model": "models_of_mine:Deaf"}, "the audio does not reach the model"),
            ({"model": "models_of_mine:Broken"}, "failed with RuntimeError: no kernel image"),
            ({"model": "models_of_mine:Absent"}, "has no 'Absent'"),
            ({"dataset": "absent/data"}, "is no folder here; a Hub repository needs --revision"),
            ({"arguments": ("--prompt", "mian")}, "did you mean 'main'?"),
            ({"arguments": ("--config", "volum")}, "volum"),
            ({"arguments": ("--split", "dev")}, "Unknown split"),
            ({"arguments": ("--retry", "refuesd")}, "no status named 'refuesd'"),
            ({"arguments": ("--retry-unparsed",)}, "no limit on tokens to raise"),
            ({"arguments": ("--adapter", "x")}, "takes no option 'adapter'"),
            ({"arguments": ("--timeout-s", 0)}, "takes no option 'timeout_s'"),
            ({"out": "data"}, "data holds something that is no run"),
            ({"out": "models_of_mine.py"}, "models_of_mine.py"),
        ],
        ids=str,
    )
    def test_what_the_user_can_mend_is_one_line_and_2(self, data, options, complaint):
        done = call(*options.pop("arguments", ()), **options)
        assert done.exit_code == 2, (done.output, done.exception)
        assert complaint in done.output
        (line,) = [x for x in done.output.splitlines() if "questions answered" in x or "rror" in x]
        assert line.startswith("error: ")
        assert "Traceback" not in done.output

    def test_a_debugger_may_see_where(self, data, monkeypatch):
        monkeypatch.setenv("OTOSCOPE_DEBUG", "1")
        done = call(model="models_of_mine:Broken")
        assert "no kernel image" in str(done.exception.__cause__)

    def test_another_run_in_the_folder(self, data):
        call()
        done = call(model="constant:decrease")
        assert done.exit_code == 2
        assert "run holds another run: model 'constant:increase', now 'constant:dec" in done.output
        assert "model_description.text 'increase', now 'decrease'" in done.output
        assert list(load_run(data / "run")["text"]) == ["increase"] * 6

    def test_3_when_the_money_is_spent(self, data):
        done = call("--max-cost", 1, model="models_of_mine:Dear")
        assert done.exit_code == 3
        assert "2 of 6 questions answered" in done.output
        assert "cost 1.0000\nstopped: --max-cost 1 is reached; the same command" in done.output
        assert call("--max-cost", 9, model="models_of_mine:Dear").exit_code == 0
        assert list(load_run(data / "run")["status"]) == ["ok"] * 6

    def test_what_failed_is_not_called_answered(self, data):
        done = call(model="models_of_mine:Stormy")
        assert done.exit_code == 0
        assert "0 of 6 questions answered, 6 now\n6 timeout\n" in done.output
        assert "run again to retry the 6 that ended in timeout or error" in done.output


def test_a_part_is_marked(data):
    done = call("--limit-sources", 1)
    assert "2 of 2 questions answered" in done.output
    assert read_about(data / "run")["partial"] == "1 of 3 sources"
    assert call("--limit-sources", 2).exit_code == 2
    assert call("--limit-sources", 0, out="none").exit_code == 2


def test_the_audio_input_check_can_be_left_out(data):
    assert call("--no-audio-input-check", model="models_of_mine:Deaf").exit_code == 0
    assert read_about(data / "run")["hearing"] == "not checked"


def test_a_cache_that_cannot_be_written_is_no_error(data, monkeypatch):
    (data / "in the way").write_text("")
    monkeypatch.setenv("OTOSCOPE_CACHE", os.fspath(data / "in the way"))
    assert call().exit_code == 0


def test_the_observer_is_given_the_sources(data):
    call(model="observer")
    assert read_about(data / "run")["model_description"]["kind"] == "observer"


def test_ranks_of_accelerate(data, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in "01":
        monkeypatch.setenv("RANK", rank)
        assert "3 of 3 questions answered, 3 now" in call("--no-cache").output
    assert files(data / "run" / "answers") == [
        "plan.lock", "rank-000.jsonl", "rank-000.sent", "rank-001.jsonl", "rank-001.sent",
        "world.lock",
    ]  # fmt: skip
    monkeypatch.setenv("RANK", "two")
    assert call().exit_code == 2
