"""How well an observer that only measures the signal names the direction, in a build's clips."""

from dataclasses import dataclass

import numpy as np

from builders.vocalgrad.measuring.measurement import MeasuredClip, Measurement
from otoscope.acoustics.design import TIERS
from otoscope.acoustics.gradients import attribute_of
from otoscope.acoustics.observers import constant_of
from otoscope.statistics.intervals import clustered_interval


@dataclass(frozen=True)
class Rate:
    """A share with its 95 % interval, clustered by source; None where there are no clips."""

    share: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.share is None or self.low is None or self.high is None:
            return "–"
        return f"{100 * self.share:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"


NO_RATE = Rate(None, None, None)


@dataclass(frozen=True)
class TierAccuracy:
    """The slope observer's accuracy in one category and tier.

    Attributes:
        n: Clips; those with no effect are not among them and counted in `n_no_effect`.
        n_unanswered: Clips whose cue is not measurable; they count as not correct.
        alone: From the clip by itself, minus the category's constant.
        with_source: The same measure with the source clip at hand.
        alone_of_all: Share of `alone` over all clips, those with no effect too: the published
            denominator. None without clips, and in builds of 0.2.
    """

    category: str
    tier: str
    n: int
    n_no_effect: int
    n_unanswered: int
    alone: Rate
    with_source: Rate
    alone_of_all: float | None = None

    @property
    def of_all(self) -> str:
        """`alone_of_all` in per cent."""
        return "–" if self.alone_of_all is None else f"{100 * self.alone_of_all:.1f}"


@dataclass(frozen=True)
class ObserverReport:
    """All rows, and a sentence on what they rest on."""

    basis: str
    rows: tuple[TierAccuracy, ...]

    @property
    def table(self) -> str:
        """The rows as a Markdown table, in per cent."""
        lines = [
            "| category | tier | clips | not measurable | clip alone | with its source "
            "| left out: no effect | clip alone, all clips (published denominator) |",
            "|---|---|---:|---:|---:|---:|---:|---:|",
        ]
        lines += [
            f"| {attribute_of(r.category)} | {r.tier} | {r.n} | {r.n_unanswered} | {r.alone} "
            f"| {r.with_source} | {r.n_no_effect} | {r.of_all} |"
            for r in self.rows
        ]
        return "\n".join(lines)


def observer_report(measurement: Measurement) -> ObserverReport:
    """The slope observer's accuracy on a build's clips.

    The constant of a category is the median slope of the same split's unmodified sources. Without
    clips there are no rows.
    """
    if not measurement.clips:
        return ObserverReport(measurement.basis, ())
    rows = tuple(
        _tier_accuracy(
            [c for c in measurement.clips if (c.category, c.tier) == (name, tier)],
            name, tier, constant_of(slopes),
        )
        for name, slopes in measurement.source_slopes.items()
        for tier in TIERS
    )  # fmt: skip
    return ObserverReport(measurement.basis, rows)


def _tier_accuracy(
    clips: list[MeasuredClip], category: str, tier: str, constant: float
) -> TierAccuracy:
    changed = [c for c in clips if not c.no_effect]
    alone = np.array([_names_direction(c, constant) for c in changed], bool)
    measurable = np.isfinite([c.slope - constant for c in changed])
    with_source = np.array([c.direction_with_source == c.direction for c in changed], bool)
    source_ids = np.array([c.source_id for c in changed], str)
    return TierAccuracy(
        category,
        tier,
        len(changed),
        len(clips) - len(changed),
        int(np.sum(~measurable)),
        _rate(alone, source_ids),
        _rate(with_source, source_ids),
        float(np.mean([_names_direction(c, constant) for c in clips])) if clips else None,
    )


def _names_direction(clip: MeasuredClip, constant: float) -> bool:
    """Whether the sign of the slope, less the constant, is that of the clip's direction."""
    excess = clip.slope - constant
    return bool(np.isfinite(excess) and (excess > 0) == (clip.direction == "up"))


def _rate(correct: np.ndarray, source_ids: np.ndarray) -> Rate:
    return Rate(*clustered_interval(correct, source_ids)) if correct.size else NO_RATE
