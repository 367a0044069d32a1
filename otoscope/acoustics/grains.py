"""Pitch and time changed on the waveform itself, by overlapping short grains of it.

`at_pitch` moves F0 and leaves formants and timing alone; `at_times` moves timing and leaves pitch
and formants alone. Both join grains where they fit, so nothing is smeared, and both cost a small
part of a phase vocoder.

Source: E. Moulines and F. Charpentier (1990), "Pitch-synchronous waveform processing techniques"
(PSOLA); W. Verhelst and M. Roelands (1993), "An overlap-add technique based on waveform
similarity" (WSOLA).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import ndimage

from otoscope.acoustics.measures.base import Track
from otoscope.acoustics.measures.voice import REFERENCE_HZ, pitch
from otoscope.acoustics.spans import Span

UNVOICED_S = 0.005
BRIDGE_S = 0.05  # a gap in the pitch track that is bridged
EDGE_S = 0.02  # voicing begins and ends about so much outside the track

HOP_S = 0.0125
SEARCH_S = 0.008
COARSE_HZ = 8000


class Marks(NamedTuple):
    """Where grains are centred: one a period where there is voice, one in 5 ms elsewhere.

    Attributes:
        at: Sample positions, rising.
        half: Half the length of each grain: the period, or the distance between marks.
        voiced: Whether each is in voice.
    """

    at: Int[np.ndarray, " n_marks"]
    half: Int[np.ndarray, " n_marks"]
    voiced: Bool[np.ndarray, " n_marks"]


def pitch_marks(speech: Float[np.ndarray, " n_samples"], sampling_rate: int) -> Marks:
    """Marks of a stretch of speech; successive periods are aligned by their likeness."""
    track = pitch(speech, sampling_rate, Span(0, speech.size))
    period = _periods(track, speech.size, sampling_rate)
    apart = max(1, round(UNVOICED_S * sampling_rate))
    at, half, voiced = [0], [apart], [False]
    while (here := at[-1]) < speech.size:
        p = int(period[here])
        if p == 0:
            step = apart
        elif not voiced[-1]:  # voice begins: the first mark sits on its strongest sample
            ahead = np.abs(speech[here + 1 : here + 1 + p])
            step = 1 + int(ahead.argmax()) if ahead.size else p
        else:
            step = p + _misfit(speech, here, p)
        at.append(here + max(1, step))
        half.append(p or apart)
        voiced.append(p > 0)
    return Marks(np.array(at), np.array(half), np.array(voiced))


def _periods(track: Track, n_samples: int, sampling_rate: int) -> Int[np.ndarray, " n_samples"]:
    """The period at every sample, in samples; 0 where there is no voice."""
    known = np.isfinite(track.value)
    period = np.zeros(n_samples, int)
    if not known.any():
        return period
    at, semitones = track.place[known] * n_samples, track.value[known]
    sample = np.arange(n_samples)
    after = np.searchsorted(at, sample)
    to_next = np.append(at, np.inf)[after] - sample
    to_last = sample - np.append(-np.inf, at)[after]
    edge, bridge = EDGE_S * sampling_rate, BRIDGE_S * sampling_rate
    voiced = (to_next <= edge) | (to_last <= edge) | (to_next + to_last <= bridge)
    f0 = REFERENCE_HZ * 2 ** (np.interp(sample, at, semitones) / 12)
    period[voiced] = np.rint(sampling_rate / f0[voiced])
    return period


def _misfit(speech: np.ndarray, here: int, period: int) -> int:
    """By how much the next period lies off: where it is most like this, an eighth either way."""
    reach, half = max(1, period // 8), period // 2
    first, last = here + period - half - reach, here + period + half + reach
    if here < half or last > speech.size:
        return 0
    this, following = speech[here - half : here + half], speech[first:last]
    likeness = np.correlate(following, this, mode="valid")
    return int(np.argmax(likeness)) - reach


def at_pitch(
    speech: Float[np.ndarray, " n_samples"],
    marks: Marks,
    ratio: Float[np.ndarray, " n_samples"],
) -> Float[np.ndarray, " n_samples"]:
    """Speech whose F0 is multiplied by `ratio` where there is voice; the rest stays as it is."""
    to, of = _respaced(marks, ratio)
    return _overlapped(speech, to, marks.at[of], marks.half[of], speech.size)


def _respaced(
    marks: Marks, ratio: Float[np.ndarray, " n_samples"]
) -> tuple[Int[np.ndarray, " n_grains"], Int[np.ndarray, " n_grains"]]:
    """Where grains go, and which mark each is taken from."""
    to: list[int] = []
    of: list[int] = []
    bounds = np.flatnonzero(np.diff(marks.voiced)) + 1
    for run in np.split(np.arange(len(marks.at)), bounds):
        if not marks.voiced[run[0]]:
            to.extend(marks.at[run])
            of.extend(run)
            continue
        place, last = float(marks.at[run[0]]), marks.at[run[-1]]
        middles = (marks.at[run][1:] + marks.at[run][:-1]) / 2
        while place <= last:
            k = int(run[np.searchsorted(middles, place)])
            to.append(round(place))
            of.append(k)
            place += marks.half[k] / ratio[min(int(place), ratio.size - 1)]
    return np.array(to), np.array(of)


def _overlapped(
    sound: np.ndarray, to: np.ndarray, of: np.ndarray, half: np.ndarray, n_samples: int
) -> np.ndarray:
    """Hann grains of `sound` around `of`, laid down around `to`, their windows divided out."""
    length = 2 * half - 1
    first = np.cumsum(length) - length
    offset = np.arange(length.sum()) - np.repeat(first + half - 1, length)
    source, goal = np.repeat(of, length) + offset, np.repeat(to, length) + offset
    window = 0.5 + 0.5 * np.cos(np.pi * offset / np.repeat(half, length))
    inside = (goal >= 0) & (goal < n_samples) & (source >= 0) & (source < sound.size)
    source, goal, window = source[inside], goal[inside], window[inside]
    total = np.bincount(goal, window * sound[source], n_samples)
    weight = np.bincount(goal, window, n_samples)
    return (total / np.where(weight > 1e-3, weight, 1)).astype(np.float32)


def at_times(
    samples: Float[np.ndarray, " n_samples"],
    sampling_rate: int,
    n_out: int,
    time_of: Callable[[np.ndarray], np.ndarray],
) -> Float[np.ndarray, " n_out"]:
    """`n_out` samples that run through `samples` as `time_of` says.

    Args:
        samples: Waveform; what lies around the stretch that is run through may be used.
        sampling_rate: In Hz.
        n_out: Length wanted.
        time_of: Output positions (0 to `n_out`) to input positions, in samples, rising.
    """
    n_hops = max(1, round(n_out / (HOP_S * sampling_rate)))
    to = np.rint(np.linspace(0, n_out, n_hops + 1)).astype(int)
    wanted = np.rint(time_of(to)).astype(int)
    hop = max(1, round(n_out / n_hops))
    of = _fitting(samples, sampling_rate, to.tolist(), wanted.tolist(), hop)
    return _overlapped(samples, to, np.array(of), np.full(len(to), hop), n_out)


def _fitting(
    samples: np.ndarray, sampling_rate: int, to: list[int], wanted: list[int], hop: int
) -> list[int]:
    """Near each position wanted, the one that best goes on from the grain before.

    The first and the last are where they are wanted, so that the stretch joins what is around it.
    """
    every = max(1, sampling_rate // COARSE_HZ)
    reach = max(1, round(SEARCH_S * sampling_rate / every)) * every
    margin = hop + reach + every
    padded = np.pad(samples, margin)
    coarse = ndimage.uniform_filter1d(padded, every)[::every] if every > 1 else padded
    of = wanted.copy()
    for k in range(1, len(to) - 1):
        natural = of[k - 1] + to[k] - to[k - 1]
        if abs(natural - wanted[k]) <= every:  # nothing to skip or repeat
            of[k] = natural if k < len(to) - 2 else wanted[k]
            continue
        best = (
            wanted[k]
            - reach
            + every
            * _likest(
                coarse,
                (natural + margin - hop) // every,
                (wanted[k] + margin - hop - reach) // every,
                hop // every,
                2 * reach // every + 1,
            )
        )
        if every > 1:
            best += _likest(padded, natural + margin - hop, best + margin - hop - every, hop,
                            2 * every + 1) - every  # fmt: skip
        of[k] = best
    return of


def _likest(x: np.ndarray, template: int, first: int, length: int, n_places: int) -> int:
    """Which of `n_places` stretches from `first` on is most like the one at `template`."""
    region = x[first : first + length + n_places - 1]
    likeness = np.correlate(region, x[template : template + length], mode="valid")
    energy = np.cumsum(np.pad(np.square(region, dtype=np.float64), (1, 0)))
    energy = energy[length:] - energy[:-length]
    return int(np.argmax(likeness / np.sqrt(energy + energy.max() * 1e-6 + 1e-20)))
