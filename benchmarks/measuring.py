"""What does measuring a clip cost, when its measures share spectra and tracks?

    python -m benchmarks.measuring

One source of 4.5 s at 24 kHz with 4 s of a speech-like signal; clips of every category. In turns
and in one process: making a clip (FLAC included), measuring it as a build does, and the same
measures each from the samples alone. Only ratios are worth comparing between machines.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from otoscope.acoustics import codec
from otoscope.acoustics.confounds import measured_in
from otoscope.acoustics.contrasts import contrasts
from otoscope.acoustics.design import CONDITIONS, PUBLISHED_CATEGORIES, Condition
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.measures import ClipAnalysis
from otoscope.acoustics.rendering import SourceRenderer
from otoscope.acoustics.spans import Span
from tests.acoustics.synthetic_speech import speech_like

SAMPLING_RATE, SPEECH_S, EDGE_S = 24_000, 4.0, 0.25
N_ROUNDS, N_CONDITIONS = 5, 4
TARGET, AIM = 1.5, 1.0
"""Measuring as a share of making: the ratio wanted and the one aimed at."""

Milliseconds = tuple[float, float, float]


def together(samples: np.ndarray, span: Span, category: str) -> None:
    """The category's cue and all contrasts, as a build measures them."""
    clip = ClipAnalysis(samples, SAMPLING_RATE, span)
    clip.once(GRADIENTS[category].cue)
    contrasts(clip, measured_in(category))


def separately(samples: np.ndarray, span: Span, category: str) -> None:
    """The same, nothing shared."""
    GRADIENTS[category].cue(ClipAnalysis(samples, SAMPLING_RATE, span))
    for name in measured_in(category):
        contrasts(ClipAnalysis(samples, SAMPLING_RATE, span), [name])


def milliseconds(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    began = time.process_time()
    work()
    return 1000 * (time.process_time() - began)


def main() -> None:
    """Prints milliseconds a clip by category, and both ratios."""
    speech = np.pad(speech_like(SAMPLING_RATE, SPEECH_S), round(EDGE_S * SAMPLING_RATE))
    edge = round(EDGE_S * SAMPLING_RATE)
    span = Span(edge, speech.size - edge)
    pcm = codec.round_to_pcm(speech[None] * (0.5 / np.abs(speech).max()))
    conditions = CONDITIONS[-N_CONDITIONS:]
    rows = {name: np.empty((N_ROUNDS, 3)) for name in PUBLISHED_CATEGORIES}
    with threadpool_limits(1):
        for k in range(-1, N_ROUNDS):  # the first is a warm-up
            source = SourceRenderer(pcm, SAMPLING_RATE, span)
            for name in PUBLISHED_CATEGORIES:
                taken = np.mean([of_clip(source, name, c) for c in conditions], axis=0)
                if k >= 0:
                    rows[name][k] = taken
    print(f"{'category':18}{'make ms':>9}{'measure ms':>12}{'separately ms':>15}")
    for name, taken in rows.items():
        print(f"{name:18}" + "{:9.1f}{:12.1f}{:15.1f}".format(*np.median(taken, axis=0)))
    make, measure, apart = np.mean(list(rows.values()), axis=0).T
    print(
        f"{statistics.median(measure):.1f} ms a clip, {statistics.median(apart / measure):.2f} "
        f"times less than separately; {statistics.median(measure / make):.2f} times as much as "
        f"making it; target {TARGET:g}, aim {AIM:g}"
    )


def of_clip(source: SourceRenderer, category: str, condition: Condition) -> Milliseconds:
    """Milliseconds to make one clip, to measure it, and to measure it with nothing shared."""
    made: list = []

    def make() -> None:
        rendering = source.render(category, condition, clip_id="a", profile="paper")
        made.extend([rendering.to_pcm().pcm, rendering.span, category])
        codec.encode_flac(made[0], SAMPLING_RATE)

    return (
        milliseconds(make),
        milliseconds(lambda: together(*made)),
        milliseconds(lambda: separately(*made)),
    )


if __name__ == "__main__":
    main()
