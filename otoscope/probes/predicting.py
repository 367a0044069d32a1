"""What the probes of one category and site say of every item they are asked about.

For each seed and fold one probe learns the real labels and the controls in one pass. Ridge
regression, which has neither seeds nor folds, is asked once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Float32

from otoscope.errors import InputError
from otoscope.probes.probe import PUBLISHED_SEED, Recipe, fit, scaling_of
from otoscope.probes.ridge import ridge
from otoscope.probes.splits import (
    Columns,
    Part,
    control_labels,
    grouped_split,
    published_split,
)

SPLITS = ("published", "grouped")
PROBE, RIDGE = "probe", "ridge"
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

`labelling` is 0 for the real labels and counts controls from 1; `label` is what that labelling
says, True for `increase`; `score` is 0 or above where the probe says `increase`. `train_accuracy`
is that of the probe on its own training rows, null for ridge regression; `penalty` is null for the
probe.
"""


class ProbeError(InputError, ValueError):
    """Probes that cannot be trained or read as asked; the message says why, and the way out."""


@dataclass(frozen=True)
class Settings:
    """Everything about probes that changes a number.

    Attributes:
        split: `published` learns from `train` and `validation` and asks about `test`; `grouped`
            cross-validates by source.
        n_folds: Turns of the cross-validation.
        seeds: Of first weights, orders, folds and controls; each makes probes of its own.
        n_controls: How many control labellings.
        ridge: Whether to ask ridge regression for a second opinion.
        recipe: How a probe is trained.

    Raises:
        ProbeError: A number that cannot be.
    """

    split: str = "published"
    n_folds: int = 5
    seeds: tuple[int, ...] = (PUBLISHED_SEED,)
    n_controls: int = 1
    ridge: bool = True
    recipe: Recipe = field(default_factory=Recipe)

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise ProbeError(f"no split named {self.split!r}; there are {', '.join(SPLITS)}")
        if not self.seeds or min(self.seeds) < 0 or len(set(self.seeds)) < len(self.seeds):
            raise ProbeError(f"seeds must be whole numbers from 0, each once; got {self.seeds}")
        if self.n_controls < 0:
            raise ProbeError(f"there cannot be {self.n_controls} controls")

    def parts(self, learn: Columns, ask: Columns, seed: int) -> list[Part]:
        """How rows of one category are split.

        Raises:
            SplitError: They cannot be.
        """
        if self.split == "published":
            return published_split(learn, ask)
        return grouped_split(learn, ask, n_folds=self.n_folds, seed=seed)


@dataclass(frozen=True)
class Material:
    """The rows of one category, at one site.

    Attributes:
        taught: Features to learn from, one row each of `learn`.
        tested: Features asked about, one row each of `ask`; often the same.
        learn, ask: Columns `id`, `source_id`, `split`, `label`, `no_effect`.
    """

    taught: Float[np.ndarray, "n_learn width"]
    tested: Float[np.ndarray, "n_ask width"]
    learn: Columns
    ask: Columns

    def scaled(self, part: Part) -> tuple[Float32[np.ndarray, "..."], Float32[np.ndarray, "..."]]:
        """Features to learn from and features asked about, by the scale of the former."""
        train = self.taught[part.train]
        scaling = scaling_of(train)
        return scaling.apply(train), scaling.apply(self.tested[part.test])

    def labellings(
        self, part: Part, n_controls: int, seed: int
    ) -> tuple[Bool[np.ndarray, "..."], Bool[np.ndarray, "..."]]:
        """Of the same rows: the real labels and the controls, one a column."""
        columns = [(self.learn["label"][part.train] == 1, self.ask["label"][part.test] == 1)]
        for control in range(n_controls):
            rng = np.random.default_rng([seed, part.fold, control])
            columns.append(control_labels(self.learn, self.ask, part, rng))
        taught, asked = zip(*columns, strict=True)
        return np.stack(taught, axis=1), np.stack(asked, axis=1)


def predictions(material: Material, settings: Settings) -> pa.Table:
    """Trains the probes of one category and site, and asks them.

    Returns:
        The columns of `PREDICTIONS` but `category` and `site`.

    Raises:
        SplitError: Rows cannot be split as asked.
        ValueError: Features are not finite.
    """
    tables = list(_of_probes(material, settings))
    if settings.ridge:
        tables.append(_of_ridge(material, settings))
    return pa.concat_tables(tables)


def _of_probes(material: Material, settings: Settings) -> Iterator[pa.Table]:
    for seed in settings.seeds:
        for part in settings.parts(material.learn, material.ask, seed):
            train, test = material.scaled(part)
            taught, asked = material.labellings(part, settings.n_controls, seed)
            probes = fit(train, taught, seed=seed, recipe=settings.recipe)
            right = (probes.scores(train) >= 0) == taught
            yield _table(
                material.ask, part, PROBE, seed, asked, probes.scores(test),
                accuracy=right.mean(axis=0),
            )  # fmt: skip


def _of_ridge(material: Material, settings: Settings) -> pa.Table:
    """Learns from every row that some part learns from; a source is never asked about itself."""
    seed = settings.seeds[0]
    parts = settings.parts(material.learn, material.ask, seed)
    part = Part(
        0,
        np.unique(np.concatenate([part.train for part in parts])),
        np.sort(np.concatenate([part.test for part in parts])),
    )
    train, test = material.scaled(part)
    taught, asked = material.labellings(part, settings.n_controls, seed)
    sources, test_sources = (
        rows["source_id"][at]
        for rows, at in ((material.learn, part.train), (material.ask, part.test))
    )
    found = ridge(train, taught, sources, test, test_sources)
    return _table(material.ask, part, RIDGE, seed, asked, found.scores, penalties=found.penalties)


def _table(
    rows: Columns,
    part: Part,
    method: str,
    seed: int,
    labels: np.ndarray,
    scores: np.ndarray,
    *,
    accuracy: np.ndarray | None = None,
    penalties: np.ndarray | None = None,
) -> pa.Table:
    """Predictions of one part, labelling by labelling."""
    n_rows, n_labellings = labels.shape

    def of_all(value: Any) -> list[Any]:
        return [value] * labels.size

    def of_labelling(values: np.ndarray | None) -> pa.Array:
        if values is None:
            return pa.nulls(labels.size, pa.float32())
        return pa.array(np.repeat(values, n_rows), pa.float32())

    items = {name: rows[name][part.test] for name in ("id", "source_id", "no_effect")}
    return pa.table(
        {
            "method": of_all(method),
            "labelling": np.repeat(np.arange(n_labellings), n_rows),
            "seed": of_all(seed),
            "fold": of_all(part.fold),
            **{name: np.tile(column, n_labellings) for name, column in items.items()},
            "label": labels.T.reshape(-1),
            "score": scores.T.reshape(-1).astype(np.float32),
            "n_train": of_all(len(part.train)),
            "train_accuracy": of_labelling(accuracy),
            "penalty": of_labelling(penalties),
        }
    )
