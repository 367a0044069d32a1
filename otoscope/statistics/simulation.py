"""The published interval: percentiles of simulated binomial counts.

It treats answers about variants of one clip as independent, as the paper does; see
`otoscope.statistics.intervals` for intervals that do not.
"""

import numpy as np

from otoscope.statistics.intervals import UNKNOWN, Interval, check_draws, percentile_interval

SEED = 1234
N_DRAWS = 10_000


def binomial_simulation(
    n_correct: int,
    n: int,
    *,
    rng: np.random.Generator,
    n_draws: int = N_DRAWS,
    confidence: float = 0.95,
) -> Interval:
    """Interval from percentiles of `n_draws` draws of Binomial(n, n_correct / n) / n.

    At 0 of n and n of n every draw is the same and the interval has width zero: a flaw of the
    method, reproduced for comparison. Without any answer all is NaN and nothing is drawn.

    Published tables share one `rng` over their cells, seeded with `SEED`: model by model,
    categories in alphabetical order.

    Raises:
        ValueError: Impossible counts, no draws, or a confidence outside (0, 1).
    """
    if not 0 <= n_correct <= n:
        raise ValueError(f"expected 0 <= n_correct <= n, got n_correct={n_correct}, n={n}")
    check_draws(confidence, n_draws=n_draws)
    if n == 0:
        return UNKNOWN
    estimate = n_correct / n
    shares = rng.binomial(n, estimate, size=n_draws) / n
    return percentile_interval(estimate, shares, confidence)
