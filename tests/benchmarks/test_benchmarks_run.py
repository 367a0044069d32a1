"""Every benchmark runs through at a tiny size; the figures themselves are not checked."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTED_ELSEWHERE = {
    "encoder_layers", "encoder_report", "encoder_states", "human_sounds", "leakage_and_transfer",
    "real_speech", "recordings", "relabelling",
}  # fmt: skip
ONE_GRADIENT = "('volume',)"

SIZES = {
    "gradients": f"b.N_ROUNDS, b.SAMPLING_RATE, b.PUBLISHED_CATEGORIES = 1, 8000, {ONE_GRADIENT}; "
    "b.SPAN = type(b.SPAN)(6400, 25600)",
    "measuring": "b.SAMPLING_RATE, b.SPEECH_S, b.N_ROUNDS, b.N_CONDITIONS = 8000, 1.0, 1, 1; "
    f"b.PUBLISHED_CATEGORIES = {ONE_GRADIENT}",
    "encoders": "b.N_CLIPS, b.N_ROUNDS, b.LENGTHS_S, b.BATCH = 2, 1, (0.2, 0.3), 2; "
    "b.WAVLM = {'hidden_size': 16, 'num_hidden_layers': 1, 'num_attention_heads': 2}",
    "bootstrap": "b.N_PAIRS, b.N_DRAWS, b.N_ROUNDS, b.N_ANSWERS = 60, 50, 1, 200",
    "scoring": "b.N_SOURCES, b.N_ROUNDS = 2, 1",
    "call_value": "b.N_DEVELOPMENT, b.N_HOLDOUT, b.N_LARGE = 60, 30, 90; b.N_PLAIN = 9",
    "coverage": "b.N_DRAWS, b.N_SOURCES, b.N_CLIPS = 2, (10,), (8,)",
    "build": "b.SAMPLING_RATE, b.N_SOURCES, b.N_SOURCES_SMALL, b.LENGTH_S = 8000, 2, 1, 2.5",
    "openai_adapter": "sys.argv += ['--latency', '0.01', '--concurrency', '2', '--questions', '4']",
    "run_overhead": "b.N_CLIPS, b.N_TURNS, b.LENGTH_S = 8, 1, 0.5",
    "probes": "b.N_LAYERS, b.N_CATEGORIES, b.N_ITEMS, b.N_TEST, b.WIDTH = 3, 1, 96, 48, 8; "
    "b.N_ROUNDS = b.N_PRELOADED = 1",
    "head_from_states": "b.N_CLIPS, b.LENGTH_S, b.BATCH, b.N_ROUNDS = 8, 0.5, 4, 1; "
    "b.SIZES = b.SIZES | {'num_hidden_layers': 1, 'vocab_size': 512}",
}
"""How each is made small, `b` being its module."""

PARTS_OF_EXTRACT = (
    "b.N_CLIPS, b.LENGTH_S, b.N_LAYERS, b.N_TURNS, b.N_ROWS, b.WIDTH = 2, 0.5, 2, 1, 50, 8; "
    "b.one_pass(Path(sys.argv[1]) / 'model'); b.written(Path(sys.argv[1]) / 'features'); "
    "b.reading(Path(sys.argv[1]) / 'features')"
)
QUICK = {"gradients", "measuring", "bootstrap", "scoring", "coverage"}
SLOW = pytest.mark.slow


def printed(name, code, *arguments):
    """The lines that a benchmark prints in a process of its own."""
    program = f"import sys; from pathlib import Path; import benchmarks.{name} as b; {code}"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_no_benchmark_is_left_out():
    names = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert names == {*SIZES, *TESTED_ELSEWHERE, "extract"}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=SLOW) for n in SIZES])
def test_it_runs_and_names_its_target(name):
    assert any("target" in line for line in printed(name, f"{SIZES[name]}; b.main()"))


@SLOW
@pytest.mark.timeout(300)
def test_extract_runs_in_all_its_parts(tmp_path):
    lines = printed("extract", PARTS_OF_EXTRACT, str(tmp_path))
    assert len([line for line in lines if "target" in line]) == 2
