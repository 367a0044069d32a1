"""Speaking speed: each segment stretched in time by a phase vocoder; head and tail untouched."""

import librosa
import numpy as np

from otoscope.acoustics.clip import Clip
from otoscope.acoustics.gradients.base import Changed, Gradient, Profile
from otoscope.acoustics.segments import crossfade_length, join
from otoscope.acoustics.trajectories import Trajectory
from otoscope.acoustics.vocoder import short_window

REACH = {"low": 0.20, "mid": 0.30, "high": 0.40}


def paper(clip: Clip, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Even segments, each cut out of its stretched context by rounding its bounds down."""
    s = clip.even.segments
    rates = trajectory.per_segment(len(s))
    n_stretched = np.rint(s.context_length / rates).astype(int)
    first = np.minimum(((s.start - s.context_start) / rates).astype(int), n_stretched - 1)
    last = np.minimum(((s.end - s.context_start) / rates).astype(int), n_stretched)
    last = np.maximum(last, first + 1)

    def alone(context: np.ndarray, i: int) -> np.ndarray:
        with short_window(context.size) as sizes:
            stretched = librosa.effects.time_stretch(context, rate=float(rates[i]), **sizes)
        return stretched[first[i] : last[i]]

    pieces = clip.even.by_length(
        lambda long: clip.even.spectra.stretch(rates[long], first[long], last[long]), alone
    )
    return Changed(clip.head, join(pieces, crossfade_length(clip.sampling_rate)), clip.tail)


SPEAKING_SPEED = Gradient(
    parameter="rate (1 = unchanged)",
    up_ends=lambda tier, sampling_rate, bit_depth: (1 - REACH[tier], 1 + REACH[tier]),
    profiles={"paper": Profile(paper)},
)
