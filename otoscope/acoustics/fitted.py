"""An observer fitted to how a category's cue moves, with no other input.

The *fitted observer* averages the track of the category's cue in sixteen equal segments of the
span, relative to the mean of the clip, so that the level of a voice does not count, and answers by
their weighted sum. The weights are those of a shrunken linear discriminant, fitted on other
speakers. Unlike the slope observer it needs training data of the category.

Source of the shrinkage: J. H. Friedman (1989), "Regularized discriminant analysis",
https://doi.org/10.1080/01621459.1989.10478752
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Shaped

from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.measures import ClipAnalysis, Track
from otoscope.acoustics.measures.base import Samples
from otoscope.acoustics.spans import Span
from otoscope.errors import InvalidValue

N_SEGMENTS = 16
LEAST_SEGMENTS = 2  # as a slope needs two windows
SHRINKAGES = (0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99, 1.0)
N_FOLDS = 5


def segments(track: Track) -> Float[np.ndarray, " 16"]:
    """The mean of a track in each sixteenth of the span, less its mean over all windows.

    NaN where no window of a sixteenth was measured.

    >>> segments(Track(np.array([0.25, 0.26, 0.75]), np.array([1.0, 3.0, 5.0])))[[4, 12, 15]]
    array([-1.,  2., nan])
    """
    measured = np.isfinite(track.value)
    value = track.value[measured]
    at = np.minimum((track.place[measured] * N_SEGMENTS).astype(int), N_SEGMENTS - 1)
    n_windows = np.bincount(at, minlength=N_SEGMENTS)
    total = np.bincount(at, value - value.sum() / max(value.size, 1), minlength=N_SEGMENTS)
    return np.where(n_windows > 0, total / np.maximum(n_windows, 1), np.nan)


def measurable(rows: Float[np.ndarray, "n 16"]) -> Bool[np.ndarray, " n"]:
    """Whether enough segments of each clip were measured for an answer."""
    enough: Bool[np.ndarray, " n"] = np.isfinite(rows).sum(axis=1) >= LEAST_SEGMENTS
    return enough


@dataclass(frozen=True)
class Weights:
    """Parameters of the linear discriminant of one category.

    Attributes:
        typical: Mean of each segment in training; imputed where one could not be measured.
        weight: Log-odds of `increase` for each unit of the cue, by segment.
        constant: Log-odds of `increase` where every segment is at the clip's mean.
        shrinkage: Share of the covariance that was replaced by a scaled identity: at 1 the weights
            are proportional to the difference between the labels' means.
    """

    typical: tuple[float, ...]
    weight: tuple[float, ...]
    constant: float
    shrinkage: float

    def log_odds(self, rows: Float[np.ndarray, "n 16"]) -> Float[np.ndarray, " n"]:
        """Log-odds of `increase` for the segments of each clip; NaN where too few were measured."""
        filled = np.where(np.isfinite(rows), rows, self.typical)
        odds = np.sum(filled * self.weight, axis=1) + self.constant
        return np.where(measurable(rows), odds, np.nan)


def fit(
    rows: Float[np.ndarray, "n 16"],
    rising: Bool[np.ndarray, " n"],
    groups: Shaped[np.ndarray, " n"],
) -> Weights:
    """Weights of a linear discriminant on the segments of clips.

    Its shrinkage minimises the log loss in cross-validation over five folds of whole groups (fewer
    where there are fewer groups). Deterministic.

    Args:
        rows: The `segments` of each clip; clips with too few are left out.
        rising: Whether each clip's label is `increase`.
        groups: The speaker, or source, of each clip.

    Raises:
        InvalidValue: Fewer than two groups, or a training part without both labels.
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.impute import SimpleImputer
    from sklearn.metrics import log_loss, make_scorer
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline

    known = measurable(rows)
    rows, rising, groups = rows[known], rising[known], groups[known]
    # segments that could not be measured take their mean in training, so that no clip is lost
    typical = SimpleImputer(keep_empty_features=True)
    discriminant = LinearDiscriminantAnalysis(solver="lsqr")
    # the shrinkage is chosen on groups left out, as it should suit new voices; imputation is in
    # the pipeline, so that no fold sees the means of another
    search = GridSearchCV(
        Pipeline([("typical", typical), ("discriminant", discriminant)]),
        {"discriminant__shrinkage": SHRINKAGES},
        scoring=make_scorer(
            log_loss, greater_is_better=False, response_method="predict_proba", labels=[False, True]
        ),
        cv=_folds(rising, groups),
        error_score="raise",
    ).fit(rows, rising)
    # refitted on all clips with that shrinkage; plain numbers are stored, no scikit-learn object
    best = search.best_estimator_
    return Weights(
        tuple(best["typical"].statistics_.tolist()),
        tuple(best["discriminant"].coef_[0].tolist()),
        float(best["discriminant"].intercept_[0]),
        float(search.best_params_["discriminant__shrinkage"]),
    )


def _folds(
    rising: Bool[np.ndarray, " n"], groups: Shaped[np.ndarray, " n"], n_folds: int = N_FOLDS
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Positions to train on and to test on; no group is in both."""
    from sklearn.model_selection import GroupKFold

    n_groups = len(np.unique(groups))
    if n_groups < 2:
        raise InvalidValue(
            f"{len(rising)} measurable clips of {n_groups} speaker(s) or source(s): at least 2 "
            "are needed for cross-validation"
        )
    # groups stay together: clips of one voice in both parts would make held-out answers too good
    folds = list(GroupKFold(min(n_folds, n_groups)).split(rising, groups=groups))
    for train, _ in folds:
        if len(np.unique(rising[train])) < 2:
            raise InvalidValue(
                "clips of both labels are needed, from more than one speaker or source each"
            )
    return folds


def cross_fitted(
    rows: Float[np.ndarray, "n 16"],
    rising: Bool[np.ndarray, " n"],
    groups: Shaped[np.ndarray, " n"],
    *,
    n_folds: int = N_FOLDS,
) -> Float[np.ndarray, " n"]:
    """Log-odds of `increase` for each clip, by weights fitted on other groups; NaN: no answer.

    Args:
        rows, rising, groups: As in `fit`.
        n_folds: Number of folds of whole groups.

    Raises:
        InvalidValue: As in `fit`, for any training part: three groups are needed.
    """
    known = np.flatnonzero(measurable(rows))
    odds = np.full(len(rows), np.nan)
    for train, test in _folds(rising[known], groups[known], n_folds):
        train, test = known[train], known[test]
        odds[test] = fit(rows[train], rising[train], groups[train]).log_odds(rows[test])
    return odds


@dataclass(frozen=True)
class FittedObserver:
    """Answers from the weighted segments of a category's cue."""

    weights: Mapping[str, Weights]

    def answer(self, samples: Samples, sampling_rate: int, span: Span, category: str) -> str | None:
        """`increase` or `decrease`; None when too little of the cue can be measured.

        Raises:
            KeyError: A category that was not fitted.
            AudioError: As for every measure.
        """
        weights = self.weights[category]
        row = segments(GRADIENTS[category].cue(ClipAnalysis(samples, sampling_rate, span)))
        (odds,) = weights.log_odds(row[np.newaxis])
        if np.isnan(odds):
            return None
        return "increase" if odds > 0 else "decrease"

    def numbers(self) -> dict[str, dict[str, Any]]:
        """All parameters, ready for JSON; `from_numbers` restores them bit for bit."""
        return {category: asdict(weights) for category, weights in self.weights.items()}


def from_numbers(categories: Mapping[str, Mapping[str, Any]]) -> FittedObserver:
    """An observer from its `numbers`.

    Raises:
        LookupError: No such category.
        InvalidValue: Numbers are missing, or too few or too many.
    """
    weights = {}
    for category, given in categories.items():
        GRADIENTS[category]  # an unknown one is rejected by name
        try:
            weights[category] = Weights(
                _finite(given["typical"], N_SEGMENTS),
                _finite(given["weight"], N_SEGMENTS),
                *_finite([given["constant"], given["shrinkage"]], 2),
            )
        except (KeyError, TypeError, ValueError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else error
            raise InvalidValue(f"{category}: {what}") from None
    return FittedObserver(weights)


def _finite(values: Sequence[Any], n: int) -> tuple[float, ...]:
    numbers = tuple(float(value) for value in values)
    if len(numbers) != n or not np.isfinite(numbers).all():
        raise InvalidValue(f"expected {n} finite numbers, got {list(values)}")
    return numbers
