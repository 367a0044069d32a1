"""Voice vibration: amplitude modulation whose depth and rate grow together."""

import numpy as np

from otoscope.acoustics.gradients.base import Changed, Gradient, Profile, controlled, split_at_span
from otoscope.acoustics.gradients.reasons import ADDS_MOVEMENT
from otoscope.acoustics.measures.envelope import modulation
from otoscope.acoustics.source_channel import SourceChannel
from otoscope.acoustics.trajectories import Trajectory

DEEPEST = {"low": 0.6, "mid": 0.75, "high": 0.9}
FASTEST_HZ = 20.0


def paper(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Gain 1 − depth·(1 + sin φ)/2; φ runs from the start of the file, head included."""
    key = ("swing", trajectory.curve, trajectory.start < trajectory.end)
    share, swing = channel.shared(key, lambda: _swing(channel, trajectory))
    gain = (1 - share * DEEPEST[tier] * swing).astype(np.float32)
    return split_at_span(channel.samples * gain, channel.span)


def _swing(channel: SourceChannel, trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Depth as a share of the deepest, and (1 + sin φ)/2; both the same in every tier."""
    ends = (0.0, 1.0) if trajectory.start < trajectory.end else (1.0, 0.0)
    share = Trajectory(*ends, trajectory.curve).per_sample(channel.samples.size, *channel.span)
    phase = np.cumsum(2 * np.pi * FASTEST_HZ / channel.sampling_rate * share)
    phase = np.concatenate([[0.0], phase[:-1]])
    return share, 0.5 * (1 + np.sin(phase))


def level(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """The same tremor divided by its own RMS over a cycle, so that the level stays.

    φ is 0 in the middle of the span and the tremor an even function of it, so that the modulation
    of the other direction along the mirrored curve is exactly the time reverse.
    """
    key = ("tremor", trajectory.curve, trajectory.start < trajectory.end)
    share, cosine = channel.shared(key, lambda: _tremor(channel, trajectory))
    depth = share * np.float32(DEEPEST[tier])
    gain = (1 - depth * (0.5 + 0.5 * cosine)) / np.sqrt((1 - depth / 2) ** 2 + depth**2 / 8)
    return split_at_span(channel.samples * gain, channel.span)


def most_gain(tier: str) -> float:
    """Peak of the tremor over its RMS, at the deepest: 1 / √((1 − d/2)² + d²/8)."""
    depth = DEEPEST[tier]
    return float(1 / np.sqrt((1 - depth / 2) ** 2 + depth**2 / 8))


def _tremor(channel: SourceChannel, trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Depth as a share of the deepest, and cos φ; both the same in every tier."""
    ends = (0.0, 1.0) if trajectory.start < trajectory.end else (1.0, 0.0)
    (start, end), rate = channel.span, channel.sampling_rate
    share = Trajectory(*ends, trajectory.curve).at(channel.glide(trajectory.curve))
    # phase as the integral of the rate, counted from the middle of the span
    cycles = np.cumsum(share, dtype=np.float64) - share / 2  # up to the middle of each sample
    middle = np.interp((start + end) / 2, np.arange(share.size) + 0.5, cycles)
    phase = 2 * np.pi * FASTEST_HZ / rate * (cycles - middle)
    return share, np.cos(phase).astype(np.float32)


def applied(depth: float, tier: str, sampling_rate: int) -> dict[str, float]:
    """Depth, and the rate of the modulation, which grows with it.

    >>> applied(0.3, "low", 48_000)
    {'modulation depth': 0.3, 'modulation rate (Hz)': 10.0}
    """
    return {"modulation depth": depth, "modulation rate (Hz)": FASTEST_HZ * depth / DEEPEST[tier]}


VOICE_VIBRATION = Gradient(
    parameter="modulation depth (rate 0 to 20 Hz alongside)",
    description="Amplitude modulation gets deeper and faster in an up clip, shallower and slower "
    "in a down clip.",
    cue=modulation,
    intended=frozenset({"modulation"}),
    up_ends=lambda tier, sampling_rate, bit_depth: (0.0, DEEPEST[tier]),
    profiles={
        "paper": Profile(paper, per_sample=True, of_tones=True, applied=applied),
        "controlled": controlled(
            level,
            most_gain=most_gain,
            of_tones=True,
            applied=applied,
            description="Amplitude modulation gets deeper and faster in an up clip, shallower and "
            "slower in a down clip; the level over a cycle is unchanged.",
        ),
    },
    unavoidable={
        "reverberance": "amplitude modulation digs valleys into the envelope",
        "bandwidth": "in a window of varying level the spectrum of the loudest moments dominates",
        "tempo": ADDS_MOVEMENT,
    },
)
