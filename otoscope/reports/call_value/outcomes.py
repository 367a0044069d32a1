"""What policies did with held-out examples, as arrays and intervals that every table is made of."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.policies import CallPolicy
from otoscope.statistics.intervals import Interval, clustered_interval, named_interval, wilson
from otoscope.statistics.method_names import CLUSTERED
from otoscope.statistics.resampling import cluster_sums, resampled_sums


def interval_name(audit: CallAudit) -> str:
    """Of the intervals of shares."""
    return f"95 % CI, {CLUSTERED}" if is_clustered(audit) else "95 % CI, Wilson"


def is_clustered(audit: CallAudit) -> bool:
    """Whether some cluster has several held-out examples."""
    return len(np.unique(audit.holdout.clusters)) < audit.holdout.n


def accuracy(right: np.ndarray, clusters: np.ndarray) -> Interval:
    """Share of correct examples: Wilson's interval, or the clustered one."""
    if len(np.unique(clusters)) == len(clusters):
        return wilson(int(right.sum()), len(right))
    return clustered_interval(right, clusters)


def right_of(audit: CallAudit, name: str) -> np.ndarray:
    """Whether a policy is right on each held-out example."""
    return np.asarray(policy_of(audit, name).predicted == audit.holdout.gold)


def policy_of(audit: CallAudit, name: str) -> CallPolicy:
    """The policy of that name."""
    return next(policy for policy in audit.policies if policy.name == name)


def known_interval(name: str, interval: Interval) -> dict[str, float]:
    """An estimate with its interval for a row of a table; nothing where it is undefined."""
    return {} if np.isnan(interval.estimate) else named_interval(name, interval)


def resampled(
    audit: CallAudit, columns: Sequence[np.ndarray]
) -> Float[np.ndarray, "n_draws n_columns"]:
    """Sums of columns over held-out examples in resamples of whole clusters; the last is their n.

    Every table draws the same resamples, from the contract's seed.
    """
    return resampled_sums(
        cluster_sums(np.column_stack([*columns, np.ones(audit.holdout.n)]), audit.holdout.clusters),
        rng=np.random.default_rng(audit.contract.settings.seed),
        n_draws=audit.contract.draws,
    )


def resampled_means(
    audit: CallAudit, columns: Sequence[np.ndarray]
) -> Float[np.ndarray, "n_draws n_columns"]:
    """Their means over the examples of each resample."""
    sums = resampled(audit, columns)
    return sums[:, :-1] / sums[:, -1:]
