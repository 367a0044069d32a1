"""Which rows a probe learns from and which it is asked about; never the same source in both."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from otoscope.errors import InputError

TRAIN, TEST = ("train", "validation"), "test"
"""The published training set is our `train` and `validation` together."""

Columns = Mapping[str, np.ndarray]
"""Columns of rows: `source_id`, `split` and `label` at least."""


class SplitError(InputError, ValueError):
    """Rows that cannot be split as asked; the message says why, and the way out."""


class Part(NamedTuple):
    """One probe's rows, as places in the columns they were taken from.

    Attributes:
        fold: Which turn of a cross-validation it is; 0 where there is one only.
        train: Rows to learn from.
        test: Rows to be asked about.
    """

    fold: int
    train: Int[np.ndarray, " n_train"]
    test: Int[np.ndarray, " n_test"]


def published_split(learn_from: Columns, ask_about: Columns) -> list[Part]:
    """Learns from the splits `train` and `validation`, asks about `test`.

    Args:
        learn_from, ask_about: Rows of one category; often the same.

    Raises:
        SplitError: There are no such rows, a source is in both, or the rows to learn from have one
            label only.
    """
    train = np.flatnonzero(_labelled(learn_from) & np.isin(learn_from["split"], TRAIN))
    test = np.flatnonzero(_labelled(ask_about) & (ask_about["split"] == TEST))
    if not len(train):
        raise SplitError(
            f"no rows of the splits train and validation, only of {_splits(learn_from)}; extract "
            "features of those too, or cross-validate with `--split grouped`"
        )
    if not len(test):
        raise SplitError(
            f"no rows of the split test, only of {_splits(ask_about)}; extract features of it too, "
            "or cross-validate with `--split grouped`"
        )
    part = Part(0, train, test)
    _check(part, learn_from, ask_about)
    return [part]


def grouped_split(
    learn_from: Columns, ask_about: Columns, *, n_folds: int, seed: int
) -> list[Part]:
    """Cross-validation by source: every row is asked about once, by a probe new to its source.

    Sources are dealt to folds by lot, so folds differ in size by one source at most. A source has
    the same fold in every category that has the same sources, and in both sets of rows.

    Args:
        learn_from, ask_about: Rows of one category; often the same.
        n_folds: How many turns.
        seed: Of the lot.

    Raises:
        SplitError: Fewer than two folds or fewer sources than folds, a row without a source, or
            rows to learn from that have one label only.
    """
    asked, taught = _labelled(ask_about), _labelled(learn_from)
    sources = np.unique(
        np.concatenate([learn_from["source_id"][taught], ask_about["source_id"][asked]])
    )
    if n_folds < 2:
        raise SplitError(f"cross-validation needs at least 2 folds, got {n_folds}")
    if "" in sources:
        raise SplitError("some rows have no source_id, so they cannot be kept apart by source")
    if len(sources) < n_folds:
        raise SplitError(
            f"{n_folds} folds of {len(sources)} sources; ask for fewer folds, or give more sources"
        )
    lot = np.random.default_rng(seed).permutation(len(sources))
    parts = []
    for fold in range(n_folds):
        own = sources[lot[fold::n_folds]]
        out = np.isin(learn_from["source_id"], own)
        test = np.flatnonzero(asked & np.isin(ask_about["source_id"], own))
        if len(test):
            part = Part(fold, np.flatnonzero(taught & ~out), test)
            _check(part, learn_from, ask_about)
            parts.append(part)
    return parts


def control_labels(
    learn_from: Columns, ask_about: Columns, part: Part, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Labels of a part in which half of the sources, chosen by lot, say the opposite.

    What varies within a source still varies with its control labels, and half of the sources
    contradict the other half: what a probe gets right of these it has by heart or by luck. The lot
    is drawn among the sources to learn from, and again among those that are only asked about; of an
    odd number one more or one less is swapped, by lot too.

    Returns:
        Whether each row to learn from, and each row asked about, is labelled `increase`.
    """
    taught = learn_from["source_id"][part.train]
    asked = ask_about["source_id"][part.test]
    swapped = np.concatenate(
        [_half(np.unique(taught), rng), _half(np.setdiff1d(asked, taught), rng)]
    )
    return (
        (learn_from["label"][part.train] == 1) ^ np.isin(taught, swapped),
        (ask_about["label"][part.test] == 1) ^ np.isin(asked, swapped),
    )


def _half(names: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(names)[: (len(names) + int(rng.integers(2))) // 2]


def _labelled(rows: Columns) -> np.ndarray:
    return rows["label"] >= 0


def _splits(rows: Columns) -> str:
    return ", ".join(sorted(set(rows["split"].tolist()))) or "no split at all"


def _check(part: Part, learn_from: Columns, ask_about: Columns) -> None:
    taught, asked = learn_from["source_id"][part.train], ask_about["source_id"][part.test]
    if "" in taught or "" in asked:
        raise SplitError("some rows have no source_id, so they cannot be kept apart by source")
    if both := sorted(set(taught.tolist()) & set(asked.tolist())):
        raise SplitError(
            f"{len(both)} sources are both learnt from and asked about, such as {both[0]!r}; a "
            "probe can tell them by heart: cross-validate with `--split grouped`"
        )
    if not len(taught):
        raise SplitError(f"no labelled rows to learn from beside those of {asked[0]!r}")
    labels = np.unique(learn_from["label"][part.train])
    if len(labels) < 2:
        found = "increase" if labels.tolist() == [1] else "decrease"
        raise SplitError(f"all {len(part.train)} rows to learn from are labelled {found!r}")
