"""Volume: a gain in dB, one step every 50 ms, with no fade between steps."""

import numpy as np

from otoscope.acoustics.clip import Clip
from otoscope.acoustics.gradients.base import Changed, Gradient, Profile
from otoscope.acoustics.trajectories import Trajectory

REACH_DB = {"low": 6.0, "mid": 12.0, "high": 18.0}


def paper(clip: Clip, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """In float64, as published; head and tail take the gain at their end of the span."""
    segments = clip.fixed.segments
    gain = 10 ** (trajectory.per_segment(len(segments)) / 20)
    return Changed(
        clip.head * np.float64(10 ** (trajectory.start / 20)),
        clip.speech * np.repeat(gain, segments.end - segments.start),
        clip.tail * np.float64(10 ** (trajectory.end / 20)),
    )


VOLUME = Gradient(
    parameter="gain (dB)",
    up_ends=lambda tier, sampling_rate, bit_depth: (-REACH_DB[tier], REACH_DB[tier]),
    profiles={"paper": Profile(paper)},
)
