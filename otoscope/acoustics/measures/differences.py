"""How far a clip's track is from its source's, window by window.

Places are fractions of the span, so the two may differ in length: each window of the clip is
compared with the nearest one of the source. NaN where either is; no windows where either has none.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from otoscope.acoustics.measures.base import Track

TrackDifference = Callable[[Track, Track], Track]
"""`(clip, source)` to a track of the difference."""

HALF_AN_OCTAVE = 6.0


def difference(clip: Track, source: Track) -> Track:
    """A clip's track minus its source's, in the measure's unit."""
    if not len(clip.place) or not len(source.place):
        return Track(np.empty(0), np.empty(0))
    return Track(clip.place, clip.value - _nearest(clip, source))


def rise_by_added_power(clip: Track, source: Track) -> Track:
    """How far a level in dB rose, both levels floored at the mean power that was added.

    Powers add, levels do not: the same noise raises a floor of -122 dB by far more than one of
    -73 dB, so a plain difference of levels follows the source's floor. Floored at the mean of what
    was added, a source without noise of its own counts as a constant; where the source is far above
    that, nothing is audible and the result is near 0.
    """
    if not len(clip.place) or not len(source.place):
        return Track(np.empty(0), np.empty(0))
    with_noise, without = 10 ** (clip.value / 10), 10 ** (_nearest(clip, source) / 10)
    added = with_noise - without
    known = np.isfinite(added)
    floor = max(0.0, float(added[known].mean())) if known.any() else 0.0
    return Track(clip.place, 10 * np.log10((with_noise + floor) / (without + floor)))


def within_half_an_octave(clip: Track, source: Track) -> Track:
    """A difference of F0 in semitones; NaN where one of the two tracks is an octave off."""
    place, value = difference(clip, source)
    return Track(place, np.where(np.abs(value) < HALF_AN_OCTAVE, value, np.nan))


def _nearest(clip: Track, source: Track) -> Float[np.ndarray, " n_windows"]:
    between = (source.place[1:] + source.place[:-1]) / 2
    value: Float[np.ndarray, " n_windows"] = source.value[np.searchsorted(between, clip.place)]
    return value
