"""What extracting all sites in one pass saves, and what reading one of them costs.

    python -m benchmarks.extract

Hidden states of a Qwen2-Audio of random weights with twelve layers are extracted for 32 clips of
two seconds. All sites in one pass are compared with one pass for each site, which already ends at
its layer. Then one site of several is read in a process of its own, and its peak memory is compared
with the size of that site. Features are of the size of a category's training set.
"""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from otoscope.models.base import AudioInput, Request
from otoscope.prompts.questions import question
from otoscope.representations.features import Features, write_features

N_CLIPS, LENGTH_S, N_LAYERS, N_TURNS = 32, 2.0, 12, 3
N_ROWS, WIDTH, N_SITES = 12_000, 4096, 4
TARGET_FASTER, TARGET_MEMORY = 3.0, 1.2


def model(folder: Path) -> Any:
    """The tiny model of the tests, with more layers."""
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "models"))
    import tiny

    from otoscope.models.transformers_models import open_transformers

    tiny.WORDS["num_hidden_layers"] = N_LAYERS
    return open_transformers(tiny.save(tiny.qwen2_audio(), folder), batch_size=8)


def questions() -> list[Request]:
    """The main question about clips of noise."""
    rng = np.random.default_rng(0)
    requests = []
    for i in range(N_CLIPS):
        name = f"clip{i}"
        row = {"id": name, "category": "volume", "attribute": "volume", "label": i % 2}
        main_question = question(row, "main")
        samples = 0.1 * rng.standard_normal(round(LENGTH_S * 16_000))
        audio = AudioInput(name, samples.astype(np.float32), 16_000, "")
        requests.append(Request(main_question, (main_question.parts[0], audio)))
    return requests


def best_s(work: Callable[[], object]) -> float:
    """Least wall time of some calls, the first left out."""
    work()
    times = []
    for _ in range(N_TURNS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def one_pass(folder: Path) -> None:
    """Prints how much faster one pass is than one a site."""
    from otoscope.representations.hidden_states import extractor_for
    from otoscope.representations.sites import parse_sites

    extractor, requests = extractor_for(model(folder)), questions()
    sites = parse_sites("pre_llm,audio.last,text.*,answer", list(extractor.widths))
    together = best_s(lambda: extractor.extract(requests, sites))
    apart = best_s(lambda: [extractor.extract(requests, [site]) for site in sites])
    ratio = apart / together
    print(
        f"{len(sites)} sites of {N_CLIPS} clips: one pass is {ratio:.1f} times faster than one for "
        f"each site ({together:.2f} s, {apart:.2f} s); target {TARGET_FASTER:g} "
        f"{'reached' if ratio >= TARGET_FASTER else 'MISSED'}"
    )


def written(folder: Path) -> None:
    """Features of some sites, written by a process that ends before any is read."""
    rng = np.random.default_rng(0)
    rows = {
        "id": [str(i) for i in range(N_ROWS)],
        "category": ["volume"] * N_ROWS,
        "label": np.arange(N_ROWS) % 2,
    }
    states = rng.standard_normal((N_ROWS, WIDTH), np.float32).astype(np.float16)
    write_features(folder, rows, {f"text.{k}": states for k in range(N_SITES)})


def memory_bytes(name: str) -> int:
    """Of this process, mapped files included: `VmRSS` now, `VmHWM` the most it ever was."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    if found is None:
        raise OSError(f"/proc/self/status does not tell {name}")
    return int(found.group(1)) * 1024


def reading(folder: Path) -> None:
    """Prints what the peak memory of reading one site is, as a multiple of that site."""
    features = Features.open(folder)
    before = memory_bytes("VmRSS")
    began = time.perf_counter()
    states = features.matrix("text.1")
    taken_s = time.perf_counter() - began
    ratio = (memory_bytes("VmHWM") - before) / states.nbytes
    print(
        f"one site of {N_SITES}, {states.nbytes / 2**20:.0f} MiB: {ratio:.2f} times that at the "
        f"peak ({taken_s:.2f} s); target {TARGET_MEMORY:g} "
        f"{'reached' if ratio <= TARGET_MEMORY else 'MISSED'}"
    )


def main() -> None:
    """Prints a line each; with arguments, does one part in this process."""
    parts = {part.__name__: part for part in (one_pass, written, reading)}
    if len(sys.argv) == 3:
        parts[sys.argv[1]](Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as work:
        for name in parts:
            folder = Path(work) / ("model" if name == "one_pass" else "features")
            subprocess.run(
                [sys.executable, "-m", "benchmarks.extract", name, str(folder)], check=True
            )


if __name__ == "__main__":
    main()
