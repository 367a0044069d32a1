"""What a gradient is: where its parameter goes, and how each profile makes sound of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from otoscope.acoustics.clip import Clip
from otoscope.acoustics.trajectories import Trajectory


class Changed(NamedTuple):
    """A changed clip in three parts; only `speech` may differ in length from what it was."""

    head: np.ndarray
    speech: np.ndarray
    tail: np.ndarray


Render = Callable[[Clip, Trajectory, str, str], Changed]
"""`(clip, trajectory, tier, clip_id)` to sound."""


@dataclass(frozen=True)
class Profile:
    """One set of rules for a gradient.

    Attributes:
        render: Makes the sound.
        effective: `(value, sampling_rate)` to the value that reaches the sound; a cell whose two
            ends are effectively equal does nothing.
        per_sample: Whether the parameter moves with every sample, or once in 50 ms.
    """

    render: Render
    effective: Callable[[float, int], float] = lambda value, sampling_rate: value
    per_sample: bool = False


@dataclass(frozen=True)
class Gradient:
    """One acoustic factor that rises or falls.

    Attributes:
        parameter: What moves, with its unit.
        up_ends: `(tier, sampling_rate, bit_depth)` to the start and end values of an `up` clip.
        profiles: By name, each a set of rules.
    """

    parameter: str
    up_ends: Callable[[str, int, int], tuple[float, float]]
    profiles: Mapping[str, Profile]
