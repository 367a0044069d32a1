"""Do a model's states move the same way whatever rises? Directions of change, and their angles.

For a category and a site, the direction is the mean over sources of how far the state of a rising
clip lies from that of the falling clip of the same source, tier and curve. Two categories are
aligned where their directions point the same way, and opposed where one points against the other.

A mean of absolute cosines is never 0, and it is high wherever changes lie along one axis, whichever
way they go. `by_chance` says what it is when rising and falling are told apart by lot, source by
source and category by category: only what lies beyond that speaks of directions.

Source: VocalGrad, 6.3 and appendix F: absolute cosine over the 36 pairs of nine categories.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from otoscope.errors import InputError
from otoscope.probes.study import categories_of
from otoscope.representations.features import Features
from otoscope.representations.sites import site_of

SMALLEST_NORM = 1e-12
PAIRS_PER_SOURCE = 12
"""Three tiers by four curves."""

N_RESAMPLES, SEED = 1000, 1234


class AlignmentError(InputError, ValueError):
    """Rows that give no direction; the message says which, and why."""


class Alignment(NamedTuple):
    """Angles between the directions of some categories at one site.

    Attributes:
        categories: Names, in the order of rows and columns.
        cosines: Of every two directions, `(n_categories, n_categories)`; NaN where one of them is
            no longer than 1e-12.
        norms: Length of each direction, `(n_categories,)`.
        signed: Mean cosine over unordered pairs of categories; NaN if any is.
        absolute: Mean absolute cosine over the same pairs.
        signed_interval, absolute_interval: 95 %, from resampling sources.
        by_chance: Mean absolute cosine where what rises is decided by lot.
    """

    categories: tuple[str, ...]
    cosines: Float[np.ndarray, "n_categories n_categories"]
    norms: Float[np.ndarray, " n_categories"]
    signed: float
    absolute: float
    signed_interval: tuple[float, float]
    absolute_interval: tuple[float, float]
    by_chance: float


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
        features: Of clips in both directions.
        site: A name.
        categories: Which; all when empty. At least two.
        split: Whose clips.
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
    cells = list(zip(rows["source_id"], rows["tier"], rows["curve"], strict=True))
    found: dict[str, dict[Any, int]] = {"up": {}, "down": {}}
    for place, (cell, direction) in enumerate(zip(cells, rows["direction"], strict=True)):
        if direction not in found:
            raise AlignmentError(f"{'/'.join(cell)} goes {direction!r}, neither up nor down")
        if cell in found[direction]:
            raise AlignmentError(f"there are two clips of {'/'.join(cell)} that go {direction}")
        found[direction][cell] = place
    if alone := sorted(found["up"].keys() ^ found["down"].keys()):
        raise AlignmentError(
            f"{len(alone)} clips have no counterpart in the other direction, such as "
            f"{'/'.join(alone[0])}"
        )
    pairs = sorted(found["up"])
    names, first, n_pairs = np.unique(
        [cell[0] for cell in pairs], return_index=True, return_counts=True
    )
    if not len(names):
        raise AlignmentError("there are no clips")
    expected = n_pairs[0] if pairs_per_source is None else pairs_per_source
    if (wrong := n_pairs != expected).any():
        raise AlignmentError(
            f"{wrong.sum()} of {len(names)} sources have not {expected} pairs, such as "
            f"{names[wrong][0]} with {n_pairs[wrong][0]}"
        )
    up, down = ([found[way][cell] for cell in pairs] for way in ("up", "down"))
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
        categories: Names.
        changes: For each category and source, the same sources in the same order.
        n_resamples, seed: Of the intervals and of the lot.
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
    lot = _means(_cosines(_weighted(signs, products)))
    signed_draws, absolute_draws = _means(resampled)
    return Alignment(
        categories=categories,
        cosines=cosines,
        norms=np.linalg.norm(directions, axis=1),
        signed=float(signed[0]),
        absolute=float(absolute[0]),
        signed_interval=_interval(float(signed[0]), signed_draws),
        absolute_interval=_interval(float(absolute[0]), absolute_draws),
        by_chance=float(lot[1].mean()),
    )


def alignment_table(alignments: Mapping[tuple[str, str], Alignment]) -> pa.Table:
    """One row for each model and site, keyed like `alignments`."""
    rows = []
    for (model, site), found in alignments.items():
        place = site_of(site)
        rows.append(
            {
                "model": model,
                "site": site,
                "kind": place.kind,
                "layer": place.layer,
                "position": place.position or "",
                "n_pairs": len(found.categories) * (len(found.categories) - 1) // 2,
                "signed": found.signed,
                "signed_low": found.signed_interval[0],
                "signed_high": found.signed_interval[1],
                "absolute": found.absolute,
                "absolute_low": found.absolute_interval[0],
                "absolute_high": found.absolute_interval[1],
                "by_chance": found.by_chance,
            }
        )
    return pa.Table.from_pylist(rows)


def refuse_other_rows(models: Mapping[str, Features]) -> None:
    """Makes sure that models were looked into over the same clips, asked about in the same words.

    Raises:
        AlignmentError: They were not; the first difference is named.
    """
    (first, features), *others = models.items()
    expected = _asked_of(features)
    for name, other in others:
        found = _asked_of(other)
        if missing := expected.keys() ^ found.keys():
            raise AlignmentError(
                f"{first} and {name} were not looked into over the same clips: {len(missing)} are "
                f"in one only, such as {min(missing)!r}"
            )
        for item, asked in expected.items():
            if found[item] != asked:
                raise AlignmentError(
                    f"{first} and {name} differ in label or question at {item!r}: {asked} and "
                    f"{found[item]}"
                )


def _asked_of(features: Features) -> dict[str, tuple[int, str]]:
    rows = features.rows
    return dict(
        zip(
            rows["id"].tolist(),
            zip(rows["label"].tolist(), rows["prompt"].tolist(), strict=True),
            strict=True,
        )
    )


def _weighted(weights: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Products of weighted sums over sources: `(n_draws, n_categories, n_categories)`."""
    n_draws, n_categories, _ = weights.shape
    made = np.empty((n_draws, n_categories, n_categories))
    for a in range(n_categories):
        for b in range(a, n_categories):
            product = ((weights[:, a] @ products[a, :, b]) * weights[:, b]).sum(axis=1)
            made[:, a, b] = made[:, b, a] = product
    return made


def _cosines(products: np.ndarray) -> np.ndarray:
    """From products of directions with one another, `(…, n, n)`; NaN where one has no length."""
    norms = np.sqrt(np.maximum(np.diagonal(products, axis1=-2, axis2=-1), 0))
    norms = np.where(norms > SMALLEST_NORM, norms, np.nan)
    return products / norms[..., :, None] / norms[..., None, :]


def _means(cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and mean absolute cosine over unordered pairs, of each draw."""
    one, other = np.array(list(combinations(range(cosines.shape[-1]), 2))).T
    pairs = cosines[..., one, other]
    return pairs.mean(axis=-1), np.abs(pairs).mean(axis=-1)


def _interval(estimate: float, draws: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(draws, [0.025, 0.975])
    return min(float(low), estimate), max(float(high), estimate)
