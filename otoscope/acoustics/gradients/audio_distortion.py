"""Audio distortion: sample and hold without anti-aliasing."""

from functools import partial

import numpy as np

from otoscope.acoustics.gradients.base import Changed, Gradient, Profile, controlled, split_at_span
from otoscope.acoustics.gradients.levels import pick_levels
from otoscope.acoustics.gradients.reasons import ADDED_SIGNAL
from otoscope.acoustics.loudness import level_gain, with_head_tail_levels
from otoscope.acoustics.measures.pcm import sample_hold
from otoscope.acoustics.source_channel import SourceChannel
from otoscope.acoustics.trajectories import Trajectory

LOWEST_HZ = {"low": 18_000.0, "mid": 12_000.0, "high": 6_000.0}
LEAST_HZ = 1_000
LEVEL_S = 0.1


def hold_of(rate_hz: float, sampling_rate: int) -> int:
    """Length of a hold in samples, at an effective rate in Hz.

    >>> [hold_of(rate, 48_000) for rate in (48e3, 30e3, 18e3, 6e3)]
    [1, 2, 3, 8]
    """
    return max(1, round(sampling_rate / effective_hz(rate_hz, sampling_rate)))


def effective_hz(rate_hz: float, sampling_rate: int) -> int:
    """An effective rate as published: a whole number from 1000 Hz to the clip's own rate."""
    return max(LEAST_HZ, min(sampling_rate, round(rate_hz)))


def held(rate_hz: float, tier: str, sampling_rate: int) -> dict[str, float]:
    """The rate, and the whole number of samples that a hold then lasts.

    >>> held(18e3, "low", 48_000)
    {'effective sampling rate (Hz)': 18000.0, 'hold (samples)': 3.0}
    """
    return {
        "effective sampling rate (Hz)": float(effective_hz(rate_hz, sampling_rate)),
        "hold (samples)": float(hold_of(rate_hz, sampling_rate)),
    }


def hold(rows: np.ndarray, n_hold: int) -> np.ndarray:
    """Every `n_hold`-th sample repeated, beginning with the first; last axis is time."""
    n = rows.shape[-1]
    return rows[..., np.arange(n) // n_hold * n_hold]


def paper(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Held segment by segment, the phase of the hold restarting with every context."""
    return pick_levels(
        channel, trajectory, partial(hold_of, sampling_rate=channel.sampling_rate), hold
    )


def any_rate(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Held at a rate that glides in octaves and need not divide the sampling rate.

    A sample is taken whenever the integrated rate passes a whole number. The level gain is held as
    well, so that held samples stay equal.
    """
    rate, n = channel.sampling_rate, channel.samples.size
    taken_hz = trajectory.at(channel.glide(trajectory.curve))
    count = np.floor(np.cumsum(taken_hz, dtype=np.float64) / rate + 0.5)
    fresh = np.diff(count, prepend=count[0] - 1) > 0
    at = np.maximum.accumulate(np.where(fresh, np.arange(n), 0))
    held = channel.samples[at]
    held *= level_gain(held, channel.samples, rate, LEVEL_S)[at]
    return split_at_span(with_head_tail_levels(channel, held), channel.span)


AUDIO_DISTORTION = Gradient(
    parameter="effective sampling rate (Hz)",
    description="The effective sampling rate of a sample-and-hold falls in an up clip, which adds "
    "spectral images of the voice, and rises in a down clip.",
    cue=sample_hold,
    intended=frozenset({"noise_floor", "bandwidth"}),
    up_ends=lambda tier, sampling_rate, bit_depth: (float(sampling_rate), LOWEST_HZ[tier]),
    profiles={
        "paper": Profile(paper, effective=hold_of, applied=held),
        "controlled": controlled(
            any_rate,
            effective=lambda value, sampling_rate: min(value, float(sampling_rate)),
            in_octaves=True,
            applied=lambda value, tier, sampling_rate: {
                "effective sampling rate (Hz)": min(value, float(sampling_rate))
            },
        ),
    },
    unavoidable=ADDED_SIGNAL,
)
