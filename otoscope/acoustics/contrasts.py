"""Contrasts: how much each measure differs between the two halves of a span, one number each.

The direction of a gradient may be predictable from them alone. Each is a value, or NaN with a
reason.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from otoscope.acoustics.measures import MEASURES, ClipAnalysis, Track, head_tail_levels
from otoscope.acoustics.measures.base import decibels

HEAD_TAIL, DURATION = "edges", "duration"  # the names in stored records
CONTRASTS = (*MEASURES, HEAD_TAIL, DURATION)
"""Names of all contrasts: the measures, the head-tail level difference, and the span's length."""


def contrast_title(name: str) -> str:
    """A contrast in words.

    >>> contrast_title("edges"), contrast_title("noise_floor")
    ('head-tail level difference', 'noise floor')
    """
    return "head-tail level difference" if name == HEAD_TAIL else name.replace("_", " ")


LEVELS = ("level", "noise_floor")
"""Measures that are averaged over a half as powers."""

MARGIN_S = 0.025
LONGER_MARGINS_S = {"modulation": 0.125, "reverberance": 0.1}
"""Windows whose middle is nearer than this to the middle of the span belong to neither half.

It is half the length of a window: 50 ms or shorter for most measures. Longer ones have their own.
Windows that reach into both halves see the step of a jump, and a loud half in a silent one.
"""


class Reason(StrEnum):
    """Why a contrast cannot be measured."""

    TOO_SHORT = "span too short"
    SILENT = "silent span"
    UNVOICED = "no voiced frame"
    NOWHERE = "measurable in no window"
    FIRST_HALF = "not measurable in the first half"
    SECOND_HALF = "not measurable in the second half"
    NO_HEAD = "no head"
    NO_TAIL = "no tail"
    SILENT_HEAD = "silent head"
    SILENT_TAIL = "silent tail"


class Contrasts(NamedTuple):
    """All contrasts of a clip.

    Attributes:
        value: By name, in the measure's unit (dB for `edges`, s for `duration`); NaN where it
            cannot be measured.
        reason: Why not, for exactly those that are NaN.
    """

    value: dict[str, float]
    reason: dict[str, Reason]


def finite_mean(values: Float[np.ndarray, " n_windows"]) -> float:
    """The mean of the finite values; NaN of none.

    >>> finite_mean(np.array([1.0, np.nan, 2.0]))
    1.5
    """
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def mean_power_level(values: Float[np.ndarray, " n_windows"]) -> float:
    """Level of the mean power of windows given in dB; a silent one (NaN) has no power.

    >>> round(mean_power_level(np.array([0.0, np.nan])), 2)
    -3.01
    """
    power = np.where(np.isfinite(values), 10 ** (values / 10), 0.0)
    return float(decibels(power.mean(keepdims=True))[0])


def contrasts(clip: ClipAnalysis, names: Iterable[str] = CONTRASTS) -> Contrasts:
    """Second half minus first half of each measure; tail minus head; length of the span.

    Args:
        clip: At 8 to 96 kHz.
        names: Which of `CONTRASTS`.

    Raises:
        LookupError: No such measure.
        AudioError: Samples outside the span that are not finite.
    """
    # A value for each contrast, or the reason why it has none: from the most to the least general.
    silent = not clip.speech.any()
    duration_s = (clip.span[1] - clip.span[0]) / clip.sampling_rate
    value, reason = {}, {}
    for name in names:
        if name == DURATION:
            result: float | Reason = duration_s
        elif name == HEAD_TAIL:
            result = _head_tail(clip)
        elif silent:
            result = Reason.SILENT
        else:
            # windows near the middle lie in both halves and are left out
            margin_s = LONGER_MARGINS_S.get(name, MARGIN_S)
            result = _halves(name, clip.once(MEASURES[name]), margin_s / duration_s)
        if isinstance(result, Reason):
            value[name], reason[name] = float("nan"), result
        else:
            value[name] = result
    return Contrasts(value, reason)


def _halves(name: str, track: Track, margin: float) -> float | Reason:
    """Second minus first half of a track of a span that is not silent; `margin` in spans."""
    first, second = track.place < 0.5 - margin, track.place > 0.5 + margin
    if not first.any() or not second.any():
        return Reason.TOO_SHORT
    if not np.isfinite(track.value).any():
        return Reason.UNVOICED if name == "pitch" else Reason.NOWHERE
    summed = mean_power_level if name in LEVELS else finite_mean
    before, after = summed(track.value[first]), summed(track.value[second])
    if np.isnan(before):
        return Reason.FIRST_HALF
    return Reason.SECOND_HALF if np.isnan(after) else after - before


def _head_tail(clip: ClipAnalysis) -> float | Reason:
    head_db, tail_db = head_tail_levels(clip)
    if np.isnan(head_db):
        return Reason.SILENT_HEAD if clip.span[0] > 0 else Reason.NO_HEAD
    if np.isnan(tail_db):
        return Reason.SILENT_TAIL if clip.span[1] < clip.samples.shape[-1] else Reason.NO_TAIL
    return tail_db - head_db
