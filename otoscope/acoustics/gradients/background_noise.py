"""Background noise: white Gaussian noise whose level follows the trajectory."""

import hashlib

import numpy as np

from otoscope.acoustics.clip import Clip
from otoscope.acoustics.gradients.base import Changed, Gradient, Profile
from otoscope.acoustics.trajectories import Trajectory

REACH = {"low": 0.03, "mid": 0.07, "high": 0.12}
GLOBAL_SEED = 42
FLOOR = np.float32(1e-6)


def noise_seed(clip_id: str) -> int:
    """The published seed of a clip's noise, from its id.

    >>> noise_seed("p226_01__p226_106__linear__low__up")
    13343333742180067291
    """
    return int.from_bytes(hashlib.sha256(f"{GLOBAL_SEED}:{clip_id}".encode()).digest()[:8], "big")


def paper(clip: Clip, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Noise of the whole clip at unit RMS, times the RMS of the span, times the step's ratio."""
    n = clip.samples.size
    draws = np.random.default_rng(noise_seed(clip_id)).standard_normal((n, clip.n_channels))
    noise = draws[:, clip.channel].astype(np.float32)
    level = clip.shared("speech level", lambda: _rms(clip.speech))
    segments = clip.fixed.segments
    ratio = np.concatenate(
        [[trajectory.start], trajectory.per_segment(len(segments)), [trajectory.end]]
    )
    lengths = [clip.head.size, *(segments.end - segments.start), clip.tail.size]
    noise /= _rms(noise)
    noise *= level
    noise *= np.repeat(ratio.astype(np.float32), lengths)
    noise += clip.samples
    start, end = clip.span
    return Changed(noise[:start], noise[start:end], noise[end:])


def _rms(x: np.ndarray) -> np.float32:
    energy = np.einsum("i,i->", x, x, dtype=np.float64)
    return max(np.float32(np.sqrt(energy / max(x.size, 1))), FLOOR)


BACKGROUND_NOISE = Gradient(
    parameter="noise RMS (share of speech RMS)",
    up_ends=lambda tier, sampling_rate, bit_depth: (0.0, REACH[tier]),
    profiles={"paper": Profile(paper)},
)
