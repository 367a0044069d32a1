"""Confounds: what moves besides the named factor, and how well it predicts the label.

A category's question is about one factor. Its `intended` measures follow from that factor; any
other contrast that differs between clips labelled `increase` and `decrease` is a confound, from
which the label can be predicted without the factor. It is unavoidable where no rendering of the
factor can be free of it (`Gradient.unavoidable`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from otoscope.acoustics.contrasts import CONTRASTS, HEAD_TAIL
from otoscope.acoustics.design import LABELS
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.measures import MEASURES
from otoscope.statistics.intervals import UNKNOWN, Interval
from otoscope.statistics.separation import stratified_auc

NUMBERS_ONLY = frozenset({"holding", "quantisation_step"})
"""Measures of the numbers in a file, measured only where they are the cue.

They rest on exact equality of 16-bit values, which neither playback nor resampling preserves and
any gain removes: elsewhere they would report differences that no listener or model can hear.
Reverberance is the cue of echo alone, but is audible, and is measured everywhere.
"""

N_FOLDS = 5
LEAST_SOURCES = 4


def intends(category: str, name: str) -> bool:
    """Whether a contrast follows from a category's factor.

    The head-tail level difference is one contrast; it is intended where head or tail is.

    Raises:
        LookupError: No such category or contrast.
    """
    if name not in CONTRASTS:
        MEASURES[name]  # rejects with a suggestion
    gradient = GRADIENTS[category]
    if name == HEAD_TAIL:
        return bool(gradient.intended & {"head", "tail"})
    return name in gradient.intended or MEASURES.get(name) is gradient.cue


def measured_in(category: str) -> tuple[str, ...]:
    """The contrasts that are measured in a category, in the order of `CONTRASTS`.

    >>> "holding" in measured_in("audio_distortion"), "holding" in measured_in("echo")
    (True, False)
    """
    return tuple(n for n in CONTRASTS if n not in NUMBERS_ONLY or intends(category, n))


class ClipContrasts(NamedTuple):
    """One labelled clip and its contrasts.

    Attributes:
        category, tier, curve: Its condition.
        direction: `up` or `down`.
        source_id: The source it was made from: the cluster of every interval.
        value, reason: As in `Contrasts`; at least those `measured_in` its category.
    """

    category: str
    tier: str
    curve: str
    direction: str
    source_id: str
    value: Mapping[str, float]
    reason: Mapping[str, str]


@dataclass(frozen=True)
class ConfoundRow:
    """How well one contrast predicts the label of one category.

    Attributes:
        intended: It follows from the category's factor; otherwise it is a confound.
        unavoidable: Why every rendering of the factor moves it; None for an avoidable confound.
        auc: Of the contrast for the label `increase`, over pairs of clips of the same tier and
            curve; 95 % interval clustered by source. All NaN where no pair could be measured.
        n, n_sources: Clips that could be measured, and the sources they come from.
        n_not_measurable: The other clips, by reason.
    """

    category: str
    name: str
    intended: bool
    unavoidable: str | None
    auc: Interval
    n: int
    n_sources: int
    n_not_measurable: Mapping[str, int]


@dataclass(frozen=True)
class JointRow:
    """How well all confounds of a category jointly tell its label.

    Attributes:
        names: The contrasts in the model, which also sees which of them could not be measured.
        avoidable_only: Whether the unavoidable ones are left out.
        auc: Of the scores of clips of held-out sources, as in `ConfoundRow`. Below 0.5 is no leak:
            the model does not generalise to other sources. All NaN with fewer than four sources, or
            where a fold has one label only.
        n, n_sources: Clips and their sources.
    """

    category: str
    names: tuple[str, ...]
    avoidable_only: bool
    auc: Interval
    n: int
    n_sources: int


@dataclass(frozen=True)
class Confounds:
    """What predicts the label, category by category, in the order of `GRADIENTS` and `CONTRASTS`.

    Two rows of `joint` for each category: of all confounds, and of the avoidable ones.
    """

    rows: tuple[ConfoundRow, ...]
    joint: tuple[JointRow, ...]


def measure_confounds(clips: Iterable[ClipContrasts], *, tier: str | None = None) -> Confounds:
    """How well each contrast, and all confounds jointly, predict the label.

    Clips are compared within tier and curve only. Clips without effect have no label and should not
    be among them.

    Args:
        clips: Of any categories.
        tier: Only the clips of this tier.

    Raises:
        LookupError: An unknown category.
        KeyError: A clip without one of the contrasts `measured_in` its category, or an unknown
            direction.
    """
    by_category: dict[str, list[ClipContrasts]] = {}
    for clip in clips:
        if tier in (None, clip.tier):
            by_category.setdefault(clip.category, []).append(clip)
    for category in by_category:
        GRADIENTS[category]  # an unknown one is rejected by name
    # one contrast at a time, then all confounds jointly, with and without the unavoidable ones
    ordered = [(c, _Labelled(by_category[c])) for c in GRADIENTS if c in by_category]
    return Confounds(
        tuple(
            _row(category, name, labelled)
            for category, labelled in ordered
            for name in measured_in(category)
        ),
        tuple(
            _joint_row(category, labelled, avoidable_only=avoidable_only)
            for category, labelled in ordered
            for avoidable_only in (False, True)
        ),
    )


class _Labelled:
    """The clips of a category as columns."""

    def __init__(self, clips: Sequence[ClipContrasts]) -> None:
        self.clips = clips
        self.rises = np.array([LABELS[c.direction] == "increase" for c in clips], bool)
        self.strata = np.array([f"{c.tier} {c.curve}" for c in clips])
        self.sources = np.array([c.source_id for c in clips])

    def values(self, name: str) -> np.ndarray:
        return np.array([c.value[name] for c in self.clips], float)

    def auc(self, scores: np.ndarray, at: Any = slice(None)) -> Interval:
        return stratified_auc(scores[at], self.rises[at], self.strata[at], self.sources[at])


def _row(category: str, name: str, labelled: _Labelled) -> ConfoundRow:
    values = labelled.values(name)
    known = np.isfinite(values)
    # clips without a value are left out of the AUC and counted by reason
    missing = Counter(
        str(c.reason[name]) for c, k in zip(labelled.clips, known, strict=True) if not k
    )
    return ConfoundRow(
        category,
        name,
        intends(category, name),
        GRADIENTS[category].unavoidable.get(name),
        labelled.auc(values, known),
        int(known.sum()),
        len(np.unique(labelled.sources[known])),
        dict(sorted(missing.items())),
    )


def _joint_row(category: str, labelled: _Labelled, *, avoidable_only: bool) -> JointRow:
    without = GRADIENTS[category].unavoidable if avoidable_only else {}
    names = tuple(n for n in measured_in(category) if not intends(category, n) and n not in without)
    n_sources = len(np.unique(labelled.sources))
    scores = _held_out_scores(labelled, names) if n_sources >= LEAST_SOURCES else None
    auc = UNKNOWN if scores is None else labelled.auc(scores)
    return JointRow(category, names, avoidable_only, auc, len(labelled.clips), n_sources)


def _held_out_scores(labelled: _Labelled, names: Sequence[str]) -> np.ndarray | None:
    """Cross-validated logistic scores, folds by source; None where a fold has one label only."""
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    splitter = GroupKFold(min(N_FOLDS, len(np.unique(labelled.sources))))
    folds = list(splitter.split(labelled.rises, groups=labelled.sources))
    if any(len(np.unique(labelled.rises[train])) < 2 for train, _ in folds):
        return None
    # a contrast that could not be measured is imputed; `_features` has a column that says so
    model = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True),
        StandardScaler(),
        LogisticRegression(),
    )
    return cross_val_predict(
        model, _features(labelled, names), labelled.rises, cv=folds, method="decision_function"
    )


def _features(labelled: _Labelled, names: Sequence[str]) -> np.ndarray:
    """The contrasts, and a column of 0 and 1 for each reason why one could not be measured."""
    columns = [labelled.values(name) for name in names]
    for name in names:
        reasons = np.array([c.reason.get(name, "") for c in labelled.clips], str)
        columns += [(reasons == r).astype(float) for r in np.unique(reasons) if r]
    return np.stack(columns, axis=1)
