"""What a build costs: two workers against one, and the memory of a full test set.

    python -m benchmarks.build [--speech FOLDER]

FOLDER holds real recordings at 48 kHz; they are joined into 100 sources of about 4 s. Without it
the sources are synthetic, which changes neither counts nor sizes much. Memory is the proportional
set size (PSS) of all processes together, read four times a second, so it is Linux only.
"""

import argparse
import shutil
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import soundfile

from builders.corpora.folder import open_folder
from builders.corpora.reading.audio_files import list_audio
from builders.vocalgrad.planning.build_plan import plan_build
from builders.vocalgrad.rendering.rows import build
from otoscope.acoustics import codec
from otoscope.acoustics.spans import DEFAULT_POLICIES, Policy, Problem
from tests.acoustics.synthetic_speech import speech_like

SAMPLING_RATE = 48_000
N_SOURCES, N_SOURCES_SMALL = 100, 40
LENGTH_S = 4.1
TARGET_WORKERS, TARGET_GB = 1.7, 1.5


def write_sources(folder: Path, speech: Path | None) -> None:
    """100 files of about 4 s: a quiet start, then stretches of speech one after another."""
    rng = np.random.default_rng(0)
    pool = real_speech(speech) if speech else speech_like(SAMPLING_RATE, 60.0)
    folder.mkdir(parents=True)
    for i in range(N_SOURCES):
        n = round(LENGTH_S * SAMPLING_RATE * rng.uniform(0.75, 1.5))
        begin = rng.integers(0, pool.size - n)
        rest = 3e-4 * rng.standard_normal(SAMPLING_RATE)
        joined = np.concatenate([rest, pool[begin : begin + n - rest.size]])
        pcm = codec.round_to_pcm(np.clip(joined, -1, 1)[None])
        soundfile.write(folder / f"s{i:03d}.wav", pcm.T, SAMPLING_RATE, subtype="PCM_16")


def real_speech(folder: Path) -> np.ndarray:
    """All 48 kHz recordings of a folder, end to end, twice over when they are few."""
    parts = []
    for path in list_audio(folder).values():
        recording = codec.read(path)
        if recording.sampling_rate == SAMPLING_RATE:
            parts.append(codec.to_float(recording.pcm[0]))
    return np.tile(np.concatenate(parts), 2)


class PeakMemory(threading.Thread):
    """The most PSS, in bytes, that a process and its descendants held together."""

    def __init__(self, pid: str = "self") -> None:
        super().__init__(daemon=True)
        self.pid, self.peak, self.over = pid, 0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.25):
            self.peak = max(self.peak, sum(map(pss_of, family(self.pid))))


def family(pid: str) -> list[str]:
    """A process and all its descendants."""
    found = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [p for child in children.read_text().split() for p in family(child)]
        except OSError:
            continue  # ended meanwhile
    return found


def pss_of(pid: str) -> int:
    """Bytes; 0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(x.split()[1]) * 1024 for x in lines if x.startswith("Pss:")), 0)


def timed_build(sources: Path, out: Path, *, num_proc: int, limit: int | None = None) -> float:
    """Seconds that a build takes, planning left out."""
    corpus = open_folder(sources)
    policies = DEFAULT_POLICIES | {Problem.NOTHING_FOUND: Policy.WHOLE_CLIP}
    plan, _, _ = plan_build(corpus, limit_sources=limit, policies=policies)
    began = time.perf_counter()
    build(plan, out, num_proc=num_proc)
    return time.perf_counter() - began


def main() -> None:
    """Prints both figures with their targets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--speech", type=Path, help="folder of real 48 kHz recordings")
    args = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="otoscope-bench-"))
    try:
        sources = work / "sources"
        write_sources(sources, args.speech)
        kind = "joined recordings" if args.speech else "synthetic"
        seconds: dict[int, list[float]] = {1: [], 2: []}
        for turn in range(2):
            for n in (1, 2):
                out = work / f"small-{turn}-{n}"
                seconds[n].append(timed_build(sources, out, num_proc=n, limit=N_SOURCES_SMALL))
                shutil.rmtree(out)
        ratio = min(seconds[1]) / min(seconds[2])
        print(
            f"two workers: {ratio:.2f} times one, {N_SOURCES_SMALL} {kind} sources "
            f"({min(seconds[1]):.1f} s, {min(seconds[2]):.1f} s); target {TARGET_WORKERS:g} "
            f"{'reached' if ratio >= TARGET_WORKERS else 'MISSED'}"
        )
        memory = PeakMemory()
        memory.start()
        took = timed_build(sources, work / "full", num_proc=2)
        memory.over.set()
        gb = memory.peak / 1e9
        print(
            f"full test set: 21,600 clips of {N_SOURCES} {kind} sources by two workers in "
            f"{took:.0f} s, at most {gb:.2f} GB (PSS, all processes); target {TARGET_GB:g} GB "
            f"{'reached' if gb <= TARGET_GB else 'MISSED'}"
        )
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
