"""Ctrl-C ends a build on several processes in one line, without a traceback of each."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COMMAND = """
import sys, time
from pathlib import Path
from builders.building import workers
from otoscope.cli.errors import program


def slow_shard(recipe, plan, index, folder, *, on_row):
    (folder / f"at-work-{index}").touch()
    for _ in range(3000):
        time.sleep(0.02)
        on_row()


def slow(item):
    Path(sys.argv[1], f"at-work-{item}").touch()
    time.sleep(1)


workers.write_shard, workers.check_libraries = slow_shard, lambda libraries: None


class Plan:
    libraries = ()


def build(out: Path, kind: str) -> None:
    if kind == "shards":
        workers.run(None, Plan(), range(4), out, num_proc=2)
    else:
        list(workers.parallel_map(slow, range(40), 2))


if __name__ == "__main__":
    program(build)()
"""


def interrupted(tmp_path, kind):
    script = tmp_path / "build.py"
    script.write_text(COMMAND)
    out = tmp_path / "out"
    out.mkdir()
    process = subprocess.Popen(
        [sys.executable, str(script), str(out), kind],
        env=os.environ | {"PYTHONPATH": str(ROOT)}, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while len(list(out.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
    output, _ = process.communicate(timeout=60)
    return process.returncode, output.split("\n")[:-1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["shards", "map"])
def test_one_line_and_130(tmp_path, kind):
    code, lines = interrupted(tmp_path, kind)
    assert code == 130
    assert len(lines) <= 1, lines
