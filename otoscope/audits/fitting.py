"""Training the fitted observer on one split of a dataset, with nothing of the others in it."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
from otoscope.audits.items import DatasetError, Items, open_items, splits_in
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
from otoscope.prompts.labels import label_of
from otoscope.statistics.intervals import Interval, clustered_interval

WAY_OUT = (
    "build one that has it: python -m builders.vocalgrad build --source voices:40 "
    "--splits train,test --out ./vocalgrad"
)
LEAST_GROUPS = 3  # one left out, and two to choose the shrinkage by

Row = Mapping[str, Any]


class Lesson(NamedTuple):
    """What came of one category.

    Attributes:
        n_clips: Clips listened to.
        n_not_measurable: Of these, those passed over: too little of the cue, or no speech found.
        n_no_effect: Clips to which nothing was done at their rate; left out.
        n_unreadable: Clips whose audio cannot be read; left out.
        held_out: Right answers about clips of speakers (or sources) left out in turn, clustered by
            source; what cannot be measured is not right.
        shrinkage: The one chosen, see `fit`.
    """

    category: str
    n_clips: int
    n_not_measurable: int
    n_no_effect: int
    n_unreadable: int
    held_out: Interval
    shrinkage: float


class Trained(NamedTuple):
    """An observer ready to be asked or saved, and how its lessons went."""

    model: FittedObserverModel
    lessons: tuple[Lesson, ...]
    groups: str


def fit_observer(
    dataset: str | Path | datasets.Dataset,
    *,
    split: str = "train",
    configs: Sequence[str] = (),
    revision: str | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Learns each category of a split.

    Folds leave out whole speakers; where there are not three, or a row names none, whole sources.

    Args:
        dataset: A folder, a Hub repository or one split in memory.
        split: Which split to learn from.
        configs: Which configs; the default one when empty.
        revision: For a Hub repository.
        progress: Shows how far it is.

    Raises:
        DatasetError: There is no such split, it shares a source or speaker with another one, or a
            category has too few clips to learn from.
    """
    others = _other_splits(dataset, split, configs, revision)
    items = open_items(dataset, configs, split=split, revision=revision)
    rows = [row for row in items.rows if row["category"] in GRADIENTS]
    if not rows:
        raise DatasetError(
            f"{_named(dataset)}: split {split!r} has no clips to learn from; {WAY_OUT}"
        )
    sources, speakers = _distinct(map(source_of, rows)), _distinct(map(speaker_of, rows))
    for other in others:
        judged = open_items(dataset, configs, split=other, revision=revision).rows
        if shared := overlap(judged, sources, speakers):
            raise DatasetError(
                f"{_named(dataset)}: splits {split!r} and {other!r} share {shared}; an observer "
                f"that knows them proves nothing there; {WAY_OUT}"
            )
    by_speaker = len(speakers) >= LEAST_GROUPS and all(map(speaker_of, rows))
    by_category: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_category[row["category"]].append(row)
    weights: dict[str, Weights] = {}
    lessons: list[Lesson] = []
    content: list[str] = []
    with (progress or Progress()).bar("Listening", len(rows)) as step:
        for category, mine in by_category.items():
            heard = _listen(items, mine, step)
            content += [f"{row['id']} {items.facts(row['id'])[0]}" for row in heard.rows]
            try:
                weights[category], lesson = _learn(category, heard, by_speaker)
            except ValueError as error:
                raise DatasetError(f"{_named(dataset)}: {category}: {error}") from None
            lessons.append(lesson)
    trained_on = TrainedOn(
        dataset=_named(dataset),
        revision=revision,
        split=split,
        content_sha256=hashlib.sha256("\n".join(sorted(content)).encode()).hexdigest(),
        profiles=_distinct(row.get("profile") for row in rows),
        n_clips={lesson.category: lesson.n_clips for lesson in lessons},
        sources=sources,
        speakers=speakers,
    )
    model = FittedObserverModel(FittedObserver(weights), trained_on)
    return Trained(model, tuple(lessons), "speaker" if by_speaker else "source")


def _named(dataset: str | Path | datasets.Dataset) -> str:
    return "in memory" if isinstance(dataset, datasets.Dataset) else str(dataset)


def _distinct(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name}))


def _other_splits(
    dataset: str | Path | datasets.Dataset,
    split: str,
    configs: Sequence[str],
    revision: str | None,
) -> list[str]:
    """The splits that are not learned from; none of a dataset in memory.

    Raises:
        DatasetError: One to learn from is not there.
    """
    if isinstance(dataset, datasets.Dataset):
        return []
    there = splits_in(dataset, configs, revision)
    wanted = [part.partition("[")[0] for part in split.split("+")]
    for name in wanted:
        if name not in there:
            raise DatasetError(
                f"{dataset} has no split {name!r} to learn from, only {', '.join(there)}; {WAY_OUT}"
            )
    return [name for name in there if name not in wanted]


class _Heard(NamedTuple):
    """Clips of one category that could be read, their segments, and how many were left out."""

    rows: list[Row]
    segments: np.ndarray
    n_no_effect: int
    n_unreadable: int


def _listen(items: Items, rows: Sequence[Row], step: Callable[[], None]) -> _Heard:
    heard, found = [], []
    n_no_effect = n_unreadable = 0
    for row in rows:
        step()
        if row.get("no_effect"):
            n_no_effect += 1
            continue
        try:
            sound = items.sound(row["id"])
        except AudioError:
            n_unreadable += 1
            continue
        span = span_of(sound)
        found.append(np.full(N_SEGMENTS, np.nan))
        if span is not None:
            cue = GRADIENTS[row["category"]].cue
            found[-1] = segments(cue(sound.samples, sound.sampling_rate, span))
        heard.append(row)
    return _Heard(heard, np.reshape(found, (-1, N_SEGMENTS)), n_no_effect, n_unreadable)


def _learn(category: str, heard: _Heard, by_speaker: bool) -> tuple[Weights, Lesson]:
    rising = np.array([label_of(row) == "increase" for row in heard.rows], bool)
    sources = np.array([source_of(row) for row in heard.rows], str)
    groups = np.array([speaker_of(row) for row in heard.rows], str) if by_speaker else sources
    if len(np.unique(groups)) < LEAST_GROUPS:
        raise InvalidValue(
            f"{len(heard.rows)} clips of {len(np.unique(groups))} source(s): at least "
            f"{LEAST_GROUPS} are needed to learn from"
        )
    weights = fit(heard.segments, rising, groups)
    odds = cross_fitted(heard.segments, rising, groups)
    right = np.isfinite(odds) & ((odds > 0) == rising)
    return weights, Lesson(
        category,
        len(heard.rows),
        int(np.sum(~measurable(heard.segments))),
        heard.n_no_effect,
        heard.n_unreadable,
        clustered_interval(right, sources),
        weights.shrinkage,
    )
