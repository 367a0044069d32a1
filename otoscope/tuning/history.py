"""What happens in a training: losses, gradient norms and validations, stored in checkpoints."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from otoscope.statistics.intervals import Interval


class ValidationResult(NamedTuple):
    """Scores of the validation clips after some steps.

    Attributes:
        generated: Share whose right answer greedy decoding generates, with its interval by source.
        preferred: Share whose right answer is more likely than the others.
    """

    step: int
    n_clips: int
    n_sources: int
    loss: float
    generated: Interval
    preferred: Interval

    def plain(self) -> dict[str, Any]:
        """Ready for JSON; `generated` is stored as `said`."""
        stored = self._asdict()
        generated, preferred = list(stored.pop("generated")), list(stored.pop("preferred"))
        return stored | {"said": generated, "preferred": preferred}

    @classmethod
    def from_plain(cls, stored: dict[str, Any]) -> "ValidationResult":
        """The inverse of `plain`."""
        rest = {name: value for name, value in stored.items() if name not in ("said", "preferred")}
        generated, preferred = Interval(*stored["said"]), Interval(*stored["preferred"])
        return cls(**rest, generated=generated, preferred=preferred)


@dataclass
class TrainingHistory:
    """Mean loss and gradient norm of each step, and validations."""

    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    validations: list[ValidationResult] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """Ready for JSON."""
        validations = [v.plain() for v in self.validations]
        return {"losses": self.losses, "norms": self.norms, "validations": validations}

    @classmethod
    def from_plain(cls, stored: Any) -> "TrainingHistory":
        """The inverse of `plain`."""
        validations = [ValidationResult.from_plain(v) for v in stored["validations"]]
        return cls(list(stored["losses"]), list(stored["norms"]), validations)

    def summary(self) -> str:
        """Validation before and after training, in one line."""
        first, last = self.validations[0], self.validations[-1]
        return (
            f"the right answer is the most likely one for {percent(first.generated)} before and "
            f"{percent(last.generated)} after, of {last.n_clips:,} clips of {last.n_sources:,} "
            "sources"
        )


def percent(share: Interval) -> str:
    """A share and its interval.

    >>> percent(Interval(0.5, 0.4, 0.625))
    '50.0 % [40.0, 62.5]'
    """
    low, high = 100 * share.low, 100 * share.high
    return f"{100 * share.estimate:.1f} % [{low:.1f}, {high:.1f}]"
