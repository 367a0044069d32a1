"""Voice vibration: amplitude modulation whose depth and rate grow together."""

import numpy as np

from otoscope.acoustics.clip import Clip
from otoscope.acoustics.gradients.base import Changed, Gradient, Profile
from otoscope.acoustics.trajectories import Trajectory

DEEPEST = {"low": 0.6, "mid": 0.75, "high": 0.9}
FASTEST_HZ = 20.0


def paper(clip: Clip, trajectory: Trajectory, tier: str, clip_id: str) -> Changed:
    """Gain 1 − depth·(1 + sin φ)/2; φ runs from the start of the file, head included."""
    key = ("swing", trajectory.curve, trajectory.start < trajectory.end)
    share, swing = clip.shared(key, lambda: _swing(clip, trajectory))
    gain = (1 - share * DEEPEST[tier] * swing).astype(np.float32)
    changed = clip.samples * gain
    start, end = clip.span
    return Changed(changed[:start], changed[start:end], changed[end:])


def _swing(clip: Clip, trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Depth as a share of the deepest, and (1 + sin φ)/2; both the same in every tier."""
    ends = (0.0, 1.0) if trajectory.start < trajectory.end else (1.0, 0.0)
    share = Trajectory(*ends, trajectory.curve).per_sample(clip.samples.size, *clip.span)
    phase = np.cumsum(2 * np.pi * FASTEST_HZ / clip.sampling_rate * share)
    phase = np.concatenate([[0.0], phase[:-1]])
    return share, 0.5 * (1 + np.sin(phase))


VOICE_VIBRATION = Gradient(
    parameter="modulation depth (rate 0 to 20 Hz alongside)",
    up_ends=lambda tier, sampling_rate, bit_depth: (0.0, DEEPEST[tier]),
    profiles={"paper": Profile(paper, per_sample=True)},
)
