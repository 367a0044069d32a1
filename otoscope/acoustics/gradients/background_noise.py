"""Background noise: white Gaussian noise whose level follows the trajectory."""

import hashlib

import numpy as np

from otoscope.acoustics.gradients.base import Changed, Gradient, Profile, controlled, split_at_span
from otoscope.acoustics.gradients.reasons import ADDS_MOVEMENT, FILLS_SPECTRUM, FILLS_VALLEYS
from otoscope.acoustics.loudness import rms
from otoscope.acoustics.measures.differences import rise_by_added_power
from otoscope.acoustics.measures.levels import noise_floor
from otoscope.acoustics.source_channel import SourceChannel
from otoscope.acoustics.trajectories import Trajectory

REACH = {"low": 0.03, "mid": 0.07, "high": 0.12}
GLOBAL_SEED = 42
FLOOR = np.float32(1e-6)
FADE_S = 0.02


def noise_seed(clip_id: str) -> int:
    """The published seed of a clip's noise, from its id.

    >>> noise_seed("p226_01__p226_106__linear__low__up")
    13343333742180067291
    """
    return int.from_bytes(hashlib.sha256(f"{GLOBAL_SEED}:{clip_id}".encode()).digest()[:8], "big")


def pair_seed(clip_id: str) -> int:
    """The seed that both directions of a pair share: that of the id without its direction."""
    return noise_seed(clip_id.rpartition("__")[0] or clip_id)


def paper(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Noise over the whole clip at unit RMS, times the RMS of the span, times the step's ratio."""
    n = channel.samples.size
    draws = np.random.default_rng(noise_seed(clip_id)).standard_normal((n, channel.n_channels))
    noise = draws[:, channel.index].astype(np.float32)
    level = channel.shared("speech level", lambda: _rms(channel.speech))
    segments = channel.fixed.segments
    ratio = np.concatenate(
        [[trajectory.start], trajectory.per_segment(len(segments)), [trajectory.end]]
    )
    lengths = [channel.head.size, *(segments.end - segments.start), channel.tail.size]
    # in place and in this order: the published bytes depend on both
    noise /= _rms(noise)
    noise *= level
    noise *= np.repeat(ratio.astype(np.float32), lengths)
    noise += channel.samples
    return split_at_span(noise, channel.span)


def _rms(x: np.ndarray) -> np.float32:
    return max(np.float32(rms(x)), FLOOR)


def shared(channel: SourceChannel, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """One realisation of noise for both directions of a pair, within the span only.

    The level of noise in head or tail would reveal the direction. So it fades in and out within the
    span, in 20 ms at either end.
    """
    seed = pair_seed(clip_id)
    noise = channel.shared(("noise", seed), lambda: _unit_noise(channel, seed))
    level = channel.shared("speech level", lambda: _rms(channel.speech))
    start, end = channel.span
    ratio = trajectory.at(channel.glide(trajectory.curve)[start:end])
    fade = channel.shared("fade", lambda: _fade(end - start, round(FADE_S * channel.sampling_rate)))
    changed = channel.samples.copy()
    changed[start:end] += noise * (ratio * (fade * level))
    return split_at_span(changed, channel.span)


def _unit_noise(channel: SourceChannel, seed: int) -> np.ndarray:
    """White noise of RMS 1 as long as the span."""
    rng = np.random.default_rng(seed)
    draws = rng.standard_normal((channel.n_channels, channel.speech.size), dtype=np.float32)
    return draws[channel.index] / _rms(draws[channel.index])


def _fade(n_samples: int, n_fade: int) -> np.ndarray:
    """1, but a raised cosine from and to 0 at either end."""
    from_edge = np.arange(n_samples) + 0.5
    from_edge = np.minimum(from_edge, from_edge[::-1])
    fade = 0.5 - 0.5 * np.cos(np.pi * np.clip(from_edge / max(n_fade, 1), 0, 1))
    return fade.astype(np.float32)


BACKGROUND_NOISE = Gradient(
    parameter="noise RMS (share of speech RMS)",
    description="White noise rises from nothing in an up clip and falls to nothing in a down clip.",
    cue=noise_floor,
    difference=rise_by_added_power,
    intended=frozenset({"noise_floor", "snr", "bandwidth"}),
    up_ends=lambda tier, sampling_rate, bit_depth: (0.0, REACH[tier]),
    profiles={
        "paper": Profile(paper, of_tones=True, seed=noise_seed),
        "controlled": controlled(shared, of_tones=True, seed=pair_seed),
    },
    unavoidable={
        "high_band_level": FILLS_SPECTRUM,
        "reverberance": FILLS_VALLEYS,
        "modulation": "noise fills the valleys of the envelope",
        "tempo": ADDS_MOVEMENT,
    },
)
