"""Curves of accuracy over cost: a band that holds all of a curve at once, and the area between two.

All from resamples of whole curves: a resample has every point of every curve.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from otoscope.statistics.intervals import UNKNOWN, Interval, check_draws, percentile_interval

MOST_UNDEFINED = 0.05
"""Share of resamples without a value beyond which there is no interval."""


class Band(NamedTuple):
    """A simultaneous band.

    Attributes:
        low, high: At each point.
        critical: How many standard errors it reaches to either side: 1.96 for a single point, and
            more the more points vary on their own.
    """

    low: Float[np.ndarray, " n_points"]
    high: Float[np.ndarray, " n_points"]
    critical: float


def simultaneous_band(
    estimates: Float[np.ndarray, " n_points"],
    draws: Float[np.ndarray, "n_draws n_points"],
    *,
    confidence: float = 0.95,
) -> Band:
    """The band that holds all points of a curve together with the given confidence (sup-t).

    Its ends are the estimate and as many standard errors as the largest of the standardised
    distances of a resample's points stays within in that share of resamples. A point without spread
    has a band of width zero.

    Raises:
        ValueError: A confidence outside (0, 1), or no draws.

    Source: J. L. Montiel Olea and M. Plagborg-Møller (2019), "Simultaneous confidence bands:
    theory, implementation, and an application to SVARs", https://doi.org/10.1002/jae.2656
    """
    check_draws(confidence, n_draws=len(draws))
    spread = draws.std(axis=0)
    varies = spread > 0
    critical = 0.0
    if varies.any():
        distance = np.abs(draws[:, varies] - estimates[varies]) / spread[varies]
        critical = float(np.quantile(distance.max(axis=1), confidence))
    return Band(estimates - critical * spread, estimates + critical * spread, critical)


def area_between(
    cost: Float[np.ndarray, "n_draws n_points"],
    accuracy: Float[np.ndarray, "n_draws n_points"],
    reference: Float[np.ndarray, " n_draws"],
) -> tuple[Float[np.ndarray, " n_draws"], Float[np.ndarray, " n_draws"]]:
    """Area between a curve over cost and a horizontal reference, and over how much cost it lies.

    The curve is joined by straight lines in the order of cost; the area is negative where it runs
    below the reference.

    >>> area_between(np.array([[2.0, 0.0]]), np.array([[1.0, 0.5]]), np.array([0.5]))
    (array([0.5]), array([2.]))
    """
    order = np.argsort(cost, axis=1, kind="stable")
    x = np.take_along_axis(cost, order, axis=1)
    y = np.take_along_axis(accuracy, order, axis=1) - reference[:, None]
    area = np.sum(np.diff(x, axis=1) * (y[:, 1:] + y[:, :-1]) / 2, axis=1)
    return area, x[:, -1] - x[:, 0]


def interval_of_draws(
    estimate: float, draws: Float[np.ndarray, " n_draws"], *, confidence: float = 0.95
) -> Interval:
    """Percentile interval over the resamples in which the statistic is defined.

    NaN without an estimate, or where more than `MOST_UNDEFINED` of the resamples have none.
    """
    defined = draws[np.isfinite(draws)]
    if not np.isfinite(estimate) or defined.size < (1 - MOST_UNDEFINED) * draws.size:
        return UNKNOWN
    return percentile_interval(estimate, defined, confidence)
