"""Audio roughness: a bit crusher."""

import math

import numpy as np

from otoscope.acoustics.gradients.base import Changed, Gradient, Profile, controlled, split_at_span
from otoscope.acoustics.gradients.levels import pick_levels
from otoscope.acoustics.gradients.reasons import ADDED_SIGNAL
from otoscope.acoustics.measures.pcm import quantisation_step
from otoscope.acoustics.source_channel import SourceChannel
from otoscope.acoustics.trajectories import Trajectory

FEWEST_BITS = {"low": 8.0, "mid": 6.0, "high": 4.0}
BLOCK_S = 0.0125
NOMINAL_RMS = 10 ** (-26 / 20)
"""Nominal speech level of telephony, -26 dB re full scale (ITU-T P.56 and P.830)."""


def bits_of(bits: float, sampling_rate: int = 0) -> int:
    """Whole bits, at least two.

    >>> [bits_of(bits) for bits in (16.0, 6.5, 1.2)]
    [16, 6, 2]
    """
    return max(2, round(bits))


def crush(rows: np.ndarray, n_bits: int) -> np.ndarray:
    """Samples in [-1, 1] rounded to the levels of `n_bits`, ties to even."""
    n_levels = np.float32(2 ** (n_bits - 1) - 1)
    return np.rint(np.clip(rows, -1, 1) * n_levels) / n_levels


def paper(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Crushed segment by segment."""
    return pick_levels(channel, trajectory, bits_of, crush)


def relative(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """A fractional number of bits, with steps that follow the level so that nothing is silenced.

    In every block of 12.5 ms the step is that of speech at `NOMINAL_RMS` at this bit depth, scaled
    to the block's RMS, which is restored afterwards. It never exceeds the block's peak, so no block
    becomes silent.
    """
    # step of a uniform quantiser of so many bits, relative to the level of each block
    blocks = channel.shared("blocks", lambda: Blocks(channel))
    bits = trajectory.at(channel.glide(trajectory.curve)[blocks.middle].astype(np.float64))
    step = np.minimum(blocks.rms / (NOMINAL_RMS * (2 ** (bits - 1) - 1)), blocks.peak)
    step = np.where(blocks.peak > 0, step, 1)
    each = np.repeat(step, blocks.length).astype(np.float32)
    levels = np.rint(channel.samples / each)
    # quantise, then bring each block back to its RMS: the integer levels need no scale of their own
    power = np.add.reduceat(np.square(levels, dtype=np.float64), blocks.start) / blocks.length
    gain = np.where(power > 0, blocks.rms / np.sqrt(np.where(power > 0, power, 1)), 0)
    return split_at_span(levels * np.repeat(gain, blocks.length).astype(np.float32), channel.span)


class Blocks:
    """A clip in blocks of about 12.5 ms, evenly divided in head, span and tail.

    Short enough to preserve the envelope up to about 25 Hz, the range of tremor.
    """

    def __init__(self, channel: SourceChannel) -> None:
        bounds = [0]
        for part in (channel.head, channel.speech, channel.tail):
            n_blocks = math.ceil(part.size / (BLOCK_S * channel.sampling_rate))
            ends = np.rint(np.linspace(0, part.size, n_blocks + 1)).astype(int)[1:]
            bounds.extend(bounds[-1] + ends)
        self.start = np.array(bounds[:-1])
        self.length = np.diff(bounds)
        self.middle = self.start + self.length // 2
        power = np.add.reduceat(np.square(channel.samples, dtype=np.float64), self.start)
        self.rms = np.sqrt(power / self.length)
        self.peak = np.maximum.reduceat(np.abs(channel.samples), self.start)


AUDIO_ROUGHNESS = Gradient(
    parameter="bit depth",
    description="The bit depth falls in an up clip, which adds quantisation noise, and rises in a "
    "down clip.",
    cue=quantisation_step,
    intended=frozenset({"noise_floor", "bandwidth"}),
    up_ends=lambda tier, sampling_rate, bit_depth: (float(bit_depth), FEWEST_BITS[tier]),
    profiles={
        "paper": Profile(
            paper,
            effective=bits_of,
            applied=lambda value, tier, rate: {"bit depth": float(bits_of(value, rate))},
        ),
        "controlled": controlled(relative),
    },
    unavoidable=ADDED_SIGNAL,
)
