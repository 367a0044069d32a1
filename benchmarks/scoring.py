"""How long does a report take on a run as large as the test set?

    python -m benchmarks.scoring

A run folder of 21,600 answers by category, tier, curve and direction of 100 sources is written
once. Scoring is all tables with all intervals from answers in memory; the report is everything,
from reading the folder to the written page. Both are medians; other work on the machine shows.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from otoscope.acoustics.design import LABELS, TIERS
from otoscope.acoustics.trajectories import CURVES
from otoscope.audits.perception import COLUMNS
from otoscope.audits.plans import CORE
from otoscope.audits.runs import load_run, write_plan
from otoscope.prompts import PROMPTS
from otoscope.reports.perception.findings import findings
from otoscope.reports.perception.published import CATEGORIES
from otoscope.reports.perception.reading import PerceptionRun, with_kinds
from otoscope.reports.perception.report import report
from otoscope.reports.scoring import score

N_SOURCES, N_ROUNDS = 100, 5
TARGET_S = 3.0
TEXTS = ("increase", "Decrease.", "It increases over time.", "no idea", "")


def plan_rows() -> list[dict[str, Any]]:
    """A question for each published condition."""
    prompt = PROMPTS["main"]
    conditions = product(CATEGORIES, range(N_SOURCES), TIERS, CURVES, LABELS)
    return [
        {
            "question_id": f"{category}-{source}-{tier}-{curve}-{direction}|main",
            "id": f"{category}-{source}-{tier}-{curve}-{direction}",
            "category": category,
            "attribute": category.replace("_", " "),
            "label": LABELS[direction],
            "labels": list(prompt.labels),
            "parser": prompt.parser,
            "prompt_name": "main",
            "prompt": prompt.text(category),
            "tier": tier,
            "curve": curve,
            "direction": direction,
            "source_id": f"source-{source}",
            "no_effect": False,
        }
        for category, source, tier, curve, direction in conditions
    ]


def write_run(run: Path) -> int:
    """Writes plan and answers; how many there are."""
    rows = plan_rows()
    write_plan(run, rows, {"audit": "perception", "model": "benchmark"}, {**CORE, **COLUMNS})
    texts = np.random.default_rng(0).choice(TEXTS, len(rows)).tolist()
    lines = (
        json.dumps({"question_id": row["question_id"], "attempt": 1, "text": text, "status": "ok"})
        for row, text in zip(rows, texts, strict=True)
    )
    (run / "answers" / "rank-000.jsonl").write_text("\n".join(lines) + "\n")
    return len(rows)


def median_s(work: Callable[[], object]) -> float:
    """Wall time of a call, the first left out."""
    work()
    times = []
    for _ in range(N_ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    """Prints one line each."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        n = write_run(run)
        columns = load_run(run)[:]
        scoring = median_s(lambda: findings([PerceptionRun("run", {}, with_kinds(score(columns)))]))
        print(f"{n} answers, all tables and intervals: {scoring:.2f} s (target {TARGET_S:.0f} s)")
        print(f"from folder to page: {median_s(lambda: report([run])):.2f} s")


if __name__ == "__main__":
    main()
