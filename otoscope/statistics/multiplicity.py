"""Correction for multiple tests."""

import numpy as np
from jaxtyping import Float


def holm(p_values: Float[np.ndarray, " n_tests"]) -> Float[np.ndarray, " n_tests"]:
    """Holm's adjusted p-values, in the order given.

    Rejecting those below α limits the family-wise error rate to α under any dependence.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]

    Raises:
        ValueError: A p-value outside [0, 1] or NaN.

    Source: S. Holm (1979), https://www.jstor.org/stable/4615733
    """
    wrong = p_values[~((p_values >= 0) & (p_values <= 1))]
    if wrong.size:
        raise ValueError(f"p-values lie between 0 and 1, got {wrong.tolist()}")
    # four lines here: statsmodels' `multipletests` collects garbage at every call, 0.1 s and more
    order = np.argsort(p_values)
    steps = np.arange(p_values.size, 0, -1) * p_values[order]
    adjusted = np.empty(p_values.size)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(steps))
    return adjusted
