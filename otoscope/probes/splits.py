"""Which rows a probe is trained and tested on; a source is never in both."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Int

from otoscope.errors import InputError
from otoscope.prompts.labels import LABEL_NAMES

TRAIN, TEST = ("train", "validation"), "test"
"""The published training set is our `train` and `validation` together."""

ProbeColumns = Mapping[str, np.ndarray]
"""Rows of one category: `source_id`, `split` and `label` at least; a negative label is none."""


class SplitError(InputError, ValueError):
    """Rows that cannot be split as requested; the message says why, and the way out."""


class ProbeSplit(NamedTuple):
    """Row indices of one probe; `fold` is 0 without cross-validation."""

    fold: int
    train: Int[np.ndarray, " n_train"]
    test: Int[np.ndarray, " n_test"]


def published_split(train_rows: ProbeColumns, test_rows: ProbeColumns) -> list[ProbeSplit]:
    """Trains on the splits `train` and `validation`, tests on `test`.

    Raises:
        SplitError: There are no such rows, a source is in both, or the training rows do not have
            exactly two labels.
    """
    train = np.flatnonzero(_labelled(train_rows) & np.isin(train_rows["split"], TRAIN))
    test = np.flatnonzero(_labelled(test_rows) & (test_rows["split"] == TEST))
    for found, rows, wanted in (
        (train, train_rows, "the splits train and validation"),
        (test, test_rows, "the split test"),
    ):
        if not len(found):
            present = ", ".join(sorted(set(rows["split"].tolist()))) or "no split at all"
            raise SplitError(
                f"no rows of {wanted}, only of {present}; extract their features too, or "
                "cross-validate with `--probe-split grouped`"
            )
    split = ProbeSplit(0, train, test)
    _validate(split, train_rows, test_rows)
    return [split]


def grouped_split(
    train_rows: ProbeColumns,
    test_rows: ProbeColumns,
    *,
    n_folds: int,
    seed: int,
    group: Literal["source_id", "speaker_id"] = "source_id",
) -> list[ProbeSplit]:
    """Cross-validation grouped by source, or by speaker: every row is tested once.

    Sources are assigned to folds at random, so folds differ in size by one source at most. A source
    has the same fold in every category that has the same sources, and in both sets of rows. With
    `group="speaker_id"` all this is true of speakers.

    Raises:
        SplitError: Fewer than two folds or fewer sources than folds, a row without a source, or
            training rows that do not have exactly two labels.
    """
    tested, trained = _labelled(test_rows), _labelled(train_rows)
    sources = np.unique(np.concatenate([train_rows[group][trained], test_rows[group][tested]]))
    plural = f"{group.removesuffix('_id')}s"
    if n_folds < 2:
        raise SplitError(f"cross-validation needs at least 2 folds, got {n_folds}")
    if "" in sources:
        raise SplitError(f"some rows have no {group}, so they cannot be grouped by {plural[:-1]}")
    if len(sources) < n_folds:
        raise SplitError(
            f"{n_folds} folds of {len(sources)} {plural}; use fewer folds, or give more {plural}"
        )
    shuffled = np.random.default_rng(seed).permutation(len(sources))
    splits = []
    for fold in range(n_folds):
        own = sources[shuffled[fold::n_folds]]
        held_out = np.isin(train_rows[group], own)
        test = np.flatnonzero(tested & np.isin(test_rows[group], own))
        if len(test):
            split = ProbeSplit(fold, np.flatnonzero(trained & ~held_out), test)
            _validate(split, train_rows, test_rows)
            splits.append(split)
    return splits


def control_labels(
    train_rows: ProbeColumns, test_rows: ProbeColumns, split: ProbeSplit, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Labels of a split with those of a random half of the sources swapped.

    Within a source the control labels vary as the real ones do, and half of the sources contradict
    the other half: a probe gets them right by memorising sources or by chance. The half is drawn
    among the training sources, and again among those that are only tested. Of an odd number one
    more or one less is swapped, at random.

    Returns:
        Whether each training row, and each test row, is labelled `increase`.
    """
    train_sources = train_rows["source_id"][split.train]
    test_sources = test_rows["source_id"][split.test]
    swapped = np.concatenate(
        [
            _half(np.unique(train_sources), rng),
            _half(np.setdiff1d(test_sources, train_sources), rng),
        ]
    )
    return (
        (train_rows["label"][split.train] == 1) ^ np.isin(train_sources, swapped),
        (test_rows["label"][split.test] == 1) ^ np.isin(test_sources, swapped),
    )


def _half(names: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(names)[: (len(names) + int(rng.integers(2))) // 2]


def _labelled(rows: ProbeColumns) -> np.ndarray:
    return rows["label"] >= 0


def _validate(split: ProbeSplit, train_rows: ProbeColumns, test_rows: ProbeColumns) -> None:
    train, test = train_rows["source_id"][split.train], test_rows["source_id"][split.test]
    if "" in train or "" in test:
        raise SplitError("some rows have no source_id, so they cannot be grouped by source")
    if both := sorted(set(train.tolist()) & set(test.tolist())):
        raise SplitError(
            f"{len(both)} sources are both in training and in test, such as {both[0]!r}; a probe "
            "can memorise them: cross-validate with `--probe-split grouped`"
        )
    if not len(train):
        raise SplitError(f"no labelled training rows beside those of {test[0]!r}")
    found = np.unique(train_rows["label"][split.train]).tolist()
    if others := sorted(
        {*found, *test_rows["label"][split.test].tolist()} - set(range(len(LABEL_NAMES)))
    ):
        raise SplitError(
            f"a probe separates the labels {LABEL_NAMES}, numbered 0 and 1, and these rows have "
            f"{', '.join(map(str, others))} too; give rows with two labels"
        )
    if len(found) < len(LABEL_NAMES):
        name = LABEL_NAMES[found[0]]
        raise SplitError(f"all {len(split.train)} training rows are labelled {name!r}")
