"""How one parameter moves from its start to its end.

Conventions: `t` is elapsed time over the span as a fraction, 0 to 1; progress is 0 at the start
value and 1 at the end value. A direction swaps the two ends and never the curve, so a `down` clip
is not the time reverse of its `up` clip: `quad_first_flat` is flat first in both.

The published curves are closed under time reversal: the time reverse of an `up` clip is a `down`
clip along the same curve, or along the other quadratic one. So an average over all curves does not
depend on the label.

Source: VocalGrad, appendix B.2.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32

from otoscope.acoustics.design import DIRECTIONS
from otoscope.registry import Registry, UnknownName

JUMP_AT = 0.5

CURVES: Registry[Callable[[np.ndarray], np.ndarray]] = Registry(
    "curve",
    {
        "linear": lambda t: t,
        "quad_first_flat": lambda t: t * t,
        "quad_last_flat": lambda t: 1 - (1 - t) ** 2,
        "jump": lambda t: np.where(t < JUMP_AT, 0.0, 1.0),
    },
)
"""All curves that can be rendered, each from elapsed time to progress. To add one: a line here.

The published benchmark has those of `design.PUBLISHED_CURVES`, whatever is added here.
"""

RAMP_S = 0.01


class Trajectory(NamedTuple):
    """A parameter on its way from `start` to `end`, in the parameter's own unit.

    `in_octaves` says that it moves evenly in its logarithm rather than in itself.
    """

    start: float
    end: float
    curve: str
    in_octaves: bool = False

    def per_segment(self, n_segments: int) -> Float[np.ndarray, " n_segments"]:
        """One value a segment, both ends reached exactly; a lone segment takes the end value.

        >>> Trajectory(-6.0, 6.0, "linear").per_segment(5).tolist()
        [-6.0, -3.0, 0.0, 3.0, 6.0]
        """
        index = np.arange(n_segments)
        t = index / (n_segments - 1) if n_segments > 1 else np.ones(n_segments)
        return self.at(CURVES[self.curve](t))

    def at(self, progress: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Values at progress 0 to 1.

        >>> Trajectory(1.0, 16.0, "linear", in_octaves=True).at(np.array([0, 0.5, 1])).tolist()
        [1.0, 4.0, 16.0]
        """
        if self.in_octaves:
            return self.start * np.exp2(progress * math.log2(self.end / self.start))
        return self.start + (self.end - self.start) * progress

    def per_sample(self, n_samples: int, start: int, end: int) -> Float[np.ndarray, " n_samples"]:
        """One value a sample: the start value before `start`, the end value from `end` on.

        A span of at most one sample takes the end value.
        """
        values = np.full(n_samples, float(self.end))
        values[:start] = self.start
        if end - start > 1:
            t = np.linspace(0, 1, end - start)
            values[start:end] = self.at(CURVES[self.curve](t))
        return values


def glide(
    curve: str, n_samples: int, start: int, end: int, ramp: int
) -> Float32[np.ndarray, " n_samples"]:
    """Progress 0 to 1 at the middle of every sample, without steps; see `Trajectory.at`.

    A jump takes `ramp` samples around the middle of the span, as a raised cosine. In reverse this
    is one minus the glide along the mirrored curve.
    """
    t = (np.arange(n_samples) + 0.5 - start) / (end - start)
    if curve == "jump":
        way = np.clip((t - JUMP_AT) * ((end - start) / max(ramp, 1)) + 0.5, 0, 1)
        progress = 0.5 - 0.5 * np.cos(np.pi * way)
    else:
        progress = CURVES[curve](np.clip(t, 0, 1))
    return progress.astype(np.float32)


def steered(
    up_start: float, up_end: float, curve: str, direction: str, *, in_octaves: bool = False
) -> Trajectory:
    """The trajectory of a clip, given the two ends of its `up` version.

    Raises:
        LookupError: No such curve, or a direction other than `up` and `down`.
    """
    if direction not in DIRECTIONS:
        raise UnknownName(f"no direction {direction!r}; there are {DIRECTIONS}")
    ends = (up_start, up_end) if direction == "up" else (up_end, up_start)
    CURVES[curve]  # an unknown one is rejected here, not at the first sample
    return Trajectory(*ends, curve, in_octaves)
