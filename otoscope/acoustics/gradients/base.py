"""What a gradient is: where its parameter goes, and how each profile makes sound of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from otoscope.acoustics.clip import Clip
from otoscope.acoustics.codec import Encoded, round_within_scale, truncate_to_pcm
from otoscope.acoustics.trajectories import Trajectory


class Changed(NamedTuple):
    """A changed clip in three parts; only `speech` may differ in length from what it was."""

    head: np.ndarray
    speech: np.ndarray
    tail: np.ndarray


def in_three(samples: np.ndarray, span: tuple[int, int]) -> Changed:
    """A clip of unchanged length, cut at the ends of its span."""
    start, end = span
    return Changed(samples[:start], samples[start:end], samples[end:])


GROWTH = 2.0
"""How much a peak may grow where the level is kept; more is rare, and scales that clip alone."""

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
        in_octaves: Whether it moves evenly in its logarithm.
        encode: Samples to 16-bit PCM.
        most_gain: `tier` to the factor by which a peak may grow; the source is scaled down before
            if that would exceed full scale, by the same amount for all variants of a tier. None
            leaves peaks to `encode`.
        refusal: Why this clip cannot be changed, or None if it can. Cells that do nothing are
            refused as well, unless `refusal` is None.
        of_tones: Whether it can be done to a pure tone, which has no formants to keep.
    """

    render: Render
    effective: Callable[[float, int], float] = lambda value, sampling_rate: value
    per_sample: bool = False
    in_octaves: bool = False
    encode: Callable[[np.ndarray], Encoded] = truncate_to_pcm
    most_gain: Callable[[str], float] | None = None
    refusal: Callable[[Clip], str | None] | None = None
    of_tones: bool = True


def controlled(
    render: Render,
    *,
    effective: Callable[[float, int], float] = lambda value, sampling_rate: value,
    in_octaves: bool = False,
    most_gain: Callable[[str], float] = lambda tier: GROWTH,
    refusal: Callable[[Clip], str | None] = lambda clip: None,
    of_tones: bool = True,
) -> Profile:
    """The rules that every `controlled` profile shares; see `Profile`."""
    return Profile(
        render,
        effective,
        per_sample=True,
        in_octaves=in_octaves,
        encode=round_within_scale,
        most_gain=most_gain,
        refusal=refusal,
        of_tones=of_tones,
    )


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
