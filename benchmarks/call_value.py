"""How long does a full audit of calls take, and how much memory does a large one need?

    python -m benchmarks.call_value

A synthetic audit of 480 development and 240 held-out examples by speaker, six actions, ten fold
assignments and 10,000 draws, from tables to the written report. Its bands of accuracy over cost are
then resampled once more by the product and, as a plain reference, in a loop of single resamples;
the ratio of both is from one run. Peak memory is that of a process of its own with 100,000
examples. Only ratios are worth comparing between machines.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from otoscope.atomic import write_json
from otoscope.audits.call_value.audit import CallAudit, audit_calls
from otoscope.audits.call_value.first_contract import first_contract
from otoscope.audits.call_value.tables import read_call_tables
from otoscope.reports.call_value.report import write_call_report
from otoscope.statistics.resampling import cluster_sums, resampled_sums

N_DEVELOPMENT, N_HOLDOUT, N_SEEDS, PER_SPEAKER = 480, 240, 10, 3
N_LARGE, N_PLAIN = 100_000, 200
TARGET_S, TARGET_GB = 20.0, 2.0
MACOS = sys.platform == "darwin"  # where peak memory is in bytes
LABELS = ("laughter", "sigh", "cough", "sneeze", "sniff", "throat clearing")
ACTIONS = {
    "transcript": ("transcript", 0.30, 0.14),
    "clap": ("encoder", 0.85, 0.037),
    "wavlm": ("encoder", 0.85, 0.01),
    "ast": ("encoder", 0.82, 0.03),
    "omni": ("generative", 0.88, 0.18),
    "qwen2": ("generative", 0.84, 0.13),
}
"""Kind, accuracy and seconds of each action; accuracies as in the paper."""


def examples_table(n_development: int, n_holdout: int, rng: np.random.Generator) -> pd.DataFrame:
    """Examples of both splits, a few of each speaker."""
    n = n_development + n_holdout
    at = np.arange(n)
    return pd.DataFrame(
        {
            "example_id": [f"e{i:06d}" for i in at],
            "label": np.array(LABELS)[at % len(LABELS)],
            "split": np.where(at < n_development, "development", "holdout"),
            "speaker": [f"s{i:06d}" for i in at // PER_SPEAKER],
            "asr_len": rng.integers(0, 12, n).astype(float),
            "asr_unc": rng.random(n).round(4),
        }
    )


def predictions_of(
    examples: pd.DataFrame, action: str, rng: np.random.Generator, fold_seed: int | None = None
) -> pd.DataFrame:
    """Predictions of one action, more often right where it is sure."""
    kind, share, seconds = ACTIONS[action]
    n, local = len(examples), kind != "generative"
    right = rng.random(n) < share
    gold = examples["label"].map(LABELS.index).to_numpy()
    label = np.where(right, gold, (gold + rng.integers(1, len(LABELS), n)) % len(LABELS))
    fold = np.where(examples["split"] == "development", np.arange(n) // PER_SPEAKER % 5, np.nan)
    return pd.DataFrame(
        {
            "example_id": examples["example_id"],
            "action": action,
            "kind": kind,
            "label": np.array(LABELS)[label],
            "conf": np.where(right, rng.beta(6, 2, n), rng.beta(3, 4, n)) if local else None,
            "fold": fold if kind == "encoder" else None,
            "fold_seed": fold_seed,
            "wall_s": seconds * rng.gamma(20, 1 / 20, n),
            "price": 0.0 if local else 0.0004,
            "audio_s": 0.0 if local else 3.0,
        }
    )


def write_tables(folder: Path, n_development: int, n_holdout: int, n_seeds: int) -> list[Path]:
    """Both tables as Parquet."""
    rng = np.random.default_rng(0)
    examples = examples_table(n_development, n_holdout, rng)
    made = [predictions_of(examples, action, rng) for action in ACTIONS]
    development = examples[examples["split"] == "development"]
    for seed in range(n_seeds):
        made += [predictions_of(development, action, rng, seed) for action in ("clap", "wavlm")]
    paths = [folder / "predictions.parquet", folder / "examples.parquet"]
    pd.concat(made, ignore_index=True).to_parquet(paths[0], index=False)
    examples.to_parquet(paths[1], index=False)
    return paths


def whole(folder: Path, n_development: int, n_holdout: int, n_seeds: int) -> CallAudit:
    """From tables on disk to the written report."""
    tables = write_tables(folder, n_development, n_holdout, n_seeds)
    write_json(folder / "contract.json", first_contract(read_call_tables(tables)))
    audit = audit_calls(tables, folder / "contract.json", folder / "audit")
    write_call_report(audit, folder / "audit")
    return audit


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def ours(audit: CallAudit) -> None:
    """Accuracy of every action over resampled speakers."""
    sums = cluster_sums(audit.holdout.correct, audit.holdout.clusters)
    resampled_sums(sums, rng=np.random.default_rng(0), n_draws=audit.contract.draws)


def plain(audit: CallAudit) -> None:
    """The same for a few draws, one after the other."""
    rng = np.random.default_rng(0)
    correct, clusters = audit.holdout.correct, audit.holdout.clusters
    rows = [np.flatnonzero(clusters == name) for name in np.unique(clusters)]
    for _ in range(N_PLAIN):
        drawn = [rows[k] for k in rng.integers(len(rows), size=len(rows))]
        correct[np.concatenate(drawn)].sum(axis=0)


def large() -> None:
    """A large audit; prints this process's peak memory in GB and its seconds."""
    with tempfile.TemporaryDirectory() as folder:
        taken = seconds(lambda: whole(Path(folder), N_LARGE // 2, N_LARGE - N_LARGE // 2, 0))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if MACOS else 1024) / 1e9
    print(f"{peak:.2f} {taken:.0f}")


def main() -> None:
    """Prints a line each."""
    with tempfile.TemporaryDirectory() as folder:  # the first time loads libraries
        whole(Path(folder), 60, 30, 0)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        audit = whole(Path(folder), N_DEVELOPMENT, N_HOLDOUT, N_SEEDS)
        taken = time.perf_counter() - began
    draws = audit.contract.draws
    print(
        f"{N_HOLDOUT} + {N_DEVELOPMENT} examples, {len(ACTIONS)} actions, {N_SEEDS} fold seeds, "
        f"{draws} draws: {taken:.1f} s (target {TARGET_S:.0f} s)"
    )
    slow = draws / N_PLAIN * seconds(lambda: plain(audit))
    print(f"resampling: {slow / seconds(lambda: ours(audit)):.0f} times faster than in a loop")
    code = f"import benchmarks.call_value as b; b.N_LARGE = {N_LARGE}; b.large()"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    peak, took = found.stdout.split()
    print(f"{N_LARGE} examples: {peak} GB at most, {took} s (target {TARGET_GB:g} GB)")


if __name__ == "__main__":
    main()
