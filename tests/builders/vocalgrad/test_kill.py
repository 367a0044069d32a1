"""A build killed at any moment goes on where it was, and leaves nothing half-done behind."""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from builders.building.shards import finished
from builders.vocalgrad.rendering.rows import build
from tests.builders.tiny_corpus import contents, leftovers, planned, speak

ROOT = Path(__file__).parents[3]
MOST_S = 120
CATEGORIES = ("volume", "voice_pitch", "background_noise")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc"),
]


class Command:
    """The real command line on a folder of speech, in a process group, with a mark of its own."""

    def __init__(self, speech, out):
        self.mark = uuid.uuid4().hex
        self.out = out
        self.stderr = out.parent / f"{self.mark}.txt"  # a pipe would wait for workers that live on
        with self.stderr.open("wb") as file:
            self.process = subprocess.Popen(
                [
                    sys.executable, "-m", "builders.vocalgrad", "build", "--out", str(out),
                    "--source", f"folder:{speech}", "--categories", ",".join(CATEGORIES),
                    "--no-beeps", "--verify", "none", "--num-proc", "2",
                ],
                cwd=ROOT, env=os.environ | {"MARK": self.mark}, start_new_session=True,
                stdout=subprocess.DEVNULL, stderr=file,
            )  # fmt: skip

    def wait_until(self, moment):
        """Returns when `moment(folder)` holds or the process has ended."""
        deadline = time.monotonic() + MOST_S
        while self.process.poll() is None and not moment(self.out):
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def kill(self, *, whole_group):
        """SIGKILL; whether there was still something to kill."""
        running = self.process.poll() is None
        if whole_group and running:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.end()
        return running

    def end(self):
        """Waits; the exit code and stderr."""
        return self.process.wait(MOST_S), self.stderr.read_text()

    def alive(self):
        """Processes that bear the mark, the workers' among them."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal():
                try:
                    marked = self.mark.encode() in (folder / "environ").read_bytes()
                    command = (folder / "cmdline").read_bytes()
                except OSError:
                    continue
                if marked and command:
                    found.append((int(folder.name), command))
        return found


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    return speak(tmp_path_factory.mktemp("speech"), n=11, duration_s=1.4)


@pytest.fixture
def start(speech):
    """Starts the command on the speech; whatever still runs when the test ends is ended."""
    started = []

    def begin(out):
        started.append(Command(speech, out))
        return started[-1]

    yield begin
    for command in started:
        if command.process.returncode is None:
            command.kill(whole_group=True)
        for pid, _ in command.alive():
            os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def plan(speech):
    plan, _, _ = planned(speech, categories=CATEGORIES)
    assert len(plan.shards) == 4
    return plan


@pytest.fixture(scope="module")
def reference(speech, tmp_path_factory):
    out = tmp_path_factory.mktemp("reference") / "vocalgrad"
    code, stderr = Command(speech, out).end()
    assert code == 0, stderr
    return contents(out)


def parquet(files):
    return {path: data for path, data in files.items() if path.endswith(".parquet")}


def after(seconds):
    began = time.monotonic()
    return lambda folder: time.monotonic() - began >= seconds


def n_records(folder):
    return len(list((folder / ".otoscope" / "shards").glob("*.json")))


def n_staged_bytes(folder):
    paths = (folder / ".otoscope" / "making").rglob("*.parquet")
    try:
        return sum(path.stat().st_size for path in paths)
    except OSError:
        return 0  # moved away in this moment


MOMENTS = {
    "on_import": lambda: after(0.7),
    "as_the_folder_is_claimed": lambda: lambda folder: (folder / ".otoscope" / "lock").exists(),
    "as_the_first_file_is_opened": lambda: lambda f: (f / ".otoscope" / "making").exists(),
    "within_the_first_shard": lambda: lambda f: n_staged_bytes(f) > 100_000,
    "as_files_are_moved": lambda: lambda f: (f / "volume").exists(),
    "after_the_first_shard": lambda: lambda f: n_records(f) >= 1,
    "after_the_second_shard": lambda: lambda f: n_records(f) >= 2,
    "within_a_later_shard": lambda: lambda f: n_records(f) >= 2 and n_staged_bytes(f) > 50_000,
    "after_the_last_shard": lambda: lambda f: n_records(f) >= 4,
    "as_the_card_is_there": lambda: lambda f: (f / "README.md").exists(),
}


def stamps(plan, out):
    """Inode and time of each file of a finished shard."""
    done = [shard for shard in plan.shards if finished(plan, shard, out) is not None]
    paths = [out / path for shard in done for path in shard.files.values()]
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in paths}


@pytest.mark.parametrize("whole_group", [False, True], ids=["parent_only", "whole_group"])
def test_killed_again_and_again(start, plan, reference, tmp_path, whole_group):
    """One folder, killed at every moment of the list in turn, then left to end."""
    out = tmp_path / "vocalgrad"
    n_killed, done_before = 0, {}
    for name, moment in MOMENTS.items():
        command = start(out)
        command.wait_until(moment())
        n_killed += command.kill(whole_group=whole_group)
        deadline = time.monotonic() + 3
        while command.alive():
            assert time.monotonic() < deadline, f"{name}: {command.alive()} live on"
            time.sleep(0.05)
        if out.exists():
            for path, data in parquet(contents(out)).items():
                assert data == reference[path], f"{name}: {path} is incomplete"
            done = stamps(plan, out)
            assert done.items() >= done_before.items(), f"{name}: finished shards were made again"
            done_before = done
    assert n_killed >= 8
    code, stderr = start(out).end()
    assert code == 0, stderr
    assert contents(out) == reference
    assert stamps(plan, out).items() >= done_before.items()
    assert leftovers(out) == []


@pytest.mark.parametrize("moment", ["within_the_first_shard", "as_files_are_moved"])
def test_the_next_run_need_not_wait_for_the_last_worker(start, speech, reference, tmp_path, moment):
    """The parent is killed and the next build starts while its workers still breathe."""
    out = tmp_path / "vocalgrad"
    command = start(out)
    command.wait_until(MOMENTS[moment]())
    assert command.kill(whole_group=False)
    plan, _, _ = planned(speech, categories=CATEGORIES)
    build(plan, out)  # in this process, which has nothing left to import
    assert parquet(contents(out)) == parquet(reference)
    assert command.alive() == []
    assert leftovers(out) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_by_a_signal(start, reference, tmp_path, number):
    """Ctrl-C and a polite kill, sent to the whole group as a terminal does."""
    out = tmp_path / "vocalgrad"
    command = start(out)
    command.wait_until(MOMENTS["within_the_first_shard"]())
    stopped = time.monotonic()
    os.killpg(command.process.pid, number)
    code, stderr = command.end()
    assert code != 0
    assert time.monotonic() - stopped < 10
    assert "Traceback" not in stderr, stderr
    deadline = time.monotonic() + 3
    while command.alive():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    code, stderr = start(out).end()
    assert code == 0, stderr
    assert contents(out) == reference
    assert leftovers(out) == []


def test_two_commands_in_one_folder(start, reference, tmp_path):
    out = tmp_path / "vocalgrad"
    first = start(out)
    first.wait_until(MOMENTS["as_the_first_file_is_opened"]())
    code, stderr = start(out).end()
    assert code == 2
    assert "error: another build is at work in" in stderr
    assert "Traceback" not in stderr
    code, stderr = first.end()
    assert code == 0, stderr
    assert contents(out) == reference
