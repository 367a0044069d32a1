"""What a model encodes and does not say: for each item, is the probe right, and is the answer?

The share of items at which only the probe is right mixes what is encoded with luck: a probe that
guesses is right about half of the items that are answered wrongly. The items at which neither is
right show how much of it is luck, so `beyond_guessing`, only the probe less neither, is what is
left: 0 for a probe that guesses where the answer is wrong, and the share of wrong answers for one
that never errs.

An item is joined by its id. An answer that names no direction, or none at all, does not say it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Bool, Shaped

from otoscope.probes.predicting import PROBE, ProbeError
from otoscope.probes.table import ALL, prediction_files, said, site_order
from otoscope.representations.sites import site_of
from otoscope.statistics.clustered_pairs import clustered_difference
from otoscope.statistics.intervals import clustered_interval
from otoscope.statistics.multiplicity import holm
from otoscope.statistics.pairs import mcnemar_exact, paired_counts

SHARES = (
    "encoded_not_said", "said_not_encoded", "encoded", "said", "encoded_where_wrong",
    "control_where_wrong", "beyond_guessing", "encoded_less_said",
)  # fmt: skip
ENDS = ("", "_low", "_high")

COLUMNS = pa.schema(
    {
        **dict.fromkeys(("site", "kind"), pa.string()),
        "layer": pa.int32(),
        **dict.fromkeys(("position", "category", "method"), pa.string()),
        **dict.fromkeys(("n", "n_not_asked", "n_sources", "n_seeds"), pa.int64()),
        **dict.fromkeys(("both", "only_probe", "only_answer", "neither"), pa.int64()),
        **dict.fromkeys((name + end for name in SHARES for end in ENDS), pa.float64()),
        **dict.fromkeys(("p_mcnemar", "p_holm"), pa.float64()),
    }
)
"""A row for each site and category, and one for all of them with equal weights.

`both`, `only_probe`, `only_answer`, `neither` count items for the first seed; McNemar's test is
about these and takes items as independent. Shares are over all seeds, with 95 % intervals by
source. `encoded_where_wrong` is how often the probe is right where the answer is not, and
`control_where_wrong` the same of probes of control labels, which are right by luck. `p_holm` is
corrected for all rows of single categories. `n_not_asked` items were probed and are not in the run.
"""


class Joined(NamedTuple):
    """Items that were both probed and asked about, one entry an item and seed.

    Attributes:
        probed, answered: Whether the probe, and the answer, is right.
        sources: Which source each item is made from.
        seeds: Which seed's probe it is.
        categories: What counts alike, however many items it has.
        controls: For each control, whether its probe is right about its own labels.
    """

    probed: Bool[np.ndarray, " n_items"]
    answered: Bool[np.ndarray, " n_items"]
    sources: Shaped[np.ndarray, " n_items"]
    seeds: Shaped[np.ndarray, " n_items"]
    categories: Shaped[np.ndarray, " n_items"]
    controls: tuple[Bool[np.ndarray, " n_items"], ...] = ()


def encoded_table(
    probes: str | Path, answers: Mapping[str, bool], *, method: str = PROBE
) -> pa.Table:
    """Joins what probes say with what a model answered; columns as in `COLUMNS`.

    Args:
        probes: A folder of probes.
        answers: Item's id to whether its answer is right; False too where it names no direction.
        method: Whose predictions: `probe` or `ridge`.

    Raises:
        ProbeError: No predictions of that method, or a category of which nothing was asked.
    """
    files = prediction_files(probes)
    rows: list[dict[str, Any]] = []
    for site in sorted({site for _, site in files}, key=site_order):
        categories = sorted(category for category, at in files if at == site)
        tables = {category: pq.read_table(files[category, site]) for category in categories}
        if len(tables) > 1:
            tables[ALL] = pa.concat_tables(tables.values())
        for category, table in tables.items():
            items, n_not_asked = join(table, answers, method)
            place = site_of(site)
            rows.append(
                {
                    "site": site,
                    "kind": place.kind,
                    "layer": place.layer,
                    "position": place.position or "",
                    "category": category,
                    "method": method,
                    "n_not_asked": n_not_asked,
                    **encoded(items),
                }
            )
    single = [row for row in rows if row["category"] != ALL]
    corrected = holm(np.array([row["p_mcnemar"] for row in single]))
    for row, p_value in zip(single, corrected.tolist(), strict=True):
        row["p_holm"] = p_value
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def join(table: pa.Table, answers: Mapping[str, bool], method: str = PROBE) -> tuple[Joined, int]:
    """Predictions with answers, and how many probed items were not asked about.

    Raises:
        ProbeError: There are none of that method, or nothing was asked.
    """
    if method not in table["method"].unique().to_pylist():
        raise ProbeError(f"there are no predictions by {method!r}; train them first")
    told = said(table, method)
    ids = told.columns["id"].tolist()
    asked = np.array([name in answers for name in ids])
    if not asked.any():
        raise ProbeError(
            f"none of the {len(set(ids))} probed items of {told.columns['category'][0]} was asked "
            f"about, such as {ids[0]!r}; probe and ask about the same dataset and split"
        )
    joined = Joined(
        told.right[asked],
        np.array([answers[name] for name in ids if name in answers], bool),
        told.columns["source_id"][asked],
        told.columns["seed"][asked],
        told.columns["category"][asked],
        tuple(right[asked] for right in told.controls),
    )
    return joined, int((~asked & _first_seed(told.columns["seed"])).sum())


def encoded(items: Joined) -> dict[str, Any]:
    """Counts, shares and McNemar's test of items; see `COLUMNS`."""
    probed, answered, sources, seeds, categories, controls = items
    first, wrong = _first_seed(seeds), ~answered
    counts = paired_counts(probed[first], answered[first])
    by_luck = np.concatenate([right[wrong] for right in controls] or [probed[:0]])
    shares = {
        "encoded_not_said": clustered_interval(probed & wrong, sources, groups=categories),
        "said_not_encoded": clustered_interval(answered & ~probed, sources, groups=categories),
        "encoded": clustered_interval(probed, sources, groups=categories),
        "said": clustered_interval(answered, sources, groups=categories),
        "encoded_where_wrong": clustered_interval(
            probed[wrong], sources[wrong], groups=categories[wrong]
        ),
        "control_where_wrong": clustered_interval(
            by_luck,
            np.tile(sources[wrong], len(controls)),
            groups=np.tile(categories[wrong], len(controls)),
        ),
        "beyond_guessing": clustered_difference(
            probed & wrong, ~probed & wrong, sources, groups=categories
        ),
        "encoded_less_said": clustered_difference(probed, answered, sources, groups=categories),
    }
    ends = {
        name + end: value
        for name, interval in shares.items()
        for end, value in zip(ENDS, interval, strict=True)
    }
    return {
        "n": counts.n,
        "n_sources": len(np.unique(sources)),
        "n_seeds": len(np.unique(seeds)),
        "both": counts.both,
        "only_probe": counts.only_first,
        "only_answer": counts.only_second,
        "neither": counts.neither,
        **ends,
        "p_mcnemar": mcnemar_exact(counts).p_value,
    }


def _first_seed(seeds: np.ndarray) -> np.ndarray:
    return seeds == seeds[0]
