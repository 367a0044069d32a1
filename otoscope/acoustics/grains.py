"""Pitch and time modification in the time domain, by overlap-add of short grains.

`shift_pitch` (TD-PSOLA) moves F0 and keeps formants and timing; `stretch_time` (WSOLA) moves timing
and keeps F0 and formants. Neither smears transients, and both cost a fraction of a phase vocoder.

Source: E. Moulines and F. Charpentier (1990), "Pitch-synchronous waveform processing techniques"
(PSOLA); W. Verhelst and M. Roelands (1993), "An overlap-add technique based on waveform
similarity" (WSOLA).
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import ndimage

from otoscope.acoustics.measures.analysis import ClipAnalysis
from otoscope.acoustics.measures.base import Track
from otoscope.acoustics.measures.voice import REFERENCE_HZ, pitch
from otoscope.acoustics.spans import Span

UNVOICED_S = 0.005
BRIDGE_S = 0.05  # longest gap in the pitch track that is interpolated
ONSET_S = 0.02  # voicing begins and ends about this far outside the track

HOP_S = 0.0125
SEARCH_S = 0.008
COARSE_HZ = 8000


class PitchMarks(NamedTuple):
    """Centres of the grains: one a period in voiced speech, one every 5 ms elsewhere.

    Attributes:
        at: Sample positions, rising.
        half: Half the length of each grain: the period, or the distance between marks.
        voiced: Whether each is in voiced speech.
    """

    at: Int[np.ndarray, " n_marks"]
    half: Int[np.ndarray, " n_marks"]
    voiced: Bool[np.ndarray, " n_marks"]


def pitch_marks(speech: Float[np.ndarray, " n_samples"], sampling_rate: int) -> PitchMarks:
    """Pitch marks of speech; successive periods are aligned by cross-correlation."""
    # TD-PSOLA, analysis: one mark a period, so that a grain of two periods holds one glottal pulse
    track = pitch(ClipAnalysis(speech, sampling_rate, Span(0, speech.size)))
    period = _periods(track, speech.size, sampling_rate)
    apart = max(1, round(UNVOICED_S * sampling_rate))
    at, half, voiced = [0], [apart], [False]
    while (here := at[-1]) < speech.size:
        p = int(period[here])
        if p == 0:
            step = apart
        elif not voiced[-1]:  # onset: the first mark is the strongest sample of the period
            ahead = np.abs(speech[here + 1 : here + 1 + p])
            step = 1 + int(ahead.argmax()) if ahead.size else p
        else:
            step = p + _period_correction(speech, here, p)
        at.append(here + max(1, step))
        half.append(p or apart)
        voiced.append(p > 0)
    return PitchMarks(np.array(at), np.array(half), np.array(voiced))


def _periods(track: Track, n_samples: int, sampling_rate: int) -> Int[np.ndarray, " n_samples"]:
    """The period at every sample, in samples; 0 where unvoiced."""
    known = np.isfinite(track.value)
    period = np.zeros(n_samples, int)
    if not known.any():
        return period
    # The track has a value every 10 ms: voicing extends a little beyond it and across short gaps,
    # and F0 is interpolated in semitones between its values.
    at, semitones = track.place[known] * n_samples, track.value[known]
    sample = np.arange(n_samples)
    after = np.searchsorted(at, sample)
    to_next = np.append(at, np.inf)[after] - sample
    to_last = sample - np.append(-np.inf, at)[after]
    onset, bridge = ONSET_S * sampling_rate, BRIDGE_S * sampling_rate
    voiced = (to_next <= onset) | (to_last <= onset) | (to_next + to_last <= bridge)
    f0 = REFERENCE_HZ * 2 ** (np.interp(sample, at, semitones) / 12)
    period[voiced] = np.rint(sampling_rate / f0[voiced])
    return period


def _period_correction(speech: np.ndarray, here: int, period: int) -> int:
    """Offset of the next mark, within an eighth of a period, at the peak of the correlation."""
    reach, half = max(1, period // 8), period // 2
    first, last = here + period - half - reach, here + period + half + reach
    if here < half or last > speech.size:
        return 0
    # two periods around this mark against two around each candidate for the next
    this, following = speech[here - half : here + half], speech[first:last]
    similarity = np.correlate(following, this, mode="valid")
    return int(np.argmax(similarity)) - reach


def shift_pitch(
    speech: Float[np.ndarray, " n_samples"],
    marks: PitchMarks,
    ratio: Float[np.ndarray, " n_samples"],
) -> Float[np.ndarray, " n_samples"]:
    """Speech whose F0 is multiplied by `ratio` where voiced; unvoiced speech is unchanged.

    The grains themselves are not resampled, so the spectral envelope (formants) stays.
    """
    to, of = _respaced(marks, ratio)
    return _overlap_add(speech, to, marks.at[of].tolist(), marks.half[of].tolist(), speech.size)


def _respaced(
    marks: PitchMarks, ratio: Float[np.ndarray, " n_samples"]
) -> tuple[list[int], list[int]]:
    """Output position of each grain, and the index of the mark it is taken from."""
    to: list[int] = []
    of: list[int] = []
    # TD-PSOLA, synthesis: in each voiced run the marks are laid out anew, a shifted period apart,
    # and each takes the nearest analysis grain, so that grains repeat or drop out as F0 moves
    bounds = np.flatnonzero(np.diff(marks.voiced)) + 1
    for run in np.split(np.arange(len(marks.at)), bounds):
        if not marks.voiced[run[0]]:
            to.extend(marks.at[run].tolist())
            of.extend(run.tolist())
            continue
        place, after = float(marks.at[run[0]]), int(run[-1]) + 1
        goes_on = marks.at[after] if after < len(marks.at) else marks.at[-1] + 1
        middles = (marks.at[run][1:] + marks.at[run][:-1]) / 2
        while place < goes_on:  # up to the next run, past the last mark, to leave no gap
            k = int(run[np.searchsorted(middles, place)])
            to.append(round(place))
            of.append(k)
            place += marks.half[k] / ratio[min(int(place), ratio.size - 1)]
    return to, of


def _overlap_add(
    samples: np.ndarray, to: Sequence[int], of: Sequence[int], half: Sequence[int], n_samples: int
) -> np.ndarray:
    """Hann-windowed grains around `of`, added around `to`, the summed windows divided out."""
    reach = 2 * max(half)  # a grain may be centred half its length outside
    total, weight = np.zeros((2, n_samples + 2 * reach), np.float32)
    padded = np.pad(samples, reach)
    for place, origin, h in zip(to, of, half, strict=True):
        window = _hann(h)
        goal = slice(place + reach - h + 1, place + reach + h)
        total[goal] += padded[origin + reach - h + 1 : origin + reach + h] * window
        weight[goal] += window
    inside = slice(reach, reach + n_samples)
    return total[inside] / np.where(weight[inside] > 1e-3, weight[inside], 1)


@lru_cache(maxsize=4096)
def _hann(half: int) -> np.ndarray:
    """A Hann window of `2·half − 1` samples, 1 in the middle."""
    return (0.5 + 0.5 * np.cos(np.pi * np.arange(1 - half, half) / half)).astype(np.float32)


class SimilaritySearch:
    """A waveform in which to find the segment that best continues another (WSOLA).

    Searched at about 8 kHz first, then sample by sample around the best match.
    """

    def __init__(self, samples: Float[np.ndarray, " n_samples"], sampling_rate: int) -> None:
        self.samples, self.sampling_rate = samples, sampling_rate
        self.every = max(1, sampling_rate // COARSE_HZ)
        self.reach = max(1, round(SEARCH_S * sampling_rate / self.every)) * self.every
        # zeros on either side, so that a search near the ends needs no special case; the energies
        # are cumulative, so that the power of any candidate is one subtraction
        self.margin = 2 * (round(HOP_S * sampling_rate) + self.reach + self.every)
        fine = np.pad(samples, self.margin)
        self.fine, self.fine_energy = fine, _energy(fine)
        coarse = fine
        if self.every > 1:
            coarse = np.ascontiguousarray(ndimage.uniform_filter1d(fine, self.every)[:: self.every])
        self.coarse, self.coarse_energy = coarse, _energy(coarse)

    def best_match(self, natural: int, wanted: int, length: int) -> int:
        """Position near `wanted` whose past `length` samples best match those of `natural`."""
        every, reach, offset = self.every, self.reach, self.margin - length
        # WSOLA, the search: candidates within `reach` of the position wanted, first decimated
        first = wanted - reach
        best = first + every * _most_similar(
            self.coarse,
            self.coarse_energy,
            (natural + offset) // every,
            (first + offset) // every,
            length // every,
            2 * reach // every + 1,
        )
        if every == 1:
            return best
        # then sample by sample, within one coarse step of that candidate
        around = best - every
        return around + _most_similar(
            self.fine, self.fine_energy, natural + offset, around + offset, length, 2 * every + 1
        )


def stretch_time(
    waveform: SimilaritySearch, n_out: int, time_of: Callable[[np.ndarray], np.ndarray]
) -> Float[np.ndarray, " n_out"]:
    """`n_out` samples of a waveform along the time map `time_of`.

    Args:
        waveform: Samples outside the mapped range may be used as well.
        n_out: Length of the output.
        time_of: Output positions (0 to `n_out`) to input positions, in samples, rising.
    """
    # WSOLA: evenly spaced output grains, each taken near the input position that the map asks for
    n_hops = max(1, round(n_out / (HOP_S * waveform.sampling_rate)))
    to = np.rint(np.linspace(0, n_out, n_hops + 1)).astype(int)
    wanted = np.rint(time_of(to)).astype(int)
    hop = max(1, round(n_out / n_hops))
    of = _source_positions(waveform, to.tolist(), wanted.tolist(), hop)
    return _overlap_add(waveform.samples, to.tolist(), of, [hop] * len(of), n_out)


def _source_positions(
    waveform: SimilaritySearch, to: list[int], wanted: list[int], hop: int
) -> list[int]:
    """Near each position wanted, the one that best continues the previous grain.

    The first and last are exact, so that the output joins its surroundings without a step.
    """
    of = wanted.copy()
    for k in range(1, len(to) - 1):
        natural = of[k - 1] + to[k] - to[k - 1]  # the unmodified continuation
        if abs(natural - wanted[k]) > waveform.every:  # else there is nothing to skip or repeat
            of[k] = waveform.best_match(natural, wanted[k], hop)
        elif k < len(to) - 2:
            of[k] = natural
    return of


def _energy(x: np.ndarray) -> np.ndarray:
    """Cumulative energy: of no sample, of the first, up to that of all."""
    return np.concatenate([[0.0], np.cumsum(np.square(x, dtype=np.float64))])


def _most_similar(
    x: np.ndarray, energy: np.ndarray, template: int, first: int, length: int, n_places: int
) -> int:
    """Which of `n_places` segments from `first` on is most like the one at `template`.

    By cross-correlation, normalised by the energy of the candidate.
    """
    region = x[first : first + length + n_places - 1]
    similarity = np.correlate(region, x[template : template + length], mode="valid")
    bounds = energy[first : first + length + n_places]
    power = bounds[length:] - bounds[:-length]
    return int(np.argmax(similarity / np.sqrt(power + power.max() * 1e-6 + 1e-20)))
