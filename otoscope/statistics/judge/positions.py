"""Does a judge prefer the first reply, whatever it says?"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int, Shaped
from scipy.stats import binomtest

from otoscope.statistics.intervals import Interval
from otoscope.statistics.judge.states import N_DRAWS, SEED
from otoscope.statistics.resampling import cluster_sums, resampled_sums
from otoscope.statistics.simultaneous import interval_of_draws


class PositionBias(NamedTuple):
    """What the order of replies does.

    Attributes:
        bias: Share of answers that take the reply given first, minus one half.
        consistency: Share of instances that take the same reply under both orders.
        accuracy_first, accuracy_second: Where the right reply is given first, and second.
        n_first, n_second: Instances that take the first, or the second reply under both orders.
        p: Of as many or more on one side, were both as likely (exact binomial).
        n_answered: Answers with a valid choice.
    """

    bias: Interval
    consistency: Interval
    accuracy_first: float
    accuracy_second: float
    n_first: int
    n_second: int
    p: float
    n_answered: int


def position_bias(
    chosen: Int[np.ndarray, "n_instances 2"],
    right: Int[np.ndarray, " n_instances"],
    clusters: Shaped[np.ndarray, " n_instances"],
    *,
    n_draws: int = N_DRAWS,
    confidence: float = 0.95,
    seed: int = SEED,
) -> PositionBias:
    """Bias, consistency and the exact test, from both orders of each instance.

    Args:
        chosen: The reply taken, 0 or 1, or -1 for none. In column 0 reply 0 is given first, in
            column 1 reply 1.
        right: The right reply of each instance.
        clusters: Of each instance.

    Raises:
        ValueError: Another value, or lengths differ.
    """
    if not np.isin(chosen, (-1, 0, 1)).all():
        raise ValueError("a reply is 0 or 1, or -1 where there is no valid answer")
    if not len(chosen) == right.size == clusters.size or not right.size:
        raise ValueError(f"{len(chosen)} instances, {right.size} right replies, {clusters.size}")
    answered = chosen >= 0
    first = chosen == np.array([0, 1])  # the reply that is given first
    both = answered.all(axis=1)
    same = both & (chosen[:, 0] == chosen[:, 1])
    columns = np.column_stack([(first & answered).sum(axis=1), answered.sum(axis=1), same, both])
    sums = cluster_sums(columns, clusters)
    drawn = resampled_sums(sums, rng=np.random.default_rng(seed), n_draws=n_draws)
    total = sums.sum(axis=0)[None]
    correct = chosen == right[:, None]
    right_first = right[:, None] == np.array([0, 1])
    n_first, n_second = int(first[both].all(axis=1).sum()), int((~first[both]).all(axis=1).sum())
    return PositionBias(
        bias=interval_of_draws(_bias(total)[0], _bias(drawn), confidence=confidence),
        consistency=interval_of_draws(_share(total)[0], _share(drawn), confidence=confidence),
        accuracy_first=float(correct[right_first].mean()),
        accuracy_second=float(correct[~right_first].mean()),
        n_first=n_first,
        n_second=n_second,
        p=float(binomtest(n_first, n_first + n_second).pvalue) if n_first + n_second else 1.0,
        n_answered=int(answered.sum()),
    )


def _bias(sums: np.ndarray) -> np.ndarray:
    return _divided(sums[:, 0], sums[:, 1]) - 0.5


def _share(sums: np.ndarray) -> np.ndarray:
    return _divided(sums[:, 2], sums[:, 3])


def _divided(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
