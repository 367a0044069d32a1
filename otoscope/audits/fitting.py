"""Fitting the observer to one split of a dataset, without any source or speaker of the others."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import datasets
import numpy as np

from otoscope.acoustics.codec import AudioError
from otoscope.acoustics.fitted import (
    N_SEGMENTS,
    FittedObserver,
    Weights,
    cross_fitted,
    fit,
    measurable,
    segments,
)
from otoscope.acoustics.gradients import GRADIENTS
from otoscope.acoustics.measures import ClipAnalysis
from otoscope.audits.items import Items, open_items
from otoscope.audits.opening import DatasetError, DatasetLike, dataset_name, splits_in
from otoscope.audits.splits import HOW_TO_BUILD_TRAIN
from otoscope.errors import InvalidValue
from otoscope.models.fitted_observer import (
    FittedObserverModel,
    TrainedOn,
    overlap,
    source_of,
    speaker_of,
)
from otoscope.models.simple import span_of
from otoscope.progress import Progress
from otoscope.prompts.labels import ItemRow, label_of
from otoscope.statistics.intervals import Interval, clustered_interval

LEAST_GROUPS = 3  # one left out, and two to choose the shrinkage by


class CategoryFit(NamedTuple):
    """The result of one category.

    Attributes:
        n_clips: Clips measured.
        n_not_measurable: Of these, those without a measurement: too little of the cue, or no speech
            found.
        n_no_effect: Clips unchanged at their rate; left out.
        n_unreadable: Clips whose audio cannot be read; left out.
        held_out: Right answers about clips of speakers (or sources) left out in turn, clustered by
            source; a clip without a measurement counts as wrong.
        shrinkage: The chosen one, see `fit`.
    """

    category: str
    n_clips: int
    n_not_measurable: int
    n_no_effect: int
    n_unreadable: int
    held_out: Interval
    shrinkage: float


class ObserverFit(NamedTuple):
    """A fitted observer, the result of each category, and what folds left out."""

    model: FittedObserverModel
    categories: tuple[CategoryFit, ...]
    groups: str


def fit_observer(
    dataset: DatasetLike,
    *,
    split: str = "train",
    configs: Sequence[str] = (),
    revision: str | None = None,
    progress: Progress | None = None,
) -> ObserverFit:
    """Fits each category of a split.

    Folds leave out whole speakers; where there are not three, or a row names none, whole sources.

    Args:
        dataset, configs, revision: See `open_items`.
        split: The one to fit.

    Raises:
        DatasetError: There is no such split, it shares a source or speaker with another one, or a
            category has too few clips.
    """
    name = dataset_name(dataset)
    others = _other_splits(dataset, split, configs, revision)
    items = open_items(dataset, configs, split=split, revision=revision)
    rows = [row for row in items.rows if row["category"] in GRADIENTS]
    if not rows:
        raise DatasetError(f"{name}: split {split!r} has no clips to fit; {HOW_TO_BUILD_TRAIN}")
    sources, speakers = _distinct(map(source_of, rows)), _distinct(map(speaker_of, rows))
    for other in others:
        other_rows = open_items(dataset, configs, split=other, revision=revision).rows
        if shared := overlap(other_rows, sources, speakers):
            raise DatasetError(
                f"{name}: splits {split!r} and {other!r} share {shared}; an observer "
                f"fitted to them proves nothing there; {HOW_TO_BUILD_TRAIN}"
            )
    by_speaker = len(speakers) >= LEAST_GROUPS and all(map(speaker_of, rows))
    by_category: dict[str, list[ItemRow]] = defaultdict(list)
    for row in rows:
        by_category[row["category"]].append(row)
    weights: dict[str, Weights] = {}
    fits: list[CategoryFit] = []
    content: list[str] = []
    with (progress or Progress()).bar("Measuring", len(rows)) as step:
        for category, of_category in by_category.items():
            measured = _measure(items, of_category, step)
            content += [f"{row['id']} {items.facts(row['id'])[0]}" for row in measured.rows]
            try:
                weights[category], result = _fit(category, measured, by_speaker)
            except ValueError as error:
                raise DatasetError(f"{name}: {category}: {error}") from None
            fits.append(result)
    trained_on = TrainedOn(
        dataset=name,
        revision=revision,
        split=split,
        content_sha256=hashlib.sha256("\n".join(sorted(content)).encode()).hexdigest(),
        profiles=_distinct(row.get("profile") for row in rows),
        n_clips={result.category: result.n_clips for result in fits},
        sources=sources,
        speakers=speakers,
    )
    model = FittedObserverModel(FittedObserver(weights), trained_on)
    return ObserverFit(model, tuple(fits), "speaker" if by_speaker else "source")


def _distinct(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name}))


def _other_splits(
    dataset: DatasetLike, split: str, configs: Sequence[str], revision: str | None
) -> list[str]:
    """The splits that are not fitted; none of a dataset in memory.

    Raises:
        DatasetError: One to fit is not there.
    """
    if isinstance(dataset, datasets.Dataset):
        return []
    there = splits_in(dataset, configs, revision)
    wanted = [part.partition("[")[0] for part in split.split("+")]
    for name in wanted:
        if name not in there:
            raise DatasetError(
                f"{dataset} has no split {name!r} to fit, only {', '.join(there)}; "
                f"{HOW_TO_BUILD_TRAIN}"
            )
    return [name for name in there if name not in wanted]


class _Measured(NamedTuple):
    """Clips of one category that could be read, their segments, and how many were left out."""

    rows: list[ItemRow]
    segments: np.ndarray
    n_no_effect: int
    n_unreadable: int


def _measure(items: Items, rows: Sequence[ItemRow], step: Callable[[], None]) -> _Measured:
    measured, values = [], []
    n_no_effect = n_unreadable = 0
    for row in rows:
        step()
        if row.get("no_effect"):
            n_no_effect += 1
            continue
        try:
            audio = items.audio(row["id"])
        except AudioError:
            n_unreadable += 1
            continue
        span = span_of(audio)
        values.append(np.full(N_SEGMENTS, np.nan))
        if span is not None:
            cue = GRADIENTS[row["category"]].cue
            values[-1] = segments(cue(ClipAnalysis(audio.samples, audio.sampling_rate, span)))
        measured.append(row)
    return _Measured(measured, np.reshape(values, (-1, N_SEGMENTS)), n_no_effect, n_unreadable)


def _fit(category: str, measured: _Measured, by_speaker: bool) -> tuple[Weights, CategoryFit]:
    rising = np.array([label_of(row) == "increase" for row in measured.rows], bool)
    sources = np.array([source_of(row) for row in measured.rows], str)
    groups = np.array([speaker_of(row) for row in measured.rows], str) if by_speaker else sources
    if len(np.unique(groups)) < LEAST_GROUPS:
        raise InvalidValue(
            f"{len(measured.rows)} clips of {len(np.unique(groups))} source(s): at least "
            f"{LEAST_GROUPS} are needed"
        )
    weights = fit(measured.segments, rising, groups)
    odds = cross_fitted(measured.segments, rising, groups)
    right = np.isfinite(odds) & ((odds > 0) == rising)
    return weights, CategoryFit(
        category,
        len(measured.rows),
        int(np.sum(~measurable(measured.segments))),
        measured.n_no_effect,
        measured.n_unreadable,
        clustered_interval(right, sources),
        weights.shrinkage,
    )
