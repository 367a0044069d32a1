"""Where speech begins and ends: the published energy detector, and what to do where it fails.

Conventions: samples are float in [-1, 1), `(n_channels, n_samples)`; times are seconds from the
start of the clip; `frame` means a 10 ms stretch that does not overlap its neighbours.

Source: VocalGrad, section 3.2 and appendix B (`docs/papers.md`).
"""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from otoscope.errors import InvalidValue

FRAME_S = 0.010
FLOOR_S = 0.2
PRE_EMPHASIS = 0.97
FLOOR_FACTOR = 1.8
PEAK_FACTOR = 0.003
LEAST_THRESHOLD = 5e-5
MIN_RUN_FRAMES = 10
SHORT_S = 1.0
LOUD_START = 0.05  # first 200 ms at this share of the loudest frame: speech, not a noise floor


class Span(NamedTuple):
    """A stretch of a clip in samples, `[start, end)`."""

    start: int
    end: int


class Detection(NamedTuple):
    """What the detector saw; `span` is None when no run of active frames was long enough.

    `threshold`, `noise_floor` and `peak_rms` are frame RMS after pre-emphasis.
    """

    span: Span | None
    n_segments: int
    threshold: float
    noise_floor: float
    peak_rms: float


class Problem(StrEnum):
    """Why a detected span should not be taken on trust."""

    NOTHING_FOUND = "nothing_found"
    FROM_FIRST_FRAME = "speech_from_first_frame"
    SHORT = "under_one_second"


class Policy(StrEnum):
    """What to do about a problem; the name is recorded in the row's `span_origin`."""

    REJECT = "refuse"
    WHOLE_CLIP = "whole_clip"
    KEEP = "kept"
    QUIETEST_FLOOR = "quietest_floor"


DEFAULT_POLICIES = {
    Problem.NOTHING_FOUND: Policy.REJECT,
    Problem.FROM_FIRST_FRAME: Policy.QUIETEST_FLOOR,
    Problem.SHORT: Policy.KEEP,
}
"""Published selections contain spans under a second, so these are kept; nothing is invented."""


def frame_rms(
    samples: Float[np.ndarray, "n_channels n_samples"], sampling_rate: int
) -> Float[np.ndarray, " n_frames"]:
    """RMS of each whole 10 ms frame of the pre-emphasised channel mean.

    A clip shorter than one frame is padded with zeros to one.
    """
    mono = samples.astype(np.float64).mean(axis=0)
    emphasised = np.concatenate([mono[:1], mono[1:] - PRE_EMPHASIS * mono[:-1]])
    hop = _hop(sampling_rate)
    if emphasised.size < hop:
        emphasised = np.pad(emphasised, (0, hop - emphasised.size))
    n_frames = emphasised.size // hop
    frames = emphasised[: n_frames * hop].reshape(n_frames, hop)
    return np.sqrt(np.mean(frames**2, axis=1))


def detect(
    samples: Float[np.ndarray, "n_channels n_samples"],
    sampling_rate: int,
    *,
    quietest_floor: bool = False,
) -> Detection:
    """Start of the first and end of the last stretch of at least 100 ms above the threshold.

    Args:
        samples: Waveform in [-1, 1).
        sampling_rate: In Hz.
        quietest_floor: Take the noise floor from the quietest 200 ms instead of the first. Not
            published; for clips that begin with speech.
    """
    rms = frame_rms(samples, sampling_rate)
    n_floor = _n_floor_frames(rms.size, sampling_rate)
    if quietest_floor:
        windows = np.lib.stride_tricks.sliding_window_view(rms, n_floor)
        floor = float(np.median(windows, axis=1).min())
    else:
        floor = float(np.median(rms[:n_floor]))
    peak = float(rms.max())
    threshold = max(FLOOR_FACTOR * floor, PEAK_FACTOR * peak, LEAST_THRESHOLD)
    runs = [run for run in _runs(rms >= threshold) if run.end - run.start >= MIN_RUN_FRAMES]
    span = None
    if runs:
        hop = _hop(sampling_rate)
        span = Span(runs[0].start * hop, min(samples.shape[1], runs[-1].end * hop))
    return Detection(span, len(runs), threshold, floor, peak)


def problems(detection: Detection, sampling_rate: int) -> list[Problem]:
    """What speaks against using a detection as it is; empty when nothing does."""
    if detection.span is None:
        if detection.noise_floor > LOUD_START * detection.peak_rms > 0:
            return [Problem.FROM_FIRST_FRAME, Problem.NOTHING_FOUND]
        return [Problem.NOTHING_FOUND]
    found = []
    if detection.span.start == 0 or detection.noise_floor > LOUD_START * detection.peak_rms:
        found.append(Problem.FROM_FIRST_FRAME)
    if detection.span.end - detection.span.start < SHORT_S * sampling_rate:
        found.append(Problem.SHORT)
    return found


class Decision(NamedTuple):
    """The span to use (None: refuse the clip), where it came from, and what was wrong."""

    span: Span | None
    origin: str
    problems: list[Problem]


def decide(
    samples: Float[np.ndarray, "n_channels n_samples"],
    sampling_rate: int,
    policies: Mapping[Problem, Policy] = DEFAULT_POLICIES,
) -> Decision:
    """A detected span, or what the policies make of a clip the detector cannot handle.

    Speech from the first frame is looked at first, since it spoils the noise floor; the other
    problems are judged on what is left after that. Refusing a clip and taking the whole of it are
    final. `origin` is `detected` or the policy that made the span, for the row's `span_origin`;
    keeping a short span does not hide how it was found.

    Raises:
        ValueError: `quietest_floor` for a problem it does not answer.
    """
    if Policy.QUIETEST_FLOOR in (policies[Problem.NOTHING_FOUND], policies[Problem.SHORT]):
        raise InvalidValue(f"{Policy.QUIETEST_FLOOR} only answers {Problem.FROM_FIRST_FRAME}")
    detection = detect(samples, sampling_rate)
    seen = problems(detection, sampling_rate)
    origin = "detected"
    if Problem.FROM_FIRST_FRAME in seen:
        policy = policies[Problem.FROM_FIRST_FRAME]
        if policy is Policy.QUIETEST_FLOOR:
            detection = detect(samples, sampling_rate, quietest_floor=True)
            again = problems(detection, sampling_rate)
            seen = [Problem.FROM_FIRST_FRAME] + [
                p for p in again if p is not Problem.FROM_FIRST_FRAME
            ]
        origin = policy.value
    for problem in seen:
        policy = policies[problem]
        if origin in (Policy.REJECT, Policy.WHOLE_CLIP):
            break
        if origin == "detected" or policy is not Policy.KEEP:
            origin = policy.value
    if origin == Policy.WHOLE_CLIP:
        return Decision(Span(0, samples.shape[1]), origin, seen)
    if origin == Policy.REJECT or detection.span is None:
        return Decision(None, Policy.REJECT.value, seen)
    return Decision(detection.span, origin, seen)


def _hop(sampling_rate: int) -> int:
    return max(1, round(sampling_rate * FRAME_S))


def _n_floor_frames(n_frames: int, sampling_rate: int) -> int:
    hop = _hop(sampling_rate)
    head = max(1, round(FLOOR_S * sampling_rate) - hop + 1)
    return max(1, min(n_frames, math.ceil(head / hop)))


def _runs(active: Bool[np.ndarray, " n_frames"]) -> list[Span]:
    """Maximal stretches of true frames."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], active, [False]]).astype(np.int8)))
    return [Span(int(start), int(end)) for start, end in edges.reshape(-1, 2)]
