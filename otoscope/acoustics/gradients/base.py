"""What a gradient is: its parameter, its measures, and how each profile renders it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from otoscope.acoustics.codec import Encoded, round_within_scale, truncate_to_pcm
from otoscope.acoustics.measures.analysis import Measure
from otoscope.acoustics.measures.differences import TrackDifference, difference
from otoscope.acoustics.source_channel import SourceChannel
from otoscope.acoustics.trajectories import Trajectory


class Changed(NamedTuple):
    """A changed clip in three parts; only `speech` may differ in length from what it was."""

    head: np.ndarray
    speech: np.ndarray
    tail: np.ndarray


def split_at_span(samples: np.ndarray, span: tuple[int, int]) -> Changed:
    """A clip of unchanged length, cut at the ends of its span."""
    start, end = span
    return Changed(samples[:start], samples[start:end], samples[end:])


GROWTH = 2.0
"""Factor by which a peak may grow at constant level; more is rare, and scales that clip alone."""

Render = Callable[[SourceChannel, Trajectory, str, str], Changed]
"""`(channel, trajectory, tier, clip_id)` to a changed waveform."""


@dataclass(frozen=True)
class Profile:
    """One set of rules for a gradient.

    Attributes:
        render: Makes the waveform.
        effective: `(value, sampling_rate)` to the value that takes effect; a condition whose two
            ends are effectively equal changes nothing.
        per_sample: Whether the parameter moves with every sample, or once in 50 ms.
        in_octaves: Whether it moves evenly in its logarithm.
        encode: Samples to 16-bit PCM.
        most_gain: `tier` to the factor by which a peak may grow; the source is scaled down before
            if that would exceed full scale, by the same amount for all variants of a tier. None
            leaves peaks to `encode`.
        not_applicable: `channel` to the reason why it cannot be rendered, or None. Conditions
            without effect are rejected as well, unless `not_applicable` itself is None.
        of_tones: Whether it makes sense on a pure tone.
        seed: `clip_id` to the seed of what is random; None where nothing is.
        applied: `(value, tier, sampling_rate)` to every parameter by name, with its unit, as it is
            applied when the parameter that moves has that value. None where that is the only one,
            and is applied as it is.
        description: What moves, where the gradient's own sentence does not hold.
    """

    render: Render
    effective: Callable[[float, int], float] = lambda value, sampling_rate: value
    per_sample: bool = False
    in_octaves: bool = False
    encode: Callable[[np.ndarray], Encoded] = truncate_to_pcm
    most_gain: Callable[[str], float] | None = None
    not_applicable: Callable[[SourceChannel], str | None] | None = None
    of_tones: bool = False
    seed: Callable[[str], int] | None = None
    applied: Callable[[float, str, int], Mapping[str, float]] | None = None
    description: str = ""


controlled = partial(
    Profile,
    per_sample=True,
    encode=round_within_scale,
    most_gain=lambda tier: GROWTH,
    not_applicable=lambda channel: None,
)
"""`Profile` with the rules that every `controlled` profile shares."""


@dataclass(frozen=True)
class Gradient:
    """One acoustic factor that rises or falls.

    Attributes:
        parameter: What moves, with its unit.
        description: What moves in an `up` and a `down` clip, one sentence for a reader.
        cue: The measure that rises when the label is `increase`.
        difference: How the cue of a clip is compared with its source's.
        intended: Measures that the factor implies besides its cue: keys of `MEASURES`, `duration`,
            and `head` and `tail` for their levels.
        unavoidable: Confounds that no rendering of the factor can be free of, each with the reason.
        up_ends: `(tier, sampling_rate, bit_depth)` to the start and end values of an `up` clip.
        profiles: By name, each a set of rules.
    """

    parameter: str
    description: str
    cue: Measure
    intended: frozenset[str]
    up_ends: Callable[[str, int, int], tuple[float, float]]
    profiles: Mapping[str, Profile]
    unavoidable: Mapping[str, str] = field(default_factory=dict)
    difference: TrackDifference = difference

    def description_in(self, profile: str) -> str:
        """What moves in the clips of a profile."""
        return self.profiles[profile].description or self.description
