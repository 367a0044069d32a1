"""Calibration of probabilities of being correct."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from otoscope.errors import InvalidValue

N_BINS = 15


class Calibration(NamedTuple):
    """How far probabilities agree with what happened.

    Attributes:
        n: Number of items.
        base_rate: Share of correct items.
        ece: Expected calibration error: mean distance of a bin's share from its mean probability.
        brier: Mean squared distance of probability and outcome.
        brier_skill: 1 - brier over the Brier score of always giving the reference rate; below 0 it
            is worse than that. NaN where the reference is perfect.
    """

    n: int
    base_rate: float
    ece: float
    brier: float
    brier_skill: float


class ReliabilityBin(NamedTuple):
    """One bin of a reliability table; means are NaN where it is empty."""

    low: float
    high: float
    n: int
    mean_probability: float
    share_correct: float


def calibration(
    probabilities: Float[np.ndarray, " n_items"],
    correct: Bool[np.ndarray, " n_outcomes"],
    *,
    reference_rate: float | None = None,
    n_bins: int = N_BINS,
) -> Calibration:
    """Calibration error and Brier score; all NaN without items.

    Args:
        probabilities: Of being correct, 0 to 1.
        reference_rate: Rate that the skill compares with, such as the share on development data;
            by default the share of these items.

    Raises:
        InvalidValue: Lengths differ, or a probability is NaN or outside [0, 1].

    Source: M. P. Naeini et al. (2015), AAAI, for ECE; G. W. Brier (1950),
    https://doi.org/10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2
    """
    bins = reliability(probabilities, correct, n_bins=n_bins)
    n = len(probabilities)
    if n == 0:
        return Calibration(0, *[float("nan")] * 4)
    filled = [b for b in bins if b.n]
    ece = sum(b.n * abs(b.share_correct - b.mean_probability) for b in filled) / n
    brier = float(np.mean((probabilities - correct) ** 2))
    base_rate = float(np.mean(correct))
    rate = base_rate if reference_rate is None else reference_rate
    reference = float(np.mean((rate - correct) ** 2))
    skill = 1 - brier / reference if reference > 0 else float("nan")
    return Calibration(n, base_rate, float(ece), brier, skill)


def reliability(
    probabilities: Float[np.ndarray, " n_items"],
    correct: Bool[np.ndarray, " n_outcomes"],
    *,
    n_bins: int = N_BINS,
) -> list[ReliabilityBin]:
    """Bins of equal width over 0 to 1, each with its low end; the last has 1 too.

    Raises:
        InvalidValue: Lengths differ, or a probability is NaN or outside [0, 1].
    """
    if len(probabilities) != len(correct):
        raise InvalidValue(f"{len(probabilities)} probabilities for {len(correct)} items")
    wrong = np.flatnonzero(~((probabilities >= 0) & (probabilities <= 1)))
    if wrong.size:
        raise InvalidValue(
            f"probability {wrong[0]} is {probabilities[wrong[0]]}; it must lie between 0 and 1"
        )
    edges = np.arange(n_bins + 1) / n_bins
    member = np.clip(np.searchsorted(edges, probabilities, side="right") - 1, 0, n_bins - 1)
    n = np.bincount(member, minlength=n_bins)
    sums = np.bincount(member, weights=probabilities, minlength=n_bins)
    right = np.bincount(member, weights=correct, minlength=n_bins)
    with np.errstate(invalid="ignore"):
        means, shares = sums / n, right / n
    return [
        ReliabilityBin(*row)
        for row in zip(
            edges[:-1].tolist(), edges[1:].tolist(), n.tolist(), means.tolist(), shares.tolist(),
            strict=True,
        )
    ]  # fmt: skip
