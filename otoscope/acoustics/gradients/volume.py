"""Volume: a gain in dB, in steps of 50 ms as published, or gliding."""

import numpy as np

from otoscope.acoustics.gradients.base import Changed, Gradient, Profile, controlled, split_at_span
from otoscope.acoustics.measures.levels import level
from otoscope.acoustics.source_channel import SourceChannel
from otoscope.acoustics.trajectories import Trajectory

REACH_DB = {"low": 6.0, "mid": 12.0, "high": 18.0}


def paper(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """In float64, as published; head and tail take the gain at their end of the span."""
    segments = channel.fixed.segments
    gain = 10 ** (trajectory.per_segment(len(segments)) / 20)
    return Changed(
        channel.head * np.float64(10 ** (trajectory.start / 20)),
        channel.speech * np.repeat(gain, segments.end - segments.start),
        channel.tail * np.float64(10 ** (trajectory.end / 20)),
    )


def gliding(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Sample by sample; head and tail are part of the cue, and take the gain of their end."""
    octaves = trajectory.at(channel.glide(trajectory.curve)) * np.float32(np.log2(10) / 20)
    return split_at_span(channel.samples * np.exp2(octaves), channel.span)


VOLUME = Gradient(
    parameter="gain (dB)",
    description="The level of the speech rises in an up clip and falls in a down clip.",
    cue=level,
    intended=frozenset({"level", "noise_floor", "head", "tail"}),
    up_ends=lambda tier, sampling_rate, bit_depth: (-REACH_DB[tier], REACH_DB[tier]),
    profiles={
        "paper": Profile(paper, of_tones=True),
        "controlled": controlled(
            gliding, most_gain=lambda tier: 10 ** (REACH_DB[tier] / 20), of_tones=True
        ),
    },
)
