"""How often does a 95 % interval of a clustered share cover the truth, and how wide is it?

    python -m benchmarks.coverage [--method NAME ...]

Sources have beta-binomial counts: each draws its own share around the accuracy, with an intraclass
correlation. Width is the mean width over that of Wilson's interval with the true design effect. A
constant answer to sources with half of each label is correct on half of every source's clips; its
true design effect is 0, so its width is over that of independent answers, the least any method may
assume. Results stand in `docs/decisions/0011-one-interval-for-clustered-shares.md`.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Annotated, NamedTuple

import numpy as np
import typer
from jaxtyping import Int
from scipy.special import betaln
from scipy.stats import beta, norm
from scipy.stats import t as student

from otoscope.statistics.intervals import clustered_interval, wilson_of_share

SEED, N_DRAWS = 1234, 2000
N_SOURCES, N_CLIPS, ACCURACIES = (10, 50, 4), (8, 24, 216), (0.5, 0.9, 0.99)
CORRELATIONS = (0, 0.05, 0.2, 0.5, None)
Z = 1.959964
AT_LEAST = 0.93


class Cell(NamedTuple):
    """Sources, clips of each, the true accuracy, and the correlation; None: a constant answer."""

    n_sources: int
    n_clips: int
    accuracy: float
    correlation: float | None

    @property
    def required(self) -> bool:
        """Whether coverage of at least 93 % is required."""
        common = self.n_sources in (10, 50) and self.n_clips in (8, 24)
        return common and (self.accuracy < 0.99 or (self.correlation or 0) <= 0.05)


def cells() -> list[Cell]:
    """All cells."""
    every = map(Cell._make, product(N_SOURCES, N_CLIPS, ACCURACIES, CORRELATIONS))
    return [cell for cell in every if cell.correlation is not None or cell.accuracy == 0.5]


def drawn(cell: Cell, n_draws: int, rng: np.random.Generator) -> Int[np.ndarray, "n_draws n"]:
    """Numbers of correct clips of each source."""
    size = n_draws, cell.n_sources
    if cell.correlation is None:
        return np.full((1, cell.n_sources), cell.n_clips // 2)
    shares = np.full(size, cell.accuracy)
    if cell.correlation:
        strength = 1 / cell.correlation - 1
        shares = rng.beta(cell.accuracy * strength, (1 - cell.accuracy) * strength, size)
    return rng.binomial(cell.n_clips, shares)


def clustered_wilson(right: np.ndarray, n_clips: int) -> tuple[float, float]:
    """The interval of this package."""
    correct = np.arange(n_clips) < right[:, None]
    return clustered_interval(correct.ravel(), np.arange(right.size).repeat(n_clips))[1:]


def logit_t(right: np.ndarray, n_clips: int) -> tuple[float, float]:
    """Student's t from the spread between sources, on the logit; without spread, Wilson's."""
    share, effect = _share_and_effect(right, n_clips)
    if effect == 0:
        return wilson_of_share(share, float(right.size), Z)[1:]
    spread = share * (1 - share)
    reach = _t(right.size) * np.sqrt(effect / (right.size * n_clips * spread))
    ends = np.log(share / (1 - share)) + np.array([-reach, reach])
    low, high = 1 / (1 + np.exp(-ends))
    return float(low), float(high)


def korn_graubard(right: np.ndarray, n_clips: int) -> tuple[float, float]:
    """Clopper and Pearson's interval at the effective sample size of one cell, with Student's t."""
    share, effect = _share_and_effect(right, n_clips)
    n = right.size * n_clips * min(1.0, (Z / _t(right.size)) ** 2 / max(effect, 1e-9))
    n_right, n_wrong = n * share, n - n * share
    low = beta.ppf(0.025, n_right, n_wrong + 1) if share > 0 else 0.0
    high = beta.ppf(0.975, n_right + 1, n_wrong) if share < 1 else 1.0
    return float(low), float(high)


def beta_binomial(right: np.ndarray, n_clips: int) -> tuple[float, float]:
    """Central posterior interval, accuracy uniform and correlation Beta(1, 4) beforehand."""
    accuracy = (np.arange(400) + 0.5) / 400
    strength = 1 / beta.ppf((np.arange(24) + 0.5) / 24, 1, 4) - 1
    a, b = accuracy[:, None] * strength, (1 - accuracy[:, None]) * strength
    counts = np.bincount(right, minlength=n_clips + 1)
    log = sum(
        n * (betaln(k + a, n_clips - k + b) - betaln(a, b)) for k, n in enumerate(counts) if n
    )
    below = np.cumsum(np.exp(log - np.max(log)).sum(axis=1))
    low, high = np.interp([0.025, 0.975], below / below[-1], accuracy)
    return float(low), float(high)


Method = Callable[[np.ndarray, int], tuple[float, float]]
METHODS: dict[str, Method] = {
    "clustered-wilson": clustered_wilson,
    "logit-t": logit_t,
    "korn-graubard": korn_graubard,
    "beta-binomial": beta_binomial,
}


class Simulated(NamedTuple):
    """Coverage, and the mean width over that of the true design effect."""

    coverage: float
    width: float


def simulate(cell: Cell, method: Method, n_draws: int) -> Simulated:
    """Coverage and relative width in one cell; the draws are the same for every method."""
    right = drawn(cell, n_draws, np.random.default_rng(SEED))
    ends = np.array([method(each, cell.n_clips) for each in right])
    covered = (ends[:, 0] <= cell.accuracy) & (cell.accuracy <= ends[:, 1])
    effect = 1 + (cell.n_clips - 1) * (cell.correlation or 0)
    n = cell.n_sources * cell.n_clips
    known = [wilson_of_share(float(k / n), n / effect, Z) for k in right.sum(axis=1)]
    of_known = np.mean([interval.high - interval.low for interval in known])
    return Simulated(float(covered.mean()), float(np.mean(ends[:, 1] - ends[:, 0]) / of_known))


def _share_and_effect(right: np.ndarray, n_clips: int) -> tuple[float, float]:
    share = float(right.mean() / n_clips)
    spread = share * (1 - share)
    return share, float(right.var(ddof=1) / (n_clips * spread)) if spread else 0.0


def _t(n_sources: int) -> float:
    return float(student.ppf(norm.cdf(Z), n_sources - 1))


def table(found: dict[Cell, Simulated]) -> Iterator[str]:
    """A row for each sources, clips and accuracy: coverage and relative width by correlation."""
    yield "| sources | clips | accuracy | " + " | ".join(map(_named, CORRELATIONS)) + " |"
    yield "|---:|---:|---:|" + "---|" * len(CORRELATIONS)
    for about in dict.fromkeys(cell[:3] for cell in found):
        row = [found.get(Cell(*about, rho)) for rho in CORRELATIONS]
        required = [Cell(*about, rho).required for rho in CORRELATIONS]
        shown = [_shown(s, bold) for s, bold in zip(row, required, strict=True)]
        yield f"| {' | '.join(map(str, about))} | {' | '.join(shown)} |"


def _named(correlation: float | None) -> str:
    return "constant answer" if correlation is None else f"correlation {correlation}"


def _shown(simulated: Simulated | None, bold: bool) -> str:
    if simulated is None:
        return "–"
    coverage = f"{100 * simulated.coverage:.1f}"
    return f"{f'**{coverage}**' if bold else coverage} ({simulated.width:.2f})"


def summary(found: dict[Cell, Simulated]) -> str:
    """Least coverage and mean width over the required cells, in words."""
    required = {cell: s for cell, s in found.items() if cell.required}
    drawn_ones = [s for cell, s in required.items() if cell.correlation is not None]
    constant = [s.width for cell, s in required.items() if cell.correlation is None]
    n_below = sum(s.coverage < AT_LEAST for s in drawn_ones)
    return (
        f"required cells: coverage {100 * min(s.coverage for s in drawn_ones):.1f} % or more "
        f"(target 93, not reached in {n_below} of {len(drawn_ones)}), "
        f"width {np.mean([s.width for s in drawn_ones]):.2f} on average; constant answer: width "
        f"{max(constant):.2f} at most (target 1.50)"
    )


def main(
    method: Annotated[list[str] | None, typer.Option(help="Of: " + ", ".join(METHODS))] = None,
) -> None:
    """Prints a table for each method; two minutes with one."""
    for name in method or [*METHODS][:1]:
        found = {cell: simulate(cell, METHODS[name], N_DRAWS) for cell in cells()}
        print(f"{name}: coverage in per cent (relative width); bold where 93 is required")
        print("\n".join(table(found)))
        print(summary(found))


if __name__ == "__main__":
    typer.run(main)
