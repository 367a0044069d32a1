"""`otoscope run perception`, killed at any moment and started again, loses and repeats nothing."""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from otoscope.audits.journal import lost_calls, sent_calls
from otoscope.audits.runs import attempts, load_run, read_about
from tests.audits.tiny_dataset import rows, write

ROOT = Path(__file__).parents[2]
MOST_S = 120
N = 120

pytestmark = pytest.mark.slow

MODEL = """
import os, time
from otoscope.models.base import Answer

class Slow:
    description = {"kind": "slow"}
    batch_size = int(os.environ.get("BATCH", "1"))

    def answer(self, questions):
        with open(os.environ["CALLS"], "a") as file:
            file.write("".join(one.question.question_id + "\\n" for one in questions))
        time.sleep(0.02 * len(questions))
        while "HOLD" in os.environ and not os.path.exists("go on"):
            time.sleep(0.01)
        return [Answer("increase") for _ in questions]
"""


class Started:
    """The command line in a process of its own."""

    def __init__(self, place, *options, **environment):
        self.run, self.calls = place / "run", place / "calls"
        self.calls.touch()
        self.before = self.n_calls()
        added = {
            "PYTHONPATH": f"{place}{os.pathsep}{ROOT}", "CALLS": str(self.calls),
            "OTOSCOPE_CACHE": str(place / "cache"), "HF_DATASETS_CACHE": str(place / "hf"),
            "COLUMNS": "300",
        }  # fmt: skip
        self.process = subprocess.Popen(
            [
                sys.executable, "-m", "otoscope.cli", "run", "perception", "--dataset",
                str(place / "data"), "--model", "slow_model:Slow", "--out", str(self.run), *options,
            ],
            env=os.environ | added | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, cwd=place,
        )  # fmt: skip

    def n_calls(self):
        return self.calls.read_bytes().count(b"\n")

    def wait_until(self, moment):
        """Returns when `moment(self)` holds or the process has ended."""
        deadline = time.monotonic() + MOST_S
        while self.process.poll() is None and not moment(self):
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def kill(self):
        """SIGKILL; whether there was still something to kill."""
        running = self.process.poll() is None
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()
        return running

    def end(self):
        """Waits; the output."""
        output, errors = self.process.communicate(timeout=MOST_S)
        assert self.process.returncode == 0, errors
        return output


@pytest.fixture
def place(tmp_path):
    """A dataset, a module with a slow model, and room for a run."""
    write(tmp_path / "data", {"all": {"test": rows(N)}})
    (tmp_path / "slow_model.py").write_text(MODEL)
    return tmp_path


def n_requests(n):
    return lambda started: started.n_calls() - started.before >= n


def after(seconds):
    began = time.monotonic()
    return lambda started: time.monotonic() - began >= seconds


MOMENTS = [
    lambda: after(0.5),  # on import
    lambda: lambda s: (s.run / "answers" / "plan.lock").exists(),
    lambda: lambda s: (s.run / "plan.parquet").exists(),
    lambda: lambda s: (s.run / "run.json").exists(),
    lambda: lambda s: (s.run / "answers" / "rank-000.jsonl").exists(),
    lambda: lambda s: (s.run / "answers" / "rank-000.sent").exists(),
    *[lambda n=n: n_requests(n) for n in (1, 2, 7, 10, 13, 1, 16)],
]


def check(place, output, n_killed, *, batch=1):
    """Every question has one answer; what was sent twice was in flight, and the run says it."""
    run = place / "run"
    found = load_run(run)
    assert len(found) == N == read_about(run)["n_questions"]
    assert list(found["status"]) == ["ok"] * N
    lines = list(attempts(run))
    assert Counter(line["question_id"] for line in lines) == dict.fromkeys(found["question_id"], 1)
    calls = Counter((place / "calls").read_text().split())
    assert calls.keys() == set(found["question_id"])
    n_repeated = calls.total() - N
    n_lost = len(lost_calls(sent_calls(run), lines))
    repeated = re.search(r"(\d+) requests were in flight at a kill: sent again", output)
    assert (int(repeated[1]) if repeated else 0) == n_lost
    assert n_repeated <= n_lost <= n_killed * batch
    return n_repeated, n_lost


@pytest.mark.parametrize("batch", [1, 4])
def test_killed_again_and_again(place, batch):
    n_killed = 0
    for moment in MOMENTS:
        started = Started(place, "--no-cache", BATCH=str(batch))
        started.wait_until(moment())
        n_killed += started.kill()
        if (place / "run" / "run.json").exists():
            assert len(load_run(place / "run")) == N
    assert n_killed == len(MOMENTS)
    output = Started(place, "--no-cache", BATCH=str(batch)).end()
    assert f"{N} of {N} questions answered" in output
    n_repeated, _ = check(place, output, n_killed, batch=batch)
    assert n_repeated >= 3, "no kill met a question in flight: the test shows nothing"
    again = Started(place, "--no-cache").end()
    assert f"{N} of {N} questions answered, 0 now" in again
    check(place, again, n_killed, batch=batch)


def test_what_was_written_before_a_kill_stays_as_it_is(place):
    path = place / "run" / "answers" / "rank-000.jsonl"
    before = b""
    for n in (5, 9):
        started = Started(place)
        started.wait_until(n_requests(n))
        started.kill()
        now = path.read_bytes()
        whole = before[: before.rfind(b"\n") + 1]
        assert now.startswith(whole)
        before = now
    output = Started(place).end()
    assert path.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    check(place, output, 2)


def test_the_cache_survives_as_well(place):
    started = Started(place)
    started.wait_until(n_requests(70))
    started.kill()
    (place / "run").rename(place / "first")
    output = Started(place).end()
    n_cached = int(re.search(r"(\d+) of them from the answer cache", output)[1])
    assert 40 <= n_cached <= 70  # the last part of a second may be lost
    assert list(load_run(place / "run")["status"]) == ["ok"] * N


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_a_signal(place, number):
    started = Started(place, "--no-cache")
    started.wait_until(n_requests(5))
    started.process.send_signal(number)
    _, errors = started.process.communicate(timeout=MOST_S)
    assert started.process.returncode != 0
    assert "Traceback" not in errors
    check(place, Started(place, "--no-cache").end(), 1)


def held(place, *options, **environment):
    """One that stops within its first answer until `go_on`."""
    return Started(place, "--no-cache", *options, HOLD="1", **environment)


def go_on(place):
    (place / "go on").touch()


def turned_away(started):
    """Ends at once with one line, which is returned."""
    _, errors = started.process.communicate(timeout=MOST_S)
    assert started.process.returncode == 2
    assert "Traceback" not in errors
    return errors


def test_a_second_process_is_turned_away(place):
    first = held(place)
    first.wait_until(n_requests(1))
    second = Started(place, "--no-cache")
    assert "rank-000.jsonl: another process is at work on this run" in turned_away(second)
    go_on(place)
    check(place, first.end(), 0)


class TestRanks:
    """As `accelerate launch` starts them, without any of its collectives."""

    def test_one_slow_one_killed_and_started_again(self, place):
        slow = held(place, RANK="0", WORLD_SIZE="2")
        slow.wait_until(n_requests(1))
        quick = Started(place, "--no-cache", RANK="1", WORLD_SIZE="2")
        quick.wait_until(n_requests(10))
        assert quick.kill()
        again = Started(place, "--no-cache", RANK="1", WORLD_SIZE="2")
        assert f"{N // 2} of {N // 2} questions answered" in again.end()
        assert slow.process.poll() is None, "the slow rank was not at work meanwhile"
        go_on(place)
        slow.end()
        output = Started(place, "--no-cache").end()  # all of it, by one process
        assert "0 now" in output
        check(place, output, 1)

    def test_a_world_of_another_size_takes_over(self, place):
        for world, n in ((2, 30), (3, 20)):
            started = [
                Started(place, "--no-cache", RANK=str(rank), WORLD_SIZE=str(world))
                for rank in range(world)
            ]
            started[0].wait_until(n_requests(n))
            for process in started:
                process.kill()
        output = Started(place, "--no-cache").end()
        check(place, output, 5)

    def test_another_size_is_turned_away_while_the_first_works(self, place):
        two = [held(place, RANK=rank, WORLD_SIZE="2") for rank in "01"]
        two[0].wait_until(n_requests(2))
        errors = turned_away(Started(place, "--no-cache"))
        assert "processes are at work that are 2 in all, and this one is of 1" in errors
        go_on(place)
        for started in two:
            started.end()
        check(place, Started(place, "--no-cache").end(), 0)

    def test_more_processes_than_questions(self, place):
        write(place / "data", {"all": {"test": rows(1)}})
        two = [Started(place, "--no-cache", RANK=rank, WORLD_SIZE="2") for rank in "01"]
        assert ["1 of 1 questions answered" in two[0].end(), "0 of 0" in two[1].end()] == [True] * 2
