"""How much faster than the plain reference are a source's 216 variants, FLAC included?

    python -m benchmarks.gradients

One source of 4 s at 48 kHz with 2.4 s of speech-like signal. The plain reference renders and
encodes the clips of the profile `paper`, the product those of each profile, in one process, in
turns, after one full warm-up each. Only ratios are worth comparing between machines.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from otoscope.acoustics import codec
from otoscope.acoustics.design import CONDITIONS, PUBLISHED_CATEGORIES
from otoscope.acoustics.rendering import SourceRenderer
from otoscope.acoustics.spans import Span
from tests.acoustics import plain_gradients
from tests.acoustics.synthetic_speech import speech_like

SAMPLING_RATE = 48_000
SPAN = Span(38_400, 153_600)
N_ROUNDS = 3
TARGETS = {"paper": (4.0, 6.0), "controlled": (6.0, 8.0)}
"""Profile to the ratio wanted and the one aimed at."""


def plain(pcm: np.ndarray, category: str) -> None:
    """All variants of one category by the reference, each from scratch."""
    for condition in CONDITIONS:
        made, _ = plain_gradients.render(
            pcm, SAMPLING_RATE, SPAN, category, *condition, clip_id=condition.clip_id("a", "b")
        )
        codec.encode_flac(made, SAMPLING_RATE)


def product(source: SourceRenderer, category: str, profile: str) -> None:
    """All variants of one category by the product."""
    for _, _, made in source.variants(category, "a", "b", profile=profile):
        codec.encode_flac(made.to_pcm().pcm, SAMPLING_RATE)


def seconds(work: Callable[[], None]) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Prints a line a category and, for each profile, the total."""
    pcm = source_of_four_seconds()
    times: dict[str, list[list[float]]] = {name: [] for name in PUBLISHED_CATEGORIES}
    for round_number in range(N_ROUNDS + 1):
        sources = {profile: SourceRenderer(pcm, SAMPLING_RATE, SPAN) for profile in TARGETS}
        for name in PUBLISHED_CATEGORIES:
            taken = [seconds(partial(plain, pcm, name))]
            taken += [seconds(partial(product, s, name, profile)) for profile, s in sources.items()]
            if round_number > 0:
                times[name].append(taken)
    print(
        f"{'category':18}{'plain s':>9}" + "".join(f"{p + ' s':>14}{'ratio':>7}" for p in TARGETS)
    )
    for name, rounds in times.items():
        theirs, *ours = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{name:18}{theirs:9.3f}" + "".join(f"{t:14.3f}{theirs / t:7.1f}" for t in ours))
    for k, (profile, (target, aim)) in enumerate(TARGETS.items(), start=1):
        ratios = [
            sum(times[n][r][0] for n in times) / sum(times[n][r][k] for n in times)
            for r in range(N_ROUNDS)
        ]
        ratio = statistics.median(ratios)
        print(
            f"{profile}: total of {len(times) * len(CONDITIONS)} clips {ratio:.2f} times less "
            f"({min(ratios):.2f} to {max(ratios):.2f} over {N_ROUNDS} rounds); target {target:g} "
            f"{'reached' if ratio >= target else 'MISSED'}, "
            f"aim {aim:g} {'reached' if ratio >= aim else 'not reached'}"
        )


def source_of_four_seconds() -> np.ndarray:
    """int16, `(1, 192000)`: noise, 2.4 s of a speech-like signal, noise."""
    n = 4 * SAMPLING_RATE
    rng = np.random.default_rng(0)
    samples = 3e-4 * rng.standard_normal(n)
    speech = speech_like(SAMPLING_RATE, (SPAN.end - SPAN.start) / SAMPLING_RATE)
    samples[SPAN.start : SPAN.start + speech.size] += speech
    return codec.round_to_pcm(samples[None] * (0.5 / np.abs(samples).max()))


if __name__ == "__main__":
    main()
