"""How well a listener that only measures the signal names the direction, in a build's own clips."""

from dataclasses import dataclass

from otoscope.acoustics.gradients import attribute_of


@dataclass(frozen=True)
class Rate:
    """A share with its 95 % interval, clustered by source; None where there is nothing to judge."""

    share: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.share is None:
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
