"""Intervals for a proportion of correct answers.

Answers about variants of one source clip are not independent: a difficult source is difficult in
all of its variants. Intervals over them resample or weigh whole sources (clusters).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped
from scipy.stats import norm
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint


class Interval(NamedTuple):
    """A share within 0 to 1, or a difference within -1 to 1: `low ≤ estimate ≤ high`, or NaN."""

    estimate: float
    low: float
    high: float


ASSUMED_CORRELATION = 0.3
"""Intraclass correlation taken where all items are correct; see docs/decisions/0011."""

UNKNOWN = Interval(float("nan"), float("nan"), float("nan"))


def named_interval(name: str, interval: Interval) -> dict[str, float]:
    """An estimate and the ends of its interval, for a row of a table.

    >>> named_interval("auc", Interval(0.5, 0.4, 0.6))
    {'auc': 0.5, 'auc_low': 0.4, 'auc_high': 0.6}
    """
    return dict(zip((name, f"{name}_low", f"{name}_high"), interval, strict=True))


def wilson(n_correct: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for independent answers; all NaN without any.

    >>> [round(bound, 3) for bound in wilson(8, 10)]
    [0.8, 0.49, 0.943]

    Raises:
        ValueError: Impossible counts, or a confidence outside (0, 1).

    Source: E. B. Wilson (1927), https://doi.org/10.1080/01621459.1927.10502953
    """
    check_draws(confidence)
    if not 0 <= n_correct <= n:
        raise ValueError(f"expected 0 <= n_correct <= n, got n_correct={n_correct}, n={n}")
    if n == 0:
        return UNKNOWN
    low, high = proportion_confint(n_correct, n, alpha=1 - confidence, method="wilson")
    estimate = n_correct / n
    return Interval(estimate, min(float(low), estimate), max(float(high), estimate))


def clustered_interval(
    correct: Bool[np.ndarray, " n_items"],
    clusters: Shaped[np.ndarray, " n_names"],
    *,
    groups: Shaped[np.ndarray, " n_groups"] | None = None,
    confidence: float = 0.95,
) -> Interval:
    """Wilson's interval of a share whose items come in clusters, at the effective sample size.

    The estimate is the plain share of correct items, or the mean of the groups' shares. The
    effective sample size is the number of items over the design effect, which follows from the
    intraclass correlation by its moment estimator; a correlation below 0 counts as 0. Instead of
    the normal quantile stands Student's t, with one degree of freedom less than the effective
    number of clusters. No interval is narrower than if all items were correct: those say nothing
    about the correlation, so `ASSUMED_CORRELATION` is taken for them.

    So clusters that agree more never widen the interval, and all correct is never wider than
    anything else. Clusters of one item each: Wilson's interval. One cluster: 0 to 1. No items: NaN.

    Args:
        correct: Whether each item is correct.
        clusters: Cluster (source clip) of each item: names or numbers.
        groups: Groups of equal weight whatever their size: with the labels, the estimate is the
            balanced accuracy. A cluster may have items of several groups.

    Raises:
        ValueError: Lengths differ, or a confidence outside (0, 1).

    Source: E. L. Korn and B. I. Graubard (1998), "Confidence intervals for proportions with small
    expected number of positive counts estimated from survey data", Survey Methodology 24, for the
    effective sample size and t; the rest, and how often it covers: docs/decisions/0011.
    """
    check_draws(confidence)
    if correct.size != clusters.size:
        raise ValueError(f"{correct.size} answers but {clusters.size} cluster names")
    if groups is not None and groups.size != correct.size:
        raise ValueError(f"{correct.size} answers but {groups.size} group names")
    if correct.size == 0:
        return UNKNOWN
    _, member = np.unique(clusters, return_inverse=True)
    shares, group, size = means_of_groups(correct, groups)
    weight = 1 / (size[group] * len(size))
    excess = np.bincount(member, weights=(correct - shares[group]) * weight)
    return _interval_of_share(
        float(shares.mean()),
        excess,
        np.bincount(member, weights=weight),
        np.bincount(member, weights=weight**2),
        confidence,
    )


def _interval_of_share(
    share: float,
    excess: Float[np.ndarray, " n_clusters"],
    weight: Float[np.ndarray, " n_clusters"],
    square: Float[np.ndarray, " n_clusters"],
    confidence: float,
) -> Interval:
    """Interval of a share from what each cluster adds to it.

    Args:
        excess: What each cluster adds to the share beyond its expectation.
        weight, square: Sum of its items' weights, which add up to 1, and of their squares.
    """
    if len(excess) == 1:
        return Interval(share, 0.0, 1.0)
    z = float(norm.ppf((1 + confidence) / 2))
    # variance of the share over p(1 - p): all items independent, and alike within clusters
    independent, alike = float(square.sum()), float(weight @ weight)
    if np.isclose(independent, alike, rtol=1e-9):
        return wilson_of_share(share, 1 / independent, z)
    t = float(student.ppf((1 + confidence) / 2, max(1 / alike - 1, 0.1)))  # below, 0 to 1 anyway
    spread = share * (1 - share)
    variance = independent
    if spread > 0:
        # expectation of the squared excess over p(1 - p) in either case
        if_independent = float(square @ (1 - 2 * weight)) + alike * independent
        if_alike = float(weight**2 @ (1 - 2 * weight)) + alike**2
        correlation = (float(excess @ excess) / spread - if_independent) / (
            if_alike - if_independent
        )
        variance += max(0.0, correlation) * (alike - independent)
    assumed = independent + ASSUMED_CORRELATION * (alike - independent)
    width_if_all_correct = z**2 * assumed / (1 + z**2 * assumed)
    widest_n = _size_of_width(spread, width_if_all_correct, t)
    return wilson_of_share(share, min(1 / variance, widest_n), t)


def _size_of_width(spread: float, width: float, t: float) -> float:
    """The sample size at which Wilson's interval has a width, where the variance is `spread`."""
    # width² = 4t² (spread · n + t²/4) / (n + t²)², solved for n
    k = (width / (2 * t)) ** 2
    half = spread - 2 * k * t**2
    return (half + np.sqrt(max(0.0, spread**2 - 4 * k * t**2 * spread + k * t**2))) / (2 * k)


def reach_of_t(excess: Float[np.ndarray, " n_clusters"], confidence: float) -> float:
    """Half the width of Student's t interval, from what each cluster adds to an estimate."""
    n_clusters = len(excess)
    error = np.sqrt(n_clusters / (n_clusters - 1) * float(excess @ excess))
    return float(student.ppf((1 + confidence) / 2, n_clusters - 1) * error)


def means_of_groups(
    values: np.ndarray, groups: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of each group, the group of each item, and group sizes; one group by default."""
    if groups is None:
        return np.array([values.mean()]), np.zeros(values.size, int), np.array([values.size])
    _, group, size = np.unique(groups, return_inverse=True, return_counts=True)
    return np.bincount(group, weights=values) / size, group, size


def percentile_interval(estimate: float, draws: np.ndarray, confidence: float) -> Interval:
    """The middle `confidence` of the draws, extended to contain the estimate."""
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(estimate, min(float(low), estimate), max(float(high), estimate))


def check_draws(confidence: float, **n_draws: int) -> None:
    """Rejects a confidence outside (0, 1), and a number of draws below 1 by its name."""
    for name, n in n_draws.items():
        if n < 1:
            raise ValueError(f"{name} must be at least 1, got {n}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")


def wilson_of_share(share: float, n: float, quantile: float) -> Interval:
    """Wilson's interval at a sample size that need not be whole, with any quantile for z."""
    q2 = quantile**2
    centre = (share + q2 / (2 * n)) / (1 + q2 / n)
    reach = np.sqrt(q2 * (share * (1 - share) / n + q2 / (4 * n**2))) / (1 + q2 / n)
    low, high = min(centre - reach, share), max(centre + reach, share)
    return Interval(share, max(0.0, float(low)), min(1.0, float(high)))
