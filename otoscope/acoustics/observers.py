"""Observers that consist of a signal measure: how well the cue itself identifies the direction.

The *slope observer* answers from one clip, by the slope of the category's cue over the span minus
one constant per category. With the source clip as reference the same measure names the direction
almost surely, which verifies the gradient.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from otoscope.acoustics.design import PUBLISHED_CATEGORIES
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.measures import ClipAnalysis, Track
from otoscope.acoustics.measures.base import Samples
from otoscope.acoustics.spans import Span


def slope(track: Track) -> float:
    """Least-squares change of a track over the whole span, in the measure's unit.

    NaN with fewer than two measured windows: two are what a slope needs.

    >>> slope(Track(np.array([0.25, 0.5, 0.75]), np.array([1.0, np.nan, 2.0])))
    2.0
    """
    measured = np.isfinite(track.value)
    if measured.sum() < 2:
        return float("nan")
    place = track.place[measured] - track.place[measured].mean()
    return float(place @ track.value[measured] / (place @ place))


def cue_slope(samples: Samples, sampling_rate: int, span: Span, category: str) -> float:
    """How much a category's cue rises over the span; NaN when it cannot be measured.

    Raises:
        LookupError: No such category.
        AudioError: A span outside the clip or empty, samples that are not finite.
    """
    return slope(GRADIENTS[category].cue(ClipAnalysis(samples, sampling_rate, span)))


@dataclass(frozen=True)
class SlopeObserver:
    """Answers from the slope of a category's cue alone.

    Attributes:
        constants: Per category the slope of unmodified speech, which is not zero: level, F0 and
            rate decline over an utterance.
    """

    constants: Mapping[str, float]

    def answer(self, samples: Samples, sampling_rate: int, span: Span, category: str) -> str | None:
        """`increase` if the cue rises more than in unmodified speech, else `decrease`.

        None (no answer) when the cue cannot be measured.

        Raises:
            KeyError: A category without a constant.
        """
        excess = cue_slope(samples, sampling_rate, span, category) - self.constants[category]
        if np.isnan(excess):
            return None
        return "increase" if excess > 0 else "decrease"


def fit_slope_observer(
    sources: Iterable[tuple[np.ndarray, int, Span]],
    categories: Iterable[str] = PUBLISHED_CATEGORIES,
) -> SlopeObserver:
    """A slope observer whose constants are the median slopes of unmodified sources.

    A category that cannot be measured in any source gets NaN, and its clips get no answer.

    Raises:
        LookupError, AudioError: As `cue_slope`.
    """
    names = list(categories)
    slopes = np.array([[cue_slope(*source, name) for name in names] for source in sources])
    columns = slopes.reshape(-1, len(names)).T
    return SlopeObserver({n: constant_of(c) for n, c in zip(names, columns, strict=True)})


def constant_of(slopes: Sequence[float] | np.ndarray) -> float:
    """The median of those slopes of unmodified sources that could be measured; NaN of none.

    >>> constant_of([0.5, float("nan"), 0.1, 0.3])
    0.3
    """
    known = np.asarray(slopes, dtype=float)
    known = known[np.isfinite(known)]
    return float(np.median(known)) if known.size else float("nan")


def direction_with_source(clip: Track, source: Track, category: str) -> str | None:
    """`up` or `down`, from a clip's cue and its source's: the sign of their difference's slope.

    The slope of the difference rather than the difference of slopes: only windows measured in both
    count, and the source's own changes cancel window by window. None when that slope cannot be
    measured, or is exactly zero as in an unmodified clip.

    Raises:
        LookupError: No such category.
    """
    moved = slope(GRADIENTS[category].difference(clip, source))
    if np.isnan(moved) or moved == 0:
        return None
    return "up" if moved > 0 else "down"
