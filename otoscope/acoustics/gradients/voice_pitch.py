"""Voice pitch: by resampling as published, which moves formants too, or by TD-PSOLA."""

from functools import partial

import librosa
import numpy as np
import soxr

from otoscope.acoustics.gradients.base import Changed, Gradient, Profile, controlled
from otoscope.acoustics.grains import PitchMarks, pitch_marks, shift_pitch
from otoscope.acoustics.loudness import level_gain
from otoscope.acoustics.measures.differences import within_half_an_octave
from otoscope.acoustics.measures.voice import pitch
from otoscope.acoustics.segments import crossfade_length, join
from otoscope.acoustics.source_channel import SourceChannel
from otoscope.acoustics.trajectories import Trajectory
from otoscope.acoustics.vocoder import short_window

REACH_SEMITONES = {"low": 1.0, "mid": 2.0, "high": 3.0}
QUALITY = "soxr_hq"
LEVEL_S = 0.05
SHIFT_DECIMALS = 9  # a variant and its mirror image agree to the last bit only when rounded
REACH_OF_FILTER = 512  # input samples past the last output sample that the filter may read


def paper(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Segments of 50 ms; head and tail untouched.

    Setting up a resampler costs more than using it, and the mirror image of a variant (the other
    direction, the mirrored curve) needs the same ones. So both are computed and cached together.
    """
    semitones = np.round(trajectory.per_segment(len(channel.fixed.segments)), SHIFT_DECIMALS)
    cache = channel.shared("shifted", dict)
    key = tuple(semitones)
    if key not in cache:
        shifted = _shift(channel, np.stack([semitones, semitones[::-1]]))
        cache[key[::-1]], cache[key] = shifted[1], shifted[0]
    speech = join(cache[key], crossfade_length(channel.sampling_rate))
    return Changed(channel.head, speech, channel.tail)


def _shift(channel: SourceChannel, semitones: np.ndarray) -> list[list[np.ndarray]]:
    """For each row of shifts, `(n_rows, n_segments)`, all segments so shifted."""
    s, w = channel.fixed.segments, channel.fixed
    # Stretch in time with the phase vocoder, then resample back to the old length: F0 moves, the
    # duration stays. Only the part of the stretched context that the resampler reads is made.
    rates = 2.0 ** (-semitones / 12)
    first, last = s.start - s.context_start, s.end - s.context_start
    n_stretched = np.rint(s.context_length / rates).astype(int)
    needed = np.minimum((last / rates).astype(int) + REACH_OF_FILTER, n_stretched)

    def together(row: int, long: np.ndarray) -> list[np.ndarray]:
        return w.spectra.stretch(rates[row][long], np.zeros(long.sum(), int), needed[row][long])

    def alone(row: int, context: np.ndarray, i: int) -> np.ndarray:
        with short_window(context.size) as sizes:
            return librosa.effects.time_stretch(context, rate=float(rates[row, i]), **sizes)

    # one rate after another, segment by segment, as `rates.ravel()` orders them
    stretched = [
        x
        for row in range(len(rates))
        for x in w.by_length(partial(together, row), partial(alone, row))
    ]
    resampled = _resample(stretched, rates.ravel(), channel.sampling_rate, int(last.max()))
    n = len(s)
    return [
        [x[a:b] for x, a, b in zip(resampled[k : k + n], first, last, strict=True)]
        for k in range(0, len(resampled), n)
    ]


def _resample(
    stretched: list[np.ndarray], rates: np.ndarray, sampling_rate: int, n_samples: int
) -> list[np.ndarray]:
    """Each waveform read `1 / rate` times as fast, `n_samples` of it; equal rates go together."""
    out: list[np.ndarray] = [np.zeros(0, np.float32)] * len(stretched)
    # the second half of a shift: reading faster moves F0 and undoes the stretch; waveforms of one
    # rate are columns of one call
    _, group = np.unique(np.round(rates, 12), return_inverse=True)
    for g in range(group.max() + 1):
        members = np.flatnonzero(group == g)
        longest = max(stretched[i].size for i in members)
        block = np.stack(
            [np.pad(stretched[i], (0, longest - stretched[i].size)) for i in members], 1
        )
        rate = float(rates[members[0]])
        if rate != 1:
            block = soxr.resample(block, sampling_rate / rate, sampling_rate, quality=QUALITY)
        block = np.pad(block, ((0, max(0, n_samples - len(block))), (0, 0)))
        for i, column in zip(members, np.ascontiguousarray(block[:n_samples].T), strict=True):
            # as long as soxr makes it alone (rounded, at times one sample short), then zeros, as
            # in librosa's pitch_shift: in the block the filter rings on
            column[int(stretched[i].size * rate + 0.5) :] = 0
            out[i] = column
    return out


def periods(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """TD-PSOLA: the periods of voiced speech closer or further apart; formants and level stay."""
    (start, end), rate = channel.span, channel.sampling_rate
    semitones = trajectory.at(channel.glide(trajectory.curve)[start:end])
    speech = shift_pitch(channel.speech, _marks(channel), np.exp2(semitones / 12))
    speech *= level_gain(speech, channel.speech, rate, LEVEL_S)
    return Changed(channel.head, speech, channel.tail)


def _marks(channel: SourceChannel) -> PitchMarks:
    return channel.shared("marks", lambda: pitch_marks(channel.speech, channel.sampling_rate))


def unvoiced_reason(channel: SourceChannel) -> str | None:
    """Why a clip without voiced speech cannot be rendered; None for any other."""
    return None if _marks(channel).voiced.any() else "no voiced frame in the span, nothing to shift"


VOICE_PITCH = Gradient(
    parameter="shift (semitones)",
    description="F0 and formants rise in an up clip and fall in a down clip; the speaking rate is "
    "unchanged.",
    cue=pitch,
    difference=within_half_an_octave,
    intended=frozenset({"pitch"}),
    up_ends=lambda tier, sampling_rate, bit_depth: (-REACH_SEMITONES[tier], REACH_SEMITONES[tier]),
    profiles={
        "paper": Profile(paper, of_tones=True),
        "controlled": controlled(
            periods,
            not_applicable=unvoiced_reason,
            description="F0 rises in an up clip and falls in a down clip; formants, speaking rate "
            "and level are unchanged.",
        ),
    },
    unavoidable={
        "snr": "harmonics further apart leave more of the spectrum empty",
        "bandwidth": "harmonics further apart end at another frequency",
    },
)
