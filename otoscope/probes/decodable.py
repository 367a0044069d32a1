"""Decodable but not answered: for each item, is the probe right, and is the answer right?

The share of items at which only the probe is right includes chance: a probe that guesses is right
about half of the items that are answered wrongly. The chance-corrected share (column
`beyond_guessing`) is the share where only the probe is right less the share where neither is: 0 for
a probe that guesses where the answer is wrong, and the share of wrong answers for one that never
errs.

Items are joined by id. An answer that names no label is wrong.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Bool, Shaped

from otoscope.probes.files import prediction_files, site_columns, site_order
from otoscope.probes.predictions import PROBE, ProbeError
from otoscope.probes.table import ALL, method_predictions
from otoscope.statistics.clustered_pairs import clustered_difference
from otoscope.statistics.intervals import UNKNOWN, Interval, clustered_interval, named_interval
from otoscope.statistics.multiplicity import holm
from otoscope.statistics.pairs import mcnemar_exact, paired_counts

SHARES = (
    "encoded_not_said", "said_not_encoded", "encoded", "said", "encoded_where_wrong",
    "control_where_wrong", "beyond_guessing", "encoded_less_said",
)  # fmt: skip

COLUMNS = pa.schema(
    {
        **dict.fromkeys(("site", "kind"), pa.string()),
        "layer": pa.int32(),
        **dict.fromkeys(("position", "category", "method"), pa.string()),
        **dict.fromkeys(("n", "n_not_asked", "n_sources", "n_seeds"), pa.int64()),
        **dict.fromkeys(("both", "only_probe", "only_answer", "neither"), pa.int64()),
        **dict.fromkeys(
            (c for name in SHARES for c in named_interval(name, UNKNOWN)), pa.float64()
        ),
        **dict.fromkeys(("p_mcnemar", "p_holm"), pa.float64()),
    }
)
"""A row for each site and category, and one for all of them with equal weights.

The names are stored in files and stay: `encoded` is the share of items where the probe is right,
`said` where the answer is. `both`, `only_probe`, `only_answer`, `neither` count items for the first
seed; McNemar's test is of these and takes items as independent. Shares are over all seeds, with
95 % intervals. `encoded_where_wrong` is how often the probe is right where the
answer is not; `control_where_wrong` is the same for probes of control labels. `p_holm` is corrected
for all rows of single categories. `n_not_asked` items were probed and are not in the run.
"""


class JoinedItems(NamedTuple):
    """Items with both a prediction and an answer, one entry for each item and seed.

    Attributes:
        probed, answered: Whether the probe, and the answer, is right.
        sources: Source of each item.
        seeds: Seed of its probe.
        categories: Groups that are weighted equally, whatever their number of items.
        controls: For each control, whether its probe predicts its own labels.
    """

    probed: Bool[np.ndarray, " n_items"]
    answered: Bool[np.ndarray, " n_items"]
    sources: Shaped[np.ndarray, " n_items"]
    seeds: Shaped[np.ndarray, " n_items"]
    categories: Shaped[np.ndarray, " n_items"]
    controls: tuple[Bool[np.ndarray, " n_items"], ...] = ()


def decodable_table(
    probes: str | Path, answers: Mapping[str, bool], *, method: str = PROBE
) -> pa.Table:
    """Joins predictions of probes with a model's answers; columns as in `COLUMNS`.

    Args:
        probes: A folder of probes.
        answers: Item's id to whether its answer is right; False too where it names no label.
        method: Whose predictions: `probe` or `ridge`.

    Raises:
        ProbeError: No predictions of that method, or no answer in a category.
    """
    files = prediction_files(probes)
    rows: list[dict[str, Any]] = []
    for site in sorted({site for _, site in files}, key=site_order):
        categories = sorted(category for category, at in files if at == site)
        tables = {category: pq.read_table(files[category, site]) for category in categories}
        if len(tables) > 1:
            tables[ALL] = pa.concat_tables(tables.values())
        for category, table in tables.items():
            items, n_unanswered = join(table, answers, method)
            about = {"category": category, "method": method, "n_not_asked": n_unanswered}
            rows.append(site_columns(site) | about | shares(items))
    single = [row for row in rows if row["category"] != ALL]
    corrected = holm(np.array([row["p_mcnemar"] for row in single]))
    for row, p_value in zip(single, corrected.tolist(), strict=True):
        row["p_holm"] = p_value
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def join(
    table: pa.Table, answers: Mapping[str, bool], method: str = PROBE
) -> tuple[JoinedItems, int]:
    """Predictions with answers, and the number of probed items without an answer.

    Raises:
        ProbeError: There are none of that method, or no item has an answer.
    """
    if method not in table["method"].unique().to_pylist():
        raise ProbeError(f"there are no predictions by {method!r}; train them first")
    found = method_predictions(table, method)
    ids = found.columns["id"].tolist()
    present = np.array([name in answers for name in ids])
    if not present.any():
        raise ProbeError(
            f"none of the {len(set(ids))} probed items of {found.columns['category'][0]} is in the "
            f"run, such as {ids[0]!r}; probe and run the same dataset and split"
        )
    joined = JoinedItems(
        found.right[present],
        np.array([answers[name] for name in ids if name in answers], bool),
        found.columns["source_id"][present],
        found.columns["seed"][present],
        found.columns["category"][present],
        tuple(right[present] for right in found.controls),
    )
    return joined, int((~present & _first_seed(found.columns["seed"])).sum())


def shares(items: JoinedItems) -> dict[str, Any]:
    """Counts, shares and McNemar's test of items; see `COLUMNS`."""
    probed, answered, sources, seeds, categories, controls = items
    first, wrong = _first_seed(seeds), ~answered
    counts = paired_counts(probed[first], answered[first])
    control_right = np.concatenate([right[wrong] for right in controls] or [probed[:0]])
    control_at = np.tile(np.flatnonzero(wrong), len(controls))

    def share(right: np.ndarray, at: Any = slice(None)) -> Interval:
        return clustered_interval(right, sources[at], groups=categories[at])

    intervals = {
        "encoded_not_said": share(probed & wrong),
        "said_not_encoded": share(answered & ~probed),
        "encoded": share(probed),
        "said": share(answered),
        "encoded_where_wrong": share(probed[wrong], wrong),
        "control_where_wrong": share(control_right, control_at),
        "beyond_guessing": clustered_difference(
            probed & wrong, ~probed & wrong, sources, groups=categories
        ),
        "encoded_less_said": clustered_difference(probed, answered, sources, groups=categories),
    }
    row: dict[str, Any] = {
        "n": counts.n,
        "n_sources": len(np.unique(sources)),
        "n_seeds": len(np.unique(seeds)),
        "both": counts.both,
        "only_probe": counts.only_first,
        "only_answer": counts.only_second,
        "neither": counts.neither,
        "p_mcnemar": mcnemar_exact(counts),
    }
    for name, interval in intervals.items():
        row |= named_interval(name, interval)
    return row


def _first_seed(seeds: np.ndarray) -> np.ndarray:
    return seeds == seeds[0]
