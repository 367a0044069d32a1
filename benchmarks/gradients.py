"""How much faster than the plain reference are a source's 216 variants, FLAC included?

    python -m benchmarks.gradients

One source of 4 s at 48 kHz with 2.4 s of speech-like sound; both make and encode the same clips,
in one process, in turns, after one whole warm-up each. Only ratios are worth comparing between
machines.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np

from otoscope.acoustics import codec
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.rendering import CELLS, Source
from otoscope.acoustics.spans import Span
from tests.acoustics import plain_gradients
from tests.acoustics.synthetic_speech import speech_like

SAMPLING_RATE = 48_000
SPAN = Span(38_400, 153_600)
N_ROUNDS = 3
TARGET, AIM = 4.0, 6.0


def plain(pcm: np.ndarray, category: str) -> None:
    """All variants of one category by the reference, each from scratch."""
    for cell in CELLS:
        made, _ = plain_gradients.render(
            pcm, SAMPLING_RATE, SPAN, category, *cell, clip_id=cell.clip_id("a", "b")
        )
        codec.encode_flac(made, SAMPLING_RATE)


def product(source: Source, category: str) -> None:
    """All variants of one category by the product."""
    for _, _, made in source.variants(category, "a", "b"):
        codec.encode_flac(made.to_pcm().pcm, SAMPLING_RATE)


def seconds(work: Callable[[], None]) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Prints a line a category and the total."""
    pcm = source_of_four_seconds()
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in GRADIENTS}
    for round_number in range(N_ROUNDS + 1):
        source = Source(pcm, SAMPLING_RATE, SPAN)
        for name in GRADIENTS:
            pair = (
                seconds(lambda n=name: plain(pcm, n)),
                seconds(lambda n=name, s=source: product(s, n)),
            )
            if round_number > 0:
                times[name].append(pair)
    print(f"{'category':18}{'plain s':>9}{'ours s':>9}{'ratio':>7}")
    for name, pairs in times.items():
        ours = statistics.median(p[1] for p in pairs)
        theirs = statistics.median(p[0] for p in pairs)
        print(f"{name:18}{theirs:9.3f}{ours:9.3f}{theirs / ours:7.1f}")
    totals = [
        (sum(times[n][k][0] for n in times), sum(times[n][k][1] for n in times))
        for k in range(N_ROUNDS)
    ]
    ratios = [plain_s / ours_s for plain_s, ours_s in totals]
    ratio = statistics.median(ratios)
    verdict = "reached" if ratio >= TARGET else "MISSED"
    print(
        f"total of {len(GRADIENTS) * len(CELLS)} clips: {ratio:.2f} times less "
        f"({min(ratios):.2f} to {max(ratios):.2f} over {N_ROUNDS} rounds); "
        f"target {TARGET:g} {verdict}, aim {AIM:g} {'reached' if ratio >= AIM else 'not reached'}"
    )


def source_of_four_seconds() -> np.ndarray:
    """int16, `(1, 192000)`: quiet room, 2.4 s of speech-like sound, quiet room."""
    n = 4 * SAMPLING_RATE
    rng = np.random.default_rng(0)
    samples = 3e-4 * rng.standard_normal(n)
    speech = speech_like(SAMPLING_RATE, (SPAN.end - SPAN.start) / SAMPLING_RATE)
    samples[SPAN.start : SPAN.start + speech.size] += speech
    return codec.round_to_pcm(samples[None] * (0.5 / np.abs(samples).max()))


if __name__ == "__main__":
    main()
