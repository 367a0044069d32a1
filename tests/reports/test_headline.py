"""The main result of a run in one line."""

import re

from otoscope.reports.headline import headline
from tests.reports.written_runs import question, write_run


def test_accuracy_with_its_interval_and_n(tmp_path):
    rows = [question(f"c{i}", source_id=f"s{i // 2}") for i in range(8)]
    answers = [(f"c{i}|main", "increase" if i < 6 else "hm") for i in range(8)]
    run = write_run(tmp_path / "run", rows, answers)
    line = headline(run)
    correct = sum(row["label"] == "increase" for row in rows[:6])
    assert line.startswith(f"accuracy {100 * correct / 8:.1f} % (95 % CI")
    low, high = map(float, re.search(r": ([\d.]+) to ([\d.]+)\), n = 8$", line).groups())
    assert 0 <= low < 100 * correct / 8 < high <= 100


def test_nothing_to_say(tmp_path):
    assert headline(write_run(tmp_path / "empty", [], [])) == ""
