"""From a source clip and a cell of the design to sound."""

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int16

from otoscope.acoustics import codec
from otoscope.acoustics.clip import Clip
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.gradients.base import Profile
from otoscope.acoustics.spans import Span
from otoscope.acoustics.trajectories import CURVES, DIRECTIONS, TIERS, Trajectory, steered
from otoscope.errors import InputError
from otoscope.registry import UnknownName


class NothingChanges(InputError, ValueError):
    """A cell that would change nothing in this clip; the message says why."""


class Condition(NamedTuple):
    """One condition of the design, within a category."""

    tier: str
    curve: str
    direction: str

    def clip_id(self, item_id: str, source_clip_id: str) -> str:
        """The published id; the same in every category.

        >>> Condition("low", "linear", "up").clip_id("p226_01", "p226_106")
        'p226_01__p226_106__linear__low__up'
        """
        return "__".join([item_id, source_clip_id, self.curve, self.tier, self.direction])


CONDITIONS = tuple(Condition(*names) for names in product(TIERS, CURVES, DIRECTIONS))
"""The 24 variants of a source, in manifest order."""


class Rendering(NamedTuple):
    """A changed clip and what was done to it.

    Attributes:
        samples: Waveform, the shape of the input save for time; not clipped, not rounded. float64
            for volume and float32 else, as published.
        span: Where speech is now, in samples.
        trajectory: The parameter's start, end and curve.
        parameter_s: Times of the parameter curve, seconds of *source* time.
        parameter: Its values there.
        no_effect: This cell changes nothing at this rate (or bit depth).
        encode: How the profile makes PCM of it.
    """

    samples: Float[np.ndarray, "*shape"]
    span: Span
    trajectory: Trajectory
    parameter_s: Float[np.ndarray, " n_points"]
    parameter: Float[np.ndarray, " n_points"]
    no_effect: bool
    encode: Callable[[np.ndarray], codec.Encoded] = codec.truncate_to_pcm

    def to_pcm(self) -> codec.Encoded:
        """16-bit PCM: clipped and cut toward zero as published, or rounded and never clipped."""
        return self.encode(np.atleast_2d(self.samples))


class Source:
    """A decoded source clip and its span, ready to be rendered in any number of variants."""

    def __init__(
        self,
        samples: Float[np.ndarray, "*n_channels n_samples"] | Int16[np.ndarray, "*c n_samples"],
        sampling_rate: int,
        span: Span,
        *,
        bit_depth: int = 16,
    ) -> None:
        """Checks the input.

        Raises:
            ValueError: No samples, samples not finite, a span outside the clip or empty, a rate
                that is not positive.
        """
        if samples.ndim not in (1, 2) or samples.size == 0:
            raise ValueError(
                f"expected (n_samples,) or (n_channels, n_samples), got {samples.shape}"
            )
        if sampling_rate <= 0:
            raise ValueError(f"sampling_rate must be positive, got {sampling_rate}")
        if not 0 <= span[0] < span[1] <= samples.shape[-1]:
            raise ValueError(
                f"span {tuple(span)} is not within the clip's {samples.shape[-1]} samples"
            )
        as_float = codec.to_float(samples) if samples.dtype == np.int16 else samples
        if not np.isfinite(as_float).all():
            raise ValueError(f"{np.sum(~np.isfinite(as_float))} samples are NaN or infinite")
        self.shape, self.sampling_rate, self.span = samples.shape, sampling_rate, Span(*span)
        self.bit_depth = bit_depth
        channels = np.atleast_2d(as_float).astype(np.float32)
        self.clips = [
            Clip(
                channel,
                sampling_rate,
                self.span,
                bit_depth=bit_depth,
                channel=c,
                n_channels=len(channels),
            )
            for c, channel in enumerate(channels)
        ]

    def render(
        self, category: str, cell: Condition, *, clip_id: str, profile: str = "paper"
    ) -> Rendering:
        """One variant.

        Raises:
            LookupError: No such category, tier or curve.
            NothingChanges: The profile refuses cells that do nothing, and this one does nothing.
            ValueError: No such direction, or a profile this gradient has not.
        """
        rules = rules_of(category, profile)
        if reason := self.refusal(category, cell.tier, profile):
            raise NothingChanges(reason)
        up_ends = self._up_ends(category, cell.tier)
        trajectory = steered(*up_ends, cell.curve, cell.direction, in_octaves=rules.in_octaves)
        parts = [rules.render(clip, trajectory, cell.tier, clip_id) for clip in self.clips]
        longest = max(part.speech.size for part in parts)
        samples = np.stack(
            [np.pad(np.concatenate(part), (0, longest - part.speech.size)) for part in parts]
        )
        if rules.most_gain is not None and self.peak > 0:
            samples *= min(1.0, codec.CEILING / (self.peak * rules.most_gain(cell.tier)))
        span = Span(self.span.start, self.span.start + longest)
        ends = [rules.effective(value, self.sampling_rate) for value in up_ends]
        return Rendering(
            samples.reshape(*self.shape[:-1], samples.shape[-1]),
            span,
            trajectory,
            *self._parameter_curve(trajectory, rules.per_sample),
            no_effect=ends[0] == ends[1],
            encode=rules.encode,
        )

    def refusal(self, category: str, tier: str, profile: str) -> str | None:
        """Why the profile does not make a category's clips of one tier from this source.

        None where it does; the profile `paper` makes all.

        Raises:
            LookupError: No such category or tier.
            ValueError: A profile this gradient has not.
        """
        rules = rules_of(category, profile)
        if tier not in TIERS:
            raise UnknownName(f"no tier named {tier!r}; there are {TIERS}")
        if rules.refusal is None:
            return None
        start, end = (
            rules.effective(value, self.sampling_rate) for value in self._up_ends(category, tier)
        )
        if start == end:
            return (
                f"{category} ({tier}) does nothing at {self.sampling_rate} Hz and "
                f"{self.bit_depth} bits: its {GRADIENTS[category].parameter} stays at {start:g}"
            )
        reasons = [rules.refusal(clip) for clip in self.clips]
        return f"{category}: {reasons[0]}" if all(reasons) else None

    @cached_property
    def peak(self) -> float:
        """Largest magnitude of all channels."""
        return max(float(np.max(np.abs(clip.samples))) for clip in self.clips)

    def _up_ends(self, category: str, tier: str) -> tuple[float, float]:
        return GRADIENTS[category].up_ends(tier, self.sampling_rate, self.bit_depth)

    def _parameter_curve(
        self, trajectory: Trajectory, per_sample: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Segment starts, or every 10 ms where the parameter moves with every sample."""
        start, end = self.span
        if per_sample:
            at = np.arange(start, end, max(1, round(0.01 * self.sampling_rate)))
            values = trajectory.at(CURVES[trajectory.curve]((at - start) / max(end - start - 1, 1)))
        else:
            segments = self.clips[0].fixed.segments
            at, values = segments.start + start, trajectory.per_segment(len(segments))
        return at / self.sampling_rate, values

    def variants(
        self, category: str, item_id: str, source_clip_id: str, *, profile: str = "paper"
    ) -> Iterator[tuple[Condition, str, Rendering]]:
        """All cells of a category in manifest order, each with its clip id.

        Those that the profile refuses are passed over.
        """
        for cell in CONDITIONS:
            if self.refusal(category, cell.tier, profile):
                continue
            clip_id = cell.clip_id(item_id, source_clip_id)
            yield cell, clip_id, self.render(category, cell, clip_id=clip_id, profile=profile)


def refuses(profile: str) -> bool:
    """Whether a profile leaves out what would do nothing."""
    return any(
        profile in gradient.profiles and gradient.profiles[profile].refusal is not None
        for gradient in GRADIENTS.values()
    )


def rules_of(category: str, profile: str) -> Profile:
    """The rules of a category in a profile.

    Raises:
        LookupError: No such category.
        ValueError: A profile this gradient has not.
    """
    rules = GRADIENTS[category].profiles.get(profile)
    if rules is None:
        raise ValueError(
            f"{category} has no profile {profile!r}; there are {list(GRADIENTS[category].profiles)}"
        )
    return rules


def render(
    samples: Float[np.ndarray, "*n_channels n_samples"] | Int16[np.ndarray, "*c n_samples"],
    sampling_rate: int,
    span: tuple[int, int],
    *,
    category: str,
    tier: str,
    curve: str,
    direction: str,
    profile: str = "paper",
    clip_id: str,
    bit_depth: int = 16,
) -> Rendering:
    """One clip in which one acoustic factor rises or falls.

    Args:
        samples: Waveform in [-1, 1) or int16, `(n_samples,)` or `(n_channels, n_samples)`.
        sampling_rate: In Hz.
        span: Start and end of speech, in samples.
        category: A key of `GRADIENTS`.
        tier, curve, direction: `low`/`mid`/`high`; a key of `CURVES`; `up`/`down`.
        profile: Which rules; `paper` for the published ones.
        clip_id: Seeds whatever is random; the published id reproduces the published noise.
        bit_depth: Of the source; only 8 differs, and only in audio roughness.

    Raises:
        LookupError, ValueError: See `Source`.
    """
    source = Source(samples, sampling_rate, Span(*span), bit_depth=bit_depth)
    return source.render(
        category, Condition(tier, curve, direction), clip_id=clip_id, profile=profile
    )
