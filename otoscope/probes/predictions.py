"""Predictions of the probes of one category and site, for every test item.

For each seed and fold the real labels and the controls are trained in one pass. The ridge baseline
has neither seeds nor folds and is fitted once. Where the recipe ended before it converged, the
predictions of converged probes of the first seed are added.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Float32

from otoscope.probes.converged import (
    LOSS_TO_GO,
    PUBLISHED_STEPS,
    ConvergedProbe,
    converged_probe,
    mean_loss,
    n_steps,
)
from otoscope.probes.probe import PUBLISHED_SEED, ProbeError, ProbeRecipe, fit, scaling_of
from otoscope.probes.ridge import ridge
from otoscope.probes.splits import (
    ProbeColumns,
    ProbeSplit,
    control_labels,
    grouped_split,
    published_split,
)

PROBE_SPLITS = ("published", "grouped", "speaker")
PROBE, RIDGE, CONVERGED = "probe", "ridge", "converged"
REAL = 0
"""The labelling that is no control."""

PREDICTIONS = pa.schema(
    {
        "category": pa.string(),
        "site": pa.string(),
        "method": pa.string(),
        "labelling": pa.int8(),
        "seed": pa.int64(),
        "fold": pa.int16(),
        "id": pa.string(),
        "source_id": pa.string(),
        "label": pa.bool_(),
        "score": pa.float32(),
        "no_effect": pa.bool_(),
        "n_train": pa.int32(),
        "train_accuracy": pa.float32(),
        "penalty": pa.float32(),
    }
)
"""One row for each item, method, labelling and seed.

`labelling` is 0 for the real labels and counts controls from 1; `label` is True where that
labelling has `increase`; `score` is 0 or above where the probe predicts `increase`.
`train_accuracy` is null for ridge regression; `penalty` is null for the probe. Rows of the method
`converged` are there where the probe has not converged in the number of steps of its recipe; they
have no controls.
"""


@dataclass(frozen=True)
class ProbeConfig:
    """Everything about probes that changes a number.

    Attributes:
        split: `published` trains on `train` and `validation` and tests on `test`; `grouped`
            cross-validates by source, `speaker` by speaker.
        n_folds: Folds of the cross-validation.
        seeds: Of first weights, orders, folds and controls; each has its own probes.
        n_controls: Number of control labellings.
        ridge: Whether to fit the ridge baseline.
        recipe: How a probe is trained.

    Raises:
        ProbeError: A value out of range.
    """

    split: str = "published"
    n_folds: int = 5
    seeds: tuple[int, ...] = (PUBLISHED_SEED,)
    n_controls: int = 1
    ridge: bool = True
    recipe: ProbeRecipe = field(default_factory=ProbeRecipe)

    def __post_init__(self) -> None:
        if self.split not in PROBE_SPLITS:
            raise ProbeError(f"no split named {self.split!r}; there are {', '.join(PROBE_SPLITS)}")
        if not self.seeds or min(self.seeds) < 0 or len(set(self.seeds)) < len(self.seeds):
            raise ProbeError(f"seeds must be whole numbers from 0, each once; got {self.seeds}")
        if self.n_controls < 0:
            raise ProbeError(f"there cannot be {self.n_controls} controls")

    @property
    def group(self) -> Literal["source_id", "speaker_id"]:
        """Column of rows whose values are never both in training and in test."""
        return "speaker_id" if self.split == "speaker" else "source_id"

    def splits(
        self, train_rows: ProbeColumns, test_rows: ProbeColumns, seed: int
    ) -> list[ProbeSplit]:
        """How rows of one category are split.

        Raises:
            SplitError: They cannot be.
        """
        if self.split == "published":
            return published_split(train_rows, test_rows)
        return grouped_split(
            train_rows, test_rows, n_folds=self.n_folds, seed=seed, group=self.group
        )


@dataclass(frozen=True)
class ProbeData:
    """Features and rows of one category, at one site.

    Attributes:
        train_features: One row for each of `train_rows`.
        test_features: One row for each of `test_rows`; often the same.
        train_rows, test_rows: Columns `id`, `source_id`, `speaker_id`, `split`, `label`,
            `no_effect`.
    """

    train_features: Float[np.ndarray, "n_train width"]
    test_features: Float[np.ndarray, "n_test width"]
    train_rows: ProbeColumns
    test_rows: ProbeColumns

    def scaled(
        self, split: ProbeSplit
    ) -> tuple[Float32[np.ndarray, "..."], Float32[np.ndarray, "..."]]:
        """Training and test features, standardised by the training features."""
        train = self.train_features[split.train]
        scaling = scaling_of(train)
        return scaling.apply(train), scaling.apply(self.test_features[split.test])

    def labellings(
        self, split: ProbeSplit, n_controls: int, seed: int
    ) -> tuple[Bool[np.ndarray, "..."], Bool[np.ndarray, "..."]]:
        """Real labels and controls of the same rows, one in each column."""
        columns = [
            (self.train_rows["label"][split.train] == 1, self.test_rows["label"][split.test] == 1)
        ]
        for control in range(n_controls):
            rng = np.random.default_rng([seed, split.fold, control])
            columns.append(control_labels(self.train_rows, self.test_rows, split, rng))
        train, test = zip(*columns, strict=True)
        return np.stack(train, axis=1), np.stack(test, axis=1)


def predictions(data: ProbeData, config: ProbeConfig) -> pa.Table:
    """Trains the probes of one category and site, and predicts the test items.

    Returns:
        The columns of `PREDICTIONS` but `category` and `site`.

    Raises:
        SplitError: Rows cannot be split as requested.
        ValueError: Features are not finite.
    """
    baseline = [_of_ridge(data, config)] if config.ridge else []
    return pa.concat_tables([*_of_probes(data, config), *baseline])


def _of_probes(data: ProbeData, config: ProbeConfig) -> Iterator[pa.Table]:
    converged: list[pa.Table] = []
    behind = False
    for seed in config.seeds:
        for split in config.splits(data.train_rows, data.test_rows, seed):
            train, test = data.scaled(split)
            train_labels, test_labels = data.labellings(split, config.n_controls, seed)
            probes = fit(train, train_labels, seed=seed, recipe=config.recipe)
            right = (probes.scores(train) >= 0) == train_labels
            yield _table(
                data.test_rows, split, PROBE, seed, test_labels, probes.scores(test),
                accuracy=right.mean(axis=0),
            )  # fmt: skip
            if seed != config.seeds[0] or n_steps(config.recipe, len(train)) >= PUBLISHED_STEPS:
                continue
            real = train_labels[:, REAL]
            best = converged_probe(train, real, config.recipe.weight_decay)
            behind |= mean_loss(probes.scores(train)[:, REAL], real) > best.loss + LOSS_TO_GO
            converged.append(_of_converged(data, split, seed, best, train, test))
    if behind:
        yield from converged


def _of_converged(
    data: ProbeData,
    split: ProbeSplit,
    seed: int,
    probe: ConvergedProbe,
    train: np.ndarray,
    test: np.ndarray,
) -> pa.Table:
    labels = [
        (rows["label"][at] == 1)[:, None]
        for rows, at in ((data.train_rows, split.train), (data.test_rows, split.test))
    ]
    right = ((train @ probe.weights + probe.bias)[:, None] >= 0) == labels[0]
    scores = (test @ probe.weights + probe.bias)[:, None]
    return _table(
        data.test_rows, split, CONVERGED, seed, labels[1], scores, accuracy=right.mean(axis=0)
    )


def _of_ridge(data: ProbeData, config: ProbeConfig) -> pa.Table:
    """Fitted to the training rows of all folds; no source, or speaker, is predicted from itself."""
    seed = config.seeds[0]
    splits = config.splits(data.train_rows, data.test_rows, seed)
    split = ProbeSplit(
        0,
        np.unique(np.concatenate([split.train for split in splits])),
        np.sort(np.concatenate([split.test for split in splits])),
    )
    train, test = data.scaled(split)
    train_labels, test_labels = data.labellings(split, config.n_controls, seed)
    groups = data.train_rows[config.group][split.train]
    found = ridge(train, train_labels, groups, test, data.test_rows[config.group][split.test])
    return _table(
        data.test_rows, split, RIDGE, seed, test_labels, found.scores, penalties=found.penalties
    )


def _table(
    rows: ProbeColumns,
    split: ProbeSplit,
    method: str,
    seed: int,
    labels: np.ndarray,
    scores: np.ndarray,
    *,
    accuracy: np.ndarray | None = None,
    penalties: np.ndarray | None = None,
) -> pa.Table:
    """Predictions of one split, labelling by labelling."""
    n_rows, n_labellings = labels.shape

    def of_all(value: Any) -> list[Any]:
        return [value] * labels.size

    def of_labelling(values: np.ndarray | None) -> pa.Array:
        if values is None:
            return pa.nulls(labels.size, pa.float32())
        return pa.array(np.repeat(values, n_rows), pa.float32())

    items = {name: rows[name][split.test] for name in ("id", "source_id", "no_effect")}
    return pa.table(
        {
            "method": of_all(method),
            "labelling": np.repeat(np.arange(n_labellings), n_rows),
            "seed": of_all(seed),
            "fold": of_all(split.fold),
            **{name: np.tile(column, n_labellings) for name, column in items.items()},
            "label": labels.T.reshape(-1),
            "score": scores.T.reshape(-1).astype(np.float32),
            "n_train": of_all(len(split.train)),
            "train_accuracy": of_labelling(accuracy),
            "penalty": of_labelling(penalties),
        }
    )
