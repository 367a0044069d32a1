"""Renders a source clip in a condition of the design."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int16

from otoscope.acoustics import codec
from otoscope.acoustics.design import CONDITIONS, TIERS, Condition
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.gradients.base import Profile
from otoscope.acoustics.source_channel import SourceChannel
from otoscope.acoustics.spans import Span
from otoscope.acoustics.trajectories import CURVES, Trajectory, steered
from otoscope.registry import Registry, UnknownName


class NotApplicable(codec.AudioError):
    """A condition that would change nothing in this clip; the message says why."""


class AppliedParameter(NamedTuple):
    """A parameter of a clip as it was applied, at the start and at the end of the span.

    Attributes:
        parameter: Its name, with its unit.
        start, end: Equal for one that stays the same all through the clip.
    """

    parameter: str
    start: float
    end: float


class Rendering(NamedTuple):
    """A rendered clip and its parameters.

    Attributes:
        samples: Waveform, the shape of the input save for time; not clipped, not rounded. float64
            for volume and float32 else, as published.
        span: Speech in the rendered clip, in samples.
        trajectory: The parameter's start, end and curve.
        parameter_s: Times of the parameter curve, seconds of *source* time.
        parameter: Its values there.
        no_effect: The condition changes nothing at this rate (or bit depth).
        encode: The profile's conversion to PCM.
        noise_seed: Of numpy's `default_rng`; None where nothing is random.
        applied: Every parameter of the clip; the first is that of the trajectory.
    """

    samples: Float[np.ndarray, "*shape"]
    span: Span
    trajectory: Trajectory
    parameter_s: Float[np.ndarray, " n_points"]
    parameter: Float[np.ndarray, " n_points"]
    no_effect: bool
    encode: Callable[[np.ndarray], codec.Encoded] = codec.truncate_to_pcm
    noise_seed: int | None = None
    applied: tuple[AppliedParameter, ...] = ()

    def to_pcm(self) -> codec.Encoded:
        """16-bit PCM: clipped and cut toward zero as published, or rounded and never clipped."""
        return self.encode(np.atleast_2d(self.samples))


class SourceRenderer:
    """A decoded source clip and its span, ready to be rendered in any number of conditions."""

    def __init__(
        self,
        samples: Float[np.ndarray, "*n_channels n_samples"] | Int16[np.ndarray, "*c n_samples"],
        sampling_rate: int,
        span: Span,
        *,
        bit_depth: int = 16,
    ) -> None:
        """Validates the input.

        Raises:
            AudioError: No samples, samples not finite, a span outside the clip or empty, a rate
                that is not positive.
        """
        if samples.ndim not in (1, 2) or samples.size == 0:
            raise codec.AudioError(
                f"expected (n_samples,) or (n_channels, n_samples), got {samples.shape}"
            )
        if sampling_rate <= 0:
            raise codec.AudioError(f"sampling_rate must be positive, got {sampling_rate}")
        if not 0 <= span[0] < span[1] <= samples.shape[-1]:
            raise codec.AudioError(
                f"span {tuple(span)} is not within the clip's {samples.shape[-1]} samples"
            )
        # one NaN would spread over a whole window of any filter
        as_float = codec.to_float(samples) if samples.dtype == np.int16 else samples
        if not np.isfinite(as_float).all():
            n_bad = np.sum(~np.isfinite(as_float))
            raise codec.AudioError(f"{n_bad} samples are NaN or infinite")
        self.shape, self.sampling_rate, self.span = samples.shape, sampling_rate, Span(*span)
        self.bit_depth = bit_depth
        rows = np.atleast_2d(as_float).astype(np.float32)
        self.channels = [
            SourceChannel(row, sampling_rate, self.span, index=c, n_channels=len(rows))
            for c, row in enumerate(rows)
        ]

    def render(
        self, category: str, condition: Condition, *, clip_id: str, profile: str = "paper"
    ) -> Rendering:
        """One variant.

        Raises:
            LookupError: No such category, profile, tier, curve or direction.
            NotApplicable: The profile rejects conditions without effect, and this is one.
        """
        rules = rules_of(category, profile)
        tier, curve, direction = condition
        if reason := self.not_applicable(category, tier, profile):
            raise NotApplicable(reason)
        # the trajectory in the requested direction, the same for every channel
        up_ends = self._up_ends(category, tier)
        trajectory = steered(*up_ends, curve, direction, in_octaves=rules.in_octaves)
        parts = [rules.render(channel, trajectory, tier, clip_id) for channel in self.channels]
        longest = max(part.speech.size for part in parts)
        samples = np.stack(
            [np.pad(np.concatenate(part), (0, longest - part.speech.size)) for part in parts]
        )
        # one gain for both directions of a tier, from the most that the rules amplify: nothing
        # clips, and the level does not tell the direction
        if rules.most_gain is not None and self.peak > 0:
            samples *= min(1.0, codec.CEILING / (self.peak * rules.most_gain(tier)))
        span = Span(self.span.start, self.span.start + longest)
        ends = [rules.effective(value, self.sampling_rate) for value in up_ends]
        return Rendering(
            samples.reshape(*self.shape[:-1], samples.shape[-1]),
            span,
            trajectory,
            *self._parameter_curve(trajectory, rules.per_sample),
            no_effect=ends[0] == ends[1],
            encode=rules.encode,
            noise_seed=rules.seed(clip_id) if rules.seed else None,
            applied=self._applied(category, rules, tier, trajectory),
        )

    def not_applicable(self, category: str, tier: str, profile: str) -> str | None:
        """Why the profile renders no clips of a category and tier from this source.

        None where it does; the profile `paper` renders all.

        Raises:
            LookupError: No such category, profile or tier.
        """
        rules = rules_of(category, profile)
        if tier not in TIERS:
            raise UnknownName(f"no tier named {tier!r}; there are {TIERS}")
        if rules.not_applicable is None:
            return None
        # no effect: both ends round to one value at this rate and bit depth
        start, end = (
            rules.effective(value, self.sampling_rate) for value in self._up_ends(category, tier)
        )
        if start == end:
            return (
                f"{category} ({tier}) does nothing at {self.sampling_rate} Hz and "
                f"{self.bit_depth} bits: its {GRADIENTS[category].parameter} stays at {start:g}"
            )
        reasons = [rules.not_applicable(channel) for channel in self.channels]
        return f"{category}: {reasons[0]}" if all(reasons) else None

    @cached_property
    def peak(self) -> float:
        """Largest magnitude of all channels."""
        return max(float(np.max(np.abs(channel.samples))) for channel in self.channels)

    def _up_ends(self, category: str, tier: str) -> tuple[float, float]:
        return GRADIENTS[category].up_ends(tier, self.sampling_rate, self.bit_depth)

    def _applied(
        self, category: str, rules: Profile, tier: str, trajectory: Trajectory
    ) -> tuple[AppliedParameter, ...]:
        """At the first and the last step within the span, which a short one has only one of."""
        n_samples = self.span.end - self.span.start
        n_steps = n_samples if rules.per_sample else len(self.channels[0].fixed.segments)
        reached = trajectory.per_segment(min(n_steps, 2))
        ends = [
            rules.applied(float(value), tier, self.sampling_rate)
            if rules.applied
            else {GRADIENTS[category].parameter: float(value)}
            for value in (reached[0], reached[-1])
        ]
        return tuple(
            AppliedParameter(name, float(start), float(ends[1][name]))
            for name, start in ends[0].items()
        )

    def _parameter_curve(
        self, trajectory: Trajectory, per_sample: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Segment starts, or every 10 ms where the parameter moves with every sample."""
        start, end = self.span
        if per_sample:
            at = np.arange(start, end, max(1, round(0.01 * self.sampling_rate)))
            values = trajectory.at(CURVES[trajectory.curve]((at - start) / max(end - start - 1, 1)))
        else:
            segments = self.channels[0].fixed.segments
            at, values = segments.start + start, trajectory.per_segment(len(segments))
        return at / self.sampling_rate, values

    def variants(
        self, category: str, item_id: str, source_clip_id: str, *, profile: str = "paper"
    ) -> Iterator[tuple[Condition, str, Rendering]]:
        """All published conditions of a category in manifest order, each with its clip id.

        Conditions that the profile rejects are left out.
        """
        for condition in CONDITIONS:
            if self.not_applicable(category, condition.tier, profile):
                continue
            clip_id = condition.clip_id(item_id, source_clip_id)
            made = self.render(category, condition, clip_id=clip_id, profile=profile)
            yield condition, clip_id, made


def rejects_no_effect(profile: str) -> bool:
    """Whether a profile leaves out conditions that would change nothing."""
    return any(
        profile in gradient.profiles and gradient.profiles[profile].not_applicable is not None
        for gradient in GRADIENTS.values()
    )


def rules_of(category: str, profile: str) -> Profile:
    """The rules of a category in a profile.

    Raises:
        LookupError: No such category, or a profile that this gradient has not.
    """
    return Registry(f"profile of {category}", GRADIENTS[category].profiles)[profile]


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
        LookupError, AudioError: See `SourceRenderer`.
    """
    source = SourceRenderer(samples, sampling_rate, Span(*span), bit_depth=bit_depth)
    return source.render(
        category, Condition(tier, curve, direction), clip_id=clip_id, profile=profile
    )
