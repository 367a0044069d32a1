"""Alignment of categories: cosines between the directions in which hidden states change.

For a category and a site, the direction is the mean over sources of the state of a rising clip less
that of the falling clip of the same source, tier and curve. Two categories are aligned where their
directions agree, and opposed where they point against each other.

A mean of absolute cosines is never 0, and it is high wherever changes lie along one axis, whatever
their sign. The random null is the same mean with the signs of the changes drawn at random, source
by source and category by category: only what lies above it is evidence of shared directions.

Source: VocalGrad, section 5.4 and appendix C.12: absolute cosine over the 36 pairs of nine
categories.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from otoscope.errors import InputError
from otoscope.probes.files import site_columns
from otoscope.probes.probe_set import categories_of
from otoscope.representations.features import Features
from otoscope.statistics.intervals import Interval, named_interval

SMALLEST_NORM = 1e-12
PAIRS_PER_SOURCE = 12
"""Three tiers by four curves."""

N_RESAMPLES, SEED = 1000, 1234


class AlignmentError(InputError, ValueError):
    """Rows without a direction; the message says which, and why."""


class Alignment(NamedTuple):
    """Angles between the directions of some categories at one site.

    Attributes:
        categories: Names, in the order of rows and columns.
        cosines: Of every two directions, `(n_categories, n_categories)`; NaN where one of them is
            no longer than 1e-12.
        norms: Length of each direction, `(n_categories,)`.
        signed: Mean cosine over unordered pairs of categories, with its 95 % interval from
            resampling sources; NaN if any is.
        absolute: Mean absolute cosine over the same pairs.
        random_null: Mean absolute cosine with signs drawn at random.
    """

    categories: tuple[str, ...]
    cosines: Float[np.ndarray, "n_categories n_categories"]
    norms: Float[np.ndarray, " n_categories"]
    signed: Interval
    absolute: Interval
    random_null: float


def align(
    features: Features,
    site: str,
    *,
    categories: Sequence[str] = (),
    split: str = "test",
    pairs_per_source: int | None = PAIRS_PER_SOURCE,
) -> Alignment:
    """Angles between categories at one site.

    Args:
        features, site, split: Hidden states of clips in both directions.
        categories: At least two; all when empty.
        pairs_per_source: How many pairs every source must have; any number, the same for all, when
            None.

    Raises:
        AlignmentError: Fewer than two categories, a clip without its counterpart, sources that
            differ in number of pairs, or categories that differ in sources.
        FeaturesError: There is no such site.
    """
    names = tuple(categories) or categories_of(features)
    if len(names) < 2:
        raise AlignmentError(f"an angle needs two categories, and there is {', '.join(names)}")
    changes, sources = [], []
    for name in names:
        at = (features.rows["category"] == name) & (features.rows["split"] == split)
        rows = {key: features.rows[key][at] for key in ("source_id", "tier", "curve", "direction")}
        try:
            change = changes_by_source(features.matrix(site, at), rows, pairs_per_source)
        except AlignmentError as error:
            raise AlignmentError(f"{name}, split {split}: {error}") from None
        changes.append(change)
        sources.append(np.unique(rows["source_id"]))
        if not np.array_equal(sources[0], sources[-1]):
            raise AlignmentError(f"{names[0]} and {name} are not made from the same sources")
    return angles(names, np.stack(changes))


def changes_by_source(
    states: np.ndarray,
    rows: Mapping[str, np.ndarray],
    pairs_per_source: int | None = PAIRS_PER_SOURCE,
) -> Float[np.ndarray, "n_sources width"]:
    """Mean over tiers and curves of the state of `up` less that of `down`, source by source.

    Args:
        states: `(n_rows, width)`.
        rows: Columns `source_id`, `tier`, `curve`, `direction`.
        pairs_per_source: As in `align`.

    Returns:
        In the order of the sources' names, float64.

    Raises:
        AlignmentError: No rows, a clip without its counterpart, or another number of pairs.
    """
    conditions = list(zip(rows["source_id"], rows["tier"], rows["curve"], strict=True))
    index_of: dict[str, dict[Any, int]] = {"up": {}, "down": {}}
    for index, (key, direction) in enumerate(zip(conditions, rows["direction"], strict=True)):
        if direction not in index_of:
            raise AlignmentError(f"{'/'.join(key)} has direction {direction!r}, not up or down")
        if key in index_of[direction]:
            raise AlignmentError(f"there are two clips of {'/'.join(key)} with {direction}")
        index_of[direction][key] = index
    if unpaired := sorted(index_of["up"].keys() ^ index_of["down"].keys()):
        raise AlignmentError(
            f"{len(unpaired)} clips have no counterpart in the other direction, such as "
            f"{'/'.join(unpaired[0])}"
        )
    pairs = sorted(index_of["up"])
    names, first, n_pairs = np.unique(
        [key[0] for key in pairs], return_index=True, return_counts=True
    )
    if not len(names):
        raise AlignmentError("there are no clips")
    expected = n_pairs[0] if pairs_per_source is None else pairs_per_source
    if (wrong := n_pairs != expected).any():
        raise AlignmentError(
            f"{wrong.sum()} of {len(names)} sources have not {expected} pairs, such as "
            f"{names[wrong][0]} with {n_pairs[wrong][0]}"
        )
    up, down = ([index_of[direction][key] for key in pairs] for direction in ("up", "down"))
    change = states[up].astype(np.float64) - states[down]
    return np.add.reduceat(change, first) / expected


def angles(
    categories: tuple[str, ...],
    changes: Float[np.ndarray, "n_categories n_sources width"],
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Alignment:
    """Angles between mean changes.

    Args:
        categories, changes: For each category and source, the same sources in the same order.
        n_resamples, seed: Of the intervals and of the random null.
    """
    n_categories, n_sources, _ = changes.shape
    directions = changes.mean(axis=1)
    cosines = _cosines((directions @ directions.T)[None])[0]
    flat = changes.reshape(n_categories * n_sources, -1)
    products = (flat @ flat.T).reshape(n_categories, n_sources, n_categories, n_sources)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(n_sources, np.full(n_sources, 1 / n_sources), size=n_resamples)
    resampled = _cosines(_weighted(np.repeat(drawn[:, None], n_categories, axis=1), products))
    signs = rng.choice([-1.0, 1.0], size=(n_resamples, n_categories, n_sources))
    signed, absolute = _means(cosines[None])
    null_draws = _means(_cosines(_weighted(signs, products)))[1]
    signed_draws, absolute_draws = _means(resampled)
    return Alignment(
        categories=categories,
        cosines=cosines,
        norms=np.linalg.norm(directions, axis=1),
        signed=_interval(float(signed[0]), signed_draws),
        absolute=_interval(float(absolute[0]), absolute_draws),
        random_null=float(null_draws.mean()),
    )


def alignment_table(alignments: Mapping[tuple[str, str], Alignment]) -> pa.Table:
    """One row for each model and site, keyed like `alignments`."""
    rows = [
        {
            "model": model,
            **site_columns(site),
            "n_pairs": math.comb(len(found.categories), 2),
            **named_interval("signed", found.signed),
            **named_interval("absolute", found.absolute),
            "random_null": found.random_null,
        }
        for (model, site), found in alignments.items()
    ]
    return pa.Table.from_pylist(rows)


def validate_same_rows(models: Mapping[str, Features]) -> None:
    """Checks that features of several models are of the same clips and prompts.

    Raises:
        AlignmentError: They are not; the first difference is named.
    """
    (first, features), *others = models.items()
    expected = _labels_and_prompts(features)
    for name, other in others:
        found = _labels_and_prompts(other)
        if missing := expected.keys() ^ found.keys():
            raise AlignmentError(
                f"features of {first} and {name} are not of the same clips: {len(missing)} are in "
                f"one only, such as {min(missing)!r}"
            )
        for item, pair in expected.items():
            if found[item] != pair:
                raise AlignmentError(
                    f"{first} and {name} differ in label or question at {item!r}: {pair} and "
                    f"{found[item]}"
                )


def _labels_and_prompts(features: Features) -> dict[str, tuple[int, str]]:
    rows = features.rows
    pairs = zip(rows["label"].tolist(), rows["prompt"].tolist(), strict=True)
    return dict(zip(rows["id"].tolist(), pairs, strict=True))


def _weighted(weights: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Products of weighted sums over sources: `(n_draws, n_categories, n_categories)`."""
    n_draws, n_categories, _ = weights.shape
    sums = np.empty((n_draws, n_categories, n_categories))
    for a in range(n_categories):
        for b in range(a, n_categories):
            product = ((weights[:, a] @ products[a, :, b]) * weights[:, b]).sum(axis=1)
            sums[:, a, b] = sums[:, b, a] = product
    return sums


def _cosines(products: np.ndarray) -> np.ndarray:
    """From products of directions with one another, `(…, n, n)`; NaN where one has no length."""
    norms = np.sqrt(np.maximum(np.diagonal(products, axis1=-2, axis2=-1), 0))
    norms = np.where(norms > SMALLEST_NORM, norms, np.nan)
    return products / norms[..., :, None] / norms[..., None, :]


def _means(cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and mean absolute cosine over unordered pairs, of each draw."""
    first, second = np.array(list(combinations(range(cosines.shape[-1]), 2))).T
    pairs = cosines[..., first, second]
    return pairs.mean(axis=-1), np.abs(pairs).mean(axis=-1)


def _interval(estimate: float, draws: np.ndarray) -> Interval:
    low, high = np.quantile(draws, [0.025, 0.975])
    return Interval(estimate, min(float(low), estimate), max(float(high), estimate))
