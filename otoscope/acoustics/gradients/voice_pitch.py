"""Voice pitch: each segment stretched, then resampled back to its length; formants move along."""

import librosa
import numpy as np
import soxr

from otoscope.acoustics.clip import Clip
from otoscope.acoustics.gradients.base import Changed, Gradient
from otoscope.acoustics.segments import crossfade_length, join
from otoscope.acoustics.trajectories import Trajectory
from otoscope.acoustics.vocoder import short_window

REACH_SEMITONES = {"low": 1.0, "mid": 2.0, "high": 3.0}
QUALITY = "soxr_hq"
REACH_OF_FILTER = 512  # input samples past the last one wanted that still reach it; generous


def paper(clip: Clip, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Segments of 50 ms; head and tail untouched."""
    s = clip.fixed.segments
    semitones = trajectory.per_segment(len(s))
    rates = 2.0 ** (-semitones / 12)
    first, last = s.start - s.context_start, s.end - s.context_start
    n_stretched = np.rint(s.context_length / rates).astype(int)
    needed = np.minimum((last / rates).astype(int) + REACH_OF_FILTER, n_stretched)

    def together(long: np.ndarray) -> list[np.ndarray]:
        stretched = clip.fixed.spectra.stretch(rates[long], np.zeros_like(needed[long]), needed[long])
        return [
            _resampled(x, rate, clip.sampling_rate, b)[a:b]
            for x, rate, a, b in zip(stretched, rates[long], first[long], last[long], strict=True)
        ]

    def alone(context: np.ndarray, i: int) -> np.ndarray:
        with short_window(context.size) as sizes:
            shifted = librosa.effects.pitch_shift(
                context, sr=clip.sampling_rate, n_steps=float(semitones[i]), res_type=QUALITY, **sizes
            )
        return shifted[first[i] : last[i]]

    pieces = clip.fixed.by_length(together, alone)
    return Changed(clip.head, join(pieces, crossfade_length(clip.sampling_rate)), clip.tail)


def _resampled(stretched: np.ndarray, rate: float, sampling_rate: int, n: int) -> np.ndarray:
    """At least `n` samples of `stretched`, read `1 / rate` times as fast."""
    if rate == 1:
        return stretched
    shifted = soxr.resample(stretched, sampling_rate / rate, sampling_rate, quality=QUALITY)
    return np.pad(shifted, (0, max(0, n - shifted.size)))


VOICE_PITCH = Gradient(
    parameter="shift (semitones)",
    up_ends=lambda tier, sampling_rate, bit_depth: (-REACH_SEMITONES[tier], REACH_SEMITONES[tier]),
    profiles={"paper": paper},
)
