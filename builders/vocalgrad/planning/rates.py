"""What changes with sources of less than the 48 kHz for which the strengths were chosen.

Source: VocalGrad, appendix B.3 (`docs/papers.md`).
"""

from collections import Counter
from typing import NamedTuple

from builders.vocalgrad.planning.plan import SurveyedClip, VocalGradPlan
from otoscope.acoustics.design import CONDITIONS, TIERS
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.vocoder import N_FFT

PUBLISHED_HZ = 48_000


class IdleConditions(NamedTuple):
    """Conditions of one category with an effect at 48 kHz and none at the sources' rates."""

    category: str
    n_conditions: int
    n_all: int
    tiers: tuple[str, ...]


class LowRates(NamedTuple):
    """How a build differs from one of 48 kHz sources.

    Attributes:
        counts: Sources by sampling rate in Hz, those under 48 kHz only.
        n_sources: All sources.
        idle: Conditions without effect.
        other_ends: Categories whose parameter starts or ends elsewhere.
        window_ms: How long the published analysis window lasts at the lowest rate.
    """

    counts: dict[int, int]
    n_sources: int
    idle: tuple[IdleConditions, ...]
    other_ends: tuple[str, ...]
    window_ms: float


def low_rates(plan: VocalGradPlan) -> LowRates | None:
    """What the sources' sampling rates change; None if all have 48 kHz or more."""
    low = [s for s in plan.sources if s.sampling_rate < PUBLISHED_HZ]
    if not low:
        return None
    return LowRates(
        dict(sorted(Counter(s.sampling_rate for s in low).items())),
        len(plan.sources),
        tuple(idle for name in plan.categories if (idle := _idle(plan, low, name)).n_conditions),
        tuple(name for name in plan.categories if any(_other_ends(name, s) for s in low)),
        1000 * N_FFT / min(s.sampling_rate for s in low),
    )


def _idle(plan: VocalGradPlan, low: list[SurveyedClip], name: str) -> IdleConditions:
    tiers = [
        tier
        for s in low
        for tier in TIERS
        if _does_nothing(plan.profile, name, tier, s.sampling_rate, s.bit_depth)
        and not _does_nothing(plan.profile, name, tier, PUBLISHED_HZ, s.bit_depth)
    ]
    return IdleConditions(
        name,
        len(tiers) * len(CONDITIONS) // len(TIERS),
        len(plan.sources) * len(CONDITIONS),
        tuple(tier for tier in TIERS if tier in tiers),
    )


def _does_nothing(profile: str, name: str, tier: str, sampling_rate: int, bit_depth: int) -> bool:
    gradient = GRADIENTS[name]
    rules = gradient.profiles[profile]
    start, end = (
        rules.effective(value, sampling_rate)
        for value in gradient.up_ends(tier, sampling_rate, bit_depth)
    )
    return start == end


def _other_ends(name: str, s: SurveyedClip) -> bool:
    up_ends = GRADIENTS[name].up_ends
    return any(
        up_ends(tier, s.sampling_rate, s.bit_depth) != up_ends(tier, PUBLISHED_HZ, s.bit_depth)
        for tier in TIERS
    )
