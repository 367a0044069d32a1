"""Audio roughness: a bit crusher."""

import numpy as np

from otoscope.acoustics.clip import Clip
from otoscope.acoustics.gradients.base import Changed, Gradient, Profile
from otoscope.acoustics.gradients.levels import pick_levels
from otoscope.acoustics.trajectories import Trajectory

FEWEST_BITS = {"low": 8.0, "mid": 6.0, "high": 4.0}


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


def paper(clip: Clip, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Crushed segment by segment."""
    return pick_levels(clip, trajectory, bits_of, crush)


AUDIO_ROUGHNESS = Gradient(
    parameter="bit depth",
    up_ends=lambda tier, sampling_rate, bit_depth: (float(bit_depth), FEWEST_BITS[tier]),
    profiles={"paper": Profile(paper, effective=bits_of)},
)
