"""Where speech begins and ends: the published energy detector, and policies where it fails.

Conventions: samples are float in [-1, 1), `(n_channels, n_samples)`; times are seconds from the
start of the clip; `frame` means 10 ms without overlap.

Source: VocalGrad, section 3.2; the constants are in the authors' code (`docs/papers.md`).
"""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import ndimage

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
    """A range of a clip in samples, `[start, end)`."""

    start: int
    end: int


class Detection(NamedTuple):
    """Result of the detector; `span` is None when no run of active frames was long enough.

    `threshold`, `noise_floor` and `peak_rms` are frame RMS after pre-emphasis.
    """

    span: Span | None
    n_segments: int
    threshold: float
    noise_floor: float
    peak_rms: float


class Problem(StrEnum):
    """Why a detected span may be wrong."""

    NOTHING_FOUND = "nothing_found"
    FROM_FIRST_FRAME = "speech_from_first_frame"
    SHORT = "under_one_second"


class Policy(StrEnum):
    """What to do about a problem; the name is recorded in the row's `span_origin`."""

    REJECT = "reject"
    WHOLE_CLIP = "whole_clip"
    KEEP = "kept"
    QUIETEST_FLOOR = "quietest_floor"


DEFAULT_POLICIES = {
    Problem.NOTHING_FOUND: Policy.REJECT,
    Problem.FROM_FIRST_FRAME: Policy.QUIETEST_FLOOR,
    Problem.SHORT: Policy.KEEP,
}
"""Published selections contain spans under a second, so these are kept."""


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
    """Start of the first and end of the last run of at least 100 ms above the threshold.

    Args:
        samples: Waveform in [-1, 1).
        sampling_rate: In Hz.
        quietest_floor: Take the noise floor from the quietest 200 ms instead of the first. Not
            published; for clips that begin with speech.
    """
    rms, hop = frame_rms(samples, sampling_rate), _hop(sampling_rate)
    n_floor = min(rms.size, max(1, math.ceil((round(FLOOR_S * sampling_rate) - hop + 1) / hop)))
    if quietest_floor:
        windows = np.lib.stride_tricks.sliding_window_view(rms, n_floor)
        floor = float(np.median(windows, axis=1).min())
    else:
        floor = float(np.median(rms[:n_floor]))
    # threshold: above the floor by a factor, but never so low that 0.3 % of the peak or digital
    # silence would pass for speech
    peak = float(rms.max())
    threshold = max(FLOOR_FACTOR * floor, PEAK_FACTOR * peak, LEAST_THRESHOLD)
    runs = [run for (run,) in ndimage.find_objects(ndimage.label(rms >= threshold)[0])]
    runs = [run for run in runs if run.stop - run.start >= MIN_RUN_FRAMES]
    span = None
    if runs:
        span = Span(runs[0].start * hop, min(samples.shape[1], runs[-1].stop * hop))
    return Detection(span, len(runs), threshold, floor, peak)


def problems(detection: Detection, sampling_rate: int) -> list[Problem]:
    """Problems of a detection; empty when there are none."""
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
    """The span to use (None: reject the clip), its origin, and the problems found."""

    span: Span | None
    origin: str
    problems: list[Problem]


def decide(
    samples: Float[np.ndarray, "n_channels n_samples"],
    sampling_rate: int,
    policies: Mapping[Problem, Policy] = DEFAULT_POLICIES,
) -> Decision:
    """A detected span, or the result of the policies where the detector fails.

    Speech from the first frame is handled first, since it corrupts the noise floor; the other
    problems are decided on the detection after that. Rejecting a clip and taking all of it are
    final. `origin` is `detected` or the deciding policy, for the row's `span_origin`; keeping a
    short span does not change it.

    Raises:
        InvalidValue: `quietest_floor` for a problem it does not answer.
    """
    if Policy.QUIETEST_FLOOR in (policies[Problem.NOTHING_FOUND], policies[Problem.SHORT]):
        raise InvalidValue(f"{Policy.QUIETEST_FLOOR} only applies to {Problem.FROM_FIRST_FRAME}")
    detection = detect(samples, sampling_rate)
    seen = problems(detection, sampling_rate)
    origin = "detected"
    if Problem.FROM_FIRST_FRAME in seen:
        policy = policies[Problem.FROM_FIRST_FRAME]
        if policy is Policy.QUIETEST_FLOOR:
            # detect again with the floor of the quietest 200 ms; these problems replace the first
            detection = detect(samples, sampling_rate, quietest_floor=True)
            again = problems(detection, sampling_rate)
            seen = [Problem.FROM_FIRST_FRAME] + [
                p for p in again if p is not Problem.FROM_FIRST_FRAME
            ]
        origin = policy.value
    # the first decisive policy gives the origin
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
