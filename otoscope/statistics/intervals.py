"""Intervals for a proportion of correct answers.

Answers about variants of one source clip are not independent: a difficult source is difficult in
all of its variants. Intervals over them resample or weigh whole sources (clusters).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint


class Interval(NamedTuple):
    """A share within 0 to 1, or a difference within -1 to 1: `low ≤ estimate ≤ high`, or NaN."""

    estimate: float
    low: float
    high: float


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
    """Interval of a proportion whose items come in clusters, from the spread between clusters.

    The estimate is the plain share of correct items (a ratio estimator: clusters may differ in
    size), or the mean of the groups' shares. Its variance comes from each cluster's excess of
    correct items over the expectation. The interval is Student's t with one degree of freedom less
    than there are clusters, on the logit scale so that it stays within 0 to 1.

    Without spread between clusters (all correct, all wrong, or equal shares) the effective number
    of items is the number of clusters, and the interval is Wilson's for that many. One cluster: 0
    to 1. No items: NaN.

    Args:
        correct: Whether each item is correct.
        clusters: Cluster (source clip) of each item: names or numbers.
        groups: Groups of equal weight whatever their size: with the labels, the estimate is the
            balanced accuracy. A cluster may have items of several groups.

    Raises:
        ValueError: Lengths differ, or a confidence outside (0, 1).

    Source: W. G. Cochran (1977), Sampling Techniques, 3rd ed., sections 6.3 and 9A.1 (ratio
    estimates of proportions in clusters); logit intervals as in survey software.
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
    beyond = (correct - shares[group]) / (size[group] * len(size))
    excess = np.bincount(member, weights=beyond)
    return interval_from_excess(float(shares.mean()), excess, confidence, atol=1e-12)


def interval_from_excess(
    estimate: float, excess: Float[np.ndarray, " n_clusters"], confidence: float, *, atol: float
) -> Interval:
    """Interval of a share from what each cluster adds to it; no spread if all is below `atol`."""
    n_clusters = len(excess)
    if n_clusters == 1:
        return Interval(estimate, 0.0, 1.0)
    if np.allclose(excess, 0, atol=atol):
        return _wilson_of_share(estimate, n_clusters, confidence)
    reach = reach_of_t(excess, confidence) / (estimate * (1 - estimate))
    centre = np.log(estimate / (1 - estimate))
    low, high = 1 / (1 + np.exp(-(centre + np.array([-reach, reach]))))
    return Interval(estimate, float(low), float(high))


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


def _wilson_of_share(share: float, n: int, confidence: float) -> Interval:
    """Wilson's interval of a share of `n` items, where share times n need not be whole."""
    z2 = float(student.ppf((1 + confidence) / 2, np.inf)) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2))) / (1 + z2 / n)
    low, high = min(centre - reach, share), max(centre + reach, share)
    return Interval(share, max(0.0, float(low)), min(1.0, float(high)))
