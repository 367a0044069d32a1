"""How well a listener that only measures the signal names the direction, in a build's own clips."""

from dataclasses import dataclass

import numpy as np

from builders.vocalgrad.listening import Heard, Hearing
from otoscope.acoustics.design import TIERS
from otoscope.acoustics.gradients import attribute_of
from otoscope.acoustics.observers import constant_of
from otoscope.statistics.intervals import clustered_interval


@dataclass(frozen=True)
class Rate:
    """A share with its 95 % interval, clustered by source; None where there is nothing to judge."""

    share: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.share is None or self.low is None or self.high is None:
            return "–"
        return f"{100 * self.share:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"


@dataclass(frozen=True)
class ObserverRow:
    """The slope observer in one category and tier.

    Attributes:
        n: Clips asked about; those with no effect are left out and counted in `n_no_effect`.
        n_unanswered: Clips whose cue could not be measured; they count as not correct.
        alone: From the clip by itself, minus the category's constant.
        with_source: The same measure with the source clip at hand.
    """

    category: str
    tier: str
    n: int
    n_no_effect: int
    n_unanswered: int
    alone: Rate
    with_source: Rate


@dataclass(frozen=True)
class Report:
    """All rows, and a sentence on what they rest on."""

    basis: str
    rows: tuple[ObserverRow, ...]

    @property
    def table(self) -> str:
        """The rows as a Markdown table, in per cent."""
        lines = [
            "| category | tier | clips | not measurable | clip alone | with its source |",
            "|---|---|---:|---:|---:|---:|",
        ]
        lines += [
            f"| {attribute_of(r.category)} | {r.tier} | {r.n} | {r.n_unanswered} | {r.alone} "
            f"| {r.with_source} |"
            for r in self.rows
        ]
        return "\n".join(lines)


def observe(hearing: Hearing) -> Report:
    """What the slope observer answers about a build's clips.

    The constant of a category is the median slope of the same split's unmodified sources. Without
    clips there are no rows.
    """
    if not hearing.clips:
        return Report(hearing.basis, ())
    rows = tuple(
        _row(
            [c for c in hearing.clips if (c.category, c.tier) == (name, tier)],
            name, tier, constant_of(slopes),
        )
        for name, slopes in hearing.source_slopes.items()
        for tier in TIERS
    )  # fmt: skip
    return Report(hearing.basis, rows)


def _row(clips: list[Heard], category: str, tier: str, constant: float) -> ObserverRow:
    judged = [c for c in clips if not c.no_effect]
    excess = np.array([c.slope - constant for c in judged])
    up = np.array([c.direction == "up" for c in judged], bool)
    answered = np.isfinite(excess)
    alone = answered & ((excess > 0) == up)
    named = np.array([c.named == c.direction for c in judged], bool)
    source_ids = np.array([c.source_id for c in judged], str)
    return ObserverRow(
        category,
        tier,
        len(judged),
        len(clips) - len(judged),
        int(np.sum(~answered)),
        _rate(alone, source_ids),
        _rate(named, source_ids),
    )


def _rate(correct: np.ndarray, source_ids: np.ndarray) -> Rate:
    if not correct.size:
        return Rate(None, None, None)
    return Rate(*clustered_interval(correct, source_ids))
