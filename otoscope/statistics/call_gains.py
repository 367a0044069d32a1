"""What calls changed: corrections and harms among the called examples, and the net per call."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Shaped

from otoscope.errors import InvalidValue
from otoscope.statistics.exact_difference import exact_difference
from otoscope.statistics.intervals import Interval
from otoscope.statistics.pairs import paired_counts
from otoscope.statistics.separation import stratified_auc


class CallGains(NamedTuple):
    """Outcomes of the called examples, and changes elsewhere.

    Attributes:
        n_calls: Number of called examples.
        corrections: Called examples right only with the call.
        harms: Called examples right only without it.
        neutral: Called examples right or wrong either way.
        net_per_call: (corrections - harms) / n_calls, with an exact interval; NaN without calls.
        changed_elsewhere: Examples that were not called and of which one policy alone is right:
            a policy that was refitted without calls may choose another local action.
    """

    n_calls: int
    corrections: int
    harms: int
    neutral: int
    net_per_call: Interval
    changed_elsewhere: int

    def cost_per_net_correction(self, cost: float | int) -> float:
        """Cost over corrections less harms; NaN where calls corrected no more than they harmed."""
        net = self.corrections - self.harms
        return cost / net if net > 0 else float("nan")


def call_gains(
    policy: Bool[np.ndarray, " n_items"],
    baseline: Bool[np.ndarray, " n_items"],
    called: Bool[np.ndarray, " n_flags"],
    *,
    confidence: float = 0.95,
) -> CallGains:
    """Corrections and harms of the calls of a policy against its matched policy without calls.

    Args:
        policy, baseline: Whether each answer is right, with and without calls.
        called: Whether the policy called a generative model for this example.

    Raises:
        InvalidValue: Lengths differ.
    """
    if not policy.size == baseline.size == called.size:
        raise InvalidValue(
            f"{policy.size} and {baseline.size} answers but {called.size} values of called"
        )
    at_call = paired_counts(policy[called], baseline[called])
    elsewhere = paired_counts(policy[~called], baseline[~called])
    return CallGains(
        n_calls=at_call.n,
        corrections=at_call.only_first,
        harms=at_call.only_second,
        neutral=at_call.both + at_call.neither,
        net_per_call=exact_difference(at_call, confidence=confidence),
        changed_elsewhere=elsewhere.only_first + elsewhere.only_second,
    )


def corrections_auc(
    signal: np.ndarray,
    policy: Bool[np.ndarray, " n_items"],
    baseline: Bool[np.ndarray, " n_items"],
    clusters: Shaped[np.ndarray, " n_names"],
    *,
    folds: Shaped[np.ndarray, " n_folds"] | None = None,
    confidence: float = 0.95,
) -> Interval:
    """Area under the ROC curve of a signal for corrections against harms, with clusters.

    Only examples that one of both answers right take part. A signal from cross-fitted models is
    compared within folds only, since each fold's model has a scale of its own.

    Returns:
        NaN where there are no corrections or no harms (in one fold).

    Raises:
        ValueError: Lengths differ, or a signal of an example that takes part is not finite.
    """
    if not len(signal) == policy.size == baseline.size == len(clusters):
        raise InvalidValue(
            f"{len(signal)} signals, {policy.size} and {baseline.size} answers and "
            f"{len(clusters)} clusters"
        )
    changed = policy != baseline
    strata = np.zeros(policy.size, dtype=np.int64) if folds is None else folds
    return stratified_auc(
        signal[changed], policy[changed], strata[changed], clusters[changed], confidence=confidence
    )
