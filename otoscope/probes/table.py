"""One table of linear-probe accuracy: a row for each category, site and method.

Every number is computed from predictions on disk. Intervals (95 %) allow for clips of one source;
several seeds of the same items share their sources, so they add no items.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from otoscope.probes.files import prediction_files, read_about, site_columns, site_order
from otoscope.probes.predictions import CONVERGED, PROBE, REAL
from otoscope.statistics.clustered_pairs import clustered_difference
from otoscope.statistics.intervals import (
    UNKNOWN,
    Interval,
    clustered_interval,
    means_of_groups,
    named_interval,
)
from otoscope.statistics.separation import stratified_auc

ALL = "all"
NAN = float("nan")

COLUMNS = pa.schema(
    {
        **dict.fromkeys(("model", "adapter", "prompt", "split", "site", "kind"), pa.string()),
        "layer": pa.int32(),
        **dict.fromkeys(("position", "category", "method"), pa.string()),
        **dict.fromkeys(("n_train", "n_test", "n_no_effect", "n_sources", "n_seeds"), pa.int64()),
        **dict.fromkeys(
            (
                "accuracy", "accuracy_low", "accuracy_high", "accuracy_least_seed",
                "accuracy_most_seed", "balanced_accuracy", "balanced_accuracy_low",
                "balanced_accuracy_high", "accuracy_up", "accuracy_down", "auc", "auc_low",
                "auc_high", "train_accuracy", "control_accuracy", "control_accuracy_low",
                "control_accuracy_high", "control_train_accuracy", "selectivity",
                "selectivity_low", "selectivity_high", "penalty", "majority",
            ),
            pa.float64(),
        ),
    }
)  # fmt: skip
"""`category` is `all` where categories are averaged with equal weights. `n_test` counts items, not
items times seeds. `accuracy_least_seed` and `accuracy_most_seed` are the worst and the best seed.
`selectivity` is balanced accuracy less that of the controls on the same items: control labels are
balanced even where the real ones are not. `majority` is the share of the more frequent label, which
a constant prediction reaches. Rows of the method `converged` are there where the probe had not
converged when its recipe ended. NaN where a number is not defined: no control, one label only."""


class MethodPredictions(NamedTuple):
    """Predictions of one method, one entry for each item and seed.

    Attributes:
        columns: Those of `PREDICTIONS`, of the real labels.
        right: Whether the prediction is right.
        controls: For each control, whether its probe predicts its labels, same order.
        control_labels: For each control, whether its label is `increase`, same order.
        control_train_accuracy: Mean over splits and controls.
    """

    columns: Mapping[str, np.ndarray]
    right: np.ndarray
    controls: list[np.ndarray]
    control_labels: list[np.ndarray]
    control_train_accuracy: float


def probe_table(folder: str | Path) -> pa.Table:
    """The table of a folder of probes; columns as in `COLUMNS`.

    Categories in order of name; then `all`, for sites that were probed in every category.

    Raises:
        ProbeError: It holds no predictions, or they cannot be read.
    """
    folder = Path(folder)
    about = read_about(folder)
    shared = {
        "model": about["named"]["model"],
        "adapter": about["named"]["adapter"],
        "prompt": str(about["features"].get("prompt") or ""),
        "split": about["settings"]["split"],
    }
    files = prediction_files(folder)
    categories = {category for category, _ in files}
    rows: list[dict[str, Any]] = []
    for site in sorted({site for _, site in files}, key=site_order):
        paths = [path for (_, at), path in sorted(files.items()) if at == site]
        tables = [pq.read_table(path) for path in paths]
        if len(categories) == len(paths) > 1:
            tables.append(pa.concat_tables(_converged_everywhere(tables)))
        for table in tables:
            rows += (shared | row for row in _rows(site, table))
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def method_predictions(table: pa.Table, method: str = PROBE) -> MethodPredictions:
    """Predictions of one method, of the real labels and of the controls."""
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    of_method = columns["method"] == method
    labelled = {
        int(labelling): np.flatnonzero(of_method & (columns["labelling"] == labelling))
        for labelling in np.unique(columns["labelling"][of_method])
    }
    right = (columns["score"] >= 0) == columns["label"]
    controls = [at for labelling, at in labelled.items() if labelling != REAL]
    train_accuracy = np.concatenate([columns["train_accuracy"][at] for at in controls] or [[NAN]])
    real = labelled[REAL]
    return MethodPredictions(
        {name: column[real] for name, column in columns.items()},
        right[real],
        [right[at] for at in controls],
        [columns["label"][at] for at in controls],
        float(train_accuracy.mean()),
    )


def _converged_everywhere(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Tables of several categories: a probe that had converged is its own converged one."""
    needed = [CONVERGED in table["method"].unique().to_pylist() for table in tables]
    if not any(needed):
        return list(tables)
    return [
        table if has else pa.concat_tables([table, _as_converged(table)])
        for table, has in zip(tables, needed, strict=True)
    ]


def _as_converged(table: pa.Table) -> pa.Table:
    of_probe = pc.equal(table["method"], PROBE)
    real, first = pc.equal(table["labelling"], REAL), pc.equal(table["seed"], table["seed"][0])
    own = table.filter(pc.and_(of_probe, pc.and_(real, first)))
    at = table.column_names.index("method")
    return own.set_column(at, table.schema.field(at), pa.array([CONVERGED] * len(own)))


def _rows(site: str, table: pa.Table) -> Iterator[dict[str, Any]]:
    for method in dict.fromkeys(table["method"].to_pylist()):
        found = method_predictions(table, method)
        categories = np.unique(found.columns["category"]).tolist()
        yield {
            **site_columns(site),
            "category": categories[0] if len(categories) == 1 else ALL,
            "method": method,
            **_counts(found.columns),
            **_scores(found),
        }


def _counts(columns: Mapping[str, np.ndarray]) -> dict[str, Any]:
    once = columns["seed"] == columns["seed"][0]
    return {
        "n_train": round(float(columns["n_train"].mean())),
        "n_test": int(once.sum()),
        "n_no_effect": int(columns["no_effect"][once].sum()),
        "n_sources": len(np.unique(columns["source_id"])),
        "n_seeds": len(np.unique(columns["seed"])),
    }


def _scores(found: MethodPredictions) -> dict[str, float]:
    columns, right = found.columns, found.right
    sources, categories, up = columns["source_id"], columns["category"], columns["label"]
    of_seed = [columns["seed"] == seed for seed in np.unique(columns["seed"])]
    by_seed = [_mean(right[at], categories[at]) for at in of_seed]
    scores = {
        **named_interval("accuracy", clustered_interval(right, sources, groups=categories)),
        "accuracy_least_seed": min(by_seed),
        "accuracy_most_seed": max(by_seed),
        **named_interval("balanced_accuracy", _balanced(right, sources, categories, up)),
        "accuracy_up": _mean(right[up], categories[up]),
        "accuracy_down": _mean(right[~up], categories[~up]),
        **named_interval("auc", _auc(columns)),
        "train_accuracy": float(columns["train_accuracy"].mean()),
        "penalty": float(np.median(columns["penalty"])),
        **named_interval("control_accuracy", UNKNOWN),
        **named_interval("selectivity", UNKNOWN),
        "control_train_accuracy": found.control_train_accuracy,
        "majority": _mean(up == _majority(up, categories), categories),
    }
    if not found.controls:
        return scores
    n = len(found.controls)
    second = np.concatenate(found.controls)
    clusters, groups = np.tile(sources, n), np.tile(categories, n)
    return {
        **scores,
        **named_interval("control_accuracy", clustered_interval(second, clusters, groups=groups)),
        **named_interval("selectivity", _selectivity(found)),
    }


def _selectivity(found: MethodPredictions) -> Interval:
    """Balanced accuracy less that of the controls; NaN where a category has one label only.

    Both are means over categories and labels, but a control has labels of its own. So the items of
    both stand one after the other, and the difference is twice the mean over all groups of what is
    right among real labels less what is right among controls'.
    """
    n, columns = len(found.controls), found.columns
    real, control = np.tile(found.right, n), np.concatenate(found.controls)
    labels = np.concatenate([np.tile(columns["label"], n), *found.control_labels])
    of_control = np.repeat([False, True], len(control))
    categories, sources = (np.tile(columns[name], 2 * n) for name in ("category", "source_id"))
    groups = _numbered(categories, labels, of_control)
    if len(np.unique(groups)) < 4 * len(np.unique(categories)):
        return UNKNOWN
    right, none = np.concatenate([real, control]), np.zeros(2 * len(control), bool)
    half = clustered_difference(
        np.where(of_control, none, right), np.where(of_control, right, none), sources,
        groups=groups,
    )  # fmt: skip
    estimate, low, high = (2 * bound for bound in half)
    return Interval(estimate, max(-1.0, low), min(1.0, high))


def _majority(up: np.ndarray, categories: np.ndarray) -> np.ndarray:
    """For each item, whether most items of its category are labelled `increase`."""
    shares, category, _ = means_of_groups(up, categories)
    return shares[category] >= 0.5


def _mean(right: np.ndarray, categories: np.ndarray) -> float:
    """Mean over categories of the share right; NaN of nothing."""
    if not right.size:
        return NAN
    return float(means_of_groups(right, categories)[0].mean())


def _balanced(
    right: np.ndarray, sources: np.ndarray, categories: np.ndarray, up: np.ndarray
) -> Interval:
    """Mean over categories and labels; NaN where a category has one label only."""
    groups = _numbered(categories, up)
    if len(np.unique(groups)) < 2 * len(np.unique(categories)):
        return UNKNOWN
    return clustered_interval(right, sources, groups=groups)


def _auc(columns: Mapping[str, np.ndarray]) -> Interval:
    """Scores are compared within the test items of one probe."""
    strata = _numbered(*(columns[name] for name in ("category", "seed", "fold")))
    scores = columns["score"].astype(np.float64)
    return stratified_auc(scores, columns["label"], strata, columns["source_id"])


def _numbered(*columns: np.ndarray) -> np.ndarray:
    """A number for each combination of values."""
    codes = np.stack([np.unique(column, return_inverse=True)[1] for column in columns], axis=1)
    return np.unique(codes, axis=0, return_inverse=True)[1]
