"""One tidy table of what probes can tell: a row for each category, site and method.

Every number comes from predictions on disk. Intervals are 95 % and clustered by source; several
seeds of the same items add nothing but a steadier mean, since they share their sources.
"""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from otoscope.atomic import write_atomic
from otoscope.probes.predicting import PROBE, REAL, RIDGE, ProbeError
from otoscope.representations.sites import site_of
from otoscope.statistics.clustered_pairs import clustered_difference
from otoscope.statistics.intervals import (
    UNKNOWN,
    Interval,
    clustered_interval,
    means_of_groups,
)
from otoscope.statistics.pairs import Difference
from otoscope.statistics.separation import stratified_auc

ALL = "all"
MISSING = "–"
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
                "selectivity_low", "selectivity_high", "penalty",
            ),
            pa.float64(),
        ),
    }
)  # fmt: skip
"""`category` is `all` where categories are averaged with equal weights. `n_test` counts items, not
items times seeds. `accuracy_least_seed` and `accuracy_most_seed` are the worst and the best seed.
`selectivity` is accuracy less that of the controls on the same items. NaN where there is nothing to
tell: no control, one label only."""


class Said(NamedTuple):
    """What probes of one method said, one entry an item and seed.

    Attributes:
        columns: Those of `PREDICTIONS`, of the real labels.
        right: Whether the probe was right.
        controls: For each control, whether its probe was right about its labels, same order.
        control_train_accuracy: Mean over parts and controls.
    """

    columns: Mapping[str, np.ndarray]
    right: np.ndarray
    controls: list[np.ndarray]
    control_train_accuracy: float


def probe_table(folder: str | Path) -> pa.Table:
    """The table of a folder of probes; columns as in `COLUMNS`.

    Categories in order of name; then `all`, for sites that were probed in every category.

    Raises:
        ProbeError: It holds no predictions, or they cannot be read.
    """
    folder = Path(folder)
    about = read_about(folder)
    settings, features = about["settings"], about["features"]
    shared = {
        "model": about["named"]["model"],
        "adapter": about["named"]["adapter"],
        "prompt": str(features.get("prompt") or ""),
        "split": settings["split"],
    }
    files = prediction_files(folder)
    categories = {category for category, _ in files}
    rows: list[dict[str, Any]] = []
    for site in sorted({site for _, site in files}, key=site_order):
        paths = [path for (_, at), path in sorted(files.items()) if at == site]
        tables = [pq.read_table(path) for path in paths]
        if len(categories) == len(paths) > 1:
            tables.append(pa.concat_tables(tables))
        for table in tables:
            rows += (shared | row for row in _rows(site, table))
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def write_tables(folder: str | Path) -> pa.Table:
    """Writes `probes.parquet` and `probes.md` from a folder's predictions, and returns the table.

    Raises:
        ProbeError: As `probe_table`.
    """
    folder = Path(folder)
    table = probe_table(folder)
    write_parquet(table, folder / "probes.parquet")
    write_atomic(folder / "probes.md", probe_markdown(table).encode())
    return table


def write_parquet(table: pa.Table, path: Path) -> None:
    """Writes a table so that it is either whole or as it was."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    write_atomic(path, sink.getvalue().to_pybytes())


def read_about(folder: Path) -> dict[str, Any]:
    """What run.json of a folder of probes says.

    Raises:
        ProbeError: There is none, or it cannot be read.
    """
    try:
        return dict(json.loads((folder / "run.json").read_text(encoding="utf-8")))
    except OSError:
        raise ProbeError(
            f"{folder} holds no probes; train them with `python -m trainers.linear_probe`"
        ) from None
    except ValueError as error:
        raise ProbeError(f"{folder}/run.json cannot be read: {error}") from error


def prediction_files(folder: str | Path) -> dict[tuple[str, str], Path]:
    """The file of each category and site that is done.

    Raises:
        ProbeError: There is none.
    """
    files = {}
    for path in sorted(Path(folder).glob("predictions/*/*.parquet")):
        first = pq.ParquetFile(path).read_row_group(0, columns=["category", "site"])
        files[first["category"][0].as_py(), first["site"][0].as_py()] = path
    if not files:
        raise ProbeError(f"{folder} holds no predictions yet")
    return files


def said(table: pa.Table, method: str = PROBE) -> Said:
    """Predictions of one method, the real ones beside the controls."""
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    of_method = columns["method"] == method
    labelled = {
        int(labelling): np.flatnonzero(of_method & (columns["labelling"] == labelling))
        for labelling in np.unique(columns["labelling"][of_method])
    }
    right = (columns["score"] >= 0) == columns["label"]
    controls = [at for labelling, at in labelled.items() if labelling != REAL]
    by_heart = np.concatenate([columns["train_accuracy"][at] for at in controls] or [[NAN]])
    real = labelled[REAL]
    return Said(
        {name: column[real] for name, column in columns.items()},
        right[real],
        [right[at] for at in controls],
        float(by_heart.mean()),
    )


def _rows(site: str, table: pa.Table) -> Iterator[dict[str, Any]]:
    place = site_of(site)
    for method in dict.fromkeys(table["method"].to_pylist()):
        told = said(table, method)
        categories = np.unique(told.columns["category"]).tolist()
        yield {
            "site": site,
            "kind": place.kind,
            "layer": place.layer,
            "position": place.position or "",
            "category": categories[0] if len(categories) == 1 else ALL,
            "method": method,
            **_counts(told.columns),
            **_scores(told),
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


def _scores(told: Said) -> dict[str, float]:
    columns, right = told.columns, told.right
    sources, categories, up = columns["source_id"], columns["category"], columns["label"]
    of_seed = [columns["seed"] == seed for seed in np.unique(columns["seed"])]
    by_seed = [_mean(right[at], categories[at]) for at in of_seed]
    scores = {
        **_named("accuracy", clustered_interval(right, sources, groups=categories)),
        "accuracy_least_seed": min(by_seed),
        "accuracy_most_seed": max(by_seed),
        **_named("balanced_accuracy", _balanced(right, sources, categories, up)),
        "accuracy_up": _mean(right[up], categories[up]),
        "accuracy_down": _mean(right[~up], categories[~up]),
        **_named("auc", _auc(columns)),
        "train_accuracy": float(columns["train_accuracy"].mean()),
        "penalty": float(np.median(columns["penalty"])),
        **dict.fromkeys(
            (*_named("control_accuracy", UNKNOWN), *_named("selectivity", UNKNOWN)), NAN
        ),
        "control_train_accuracy": told.control_train_accuracy,
    }
    if not told.controls:
        return scores
    n = len(told.controls)
    first, second = np.tile(right, n), np.concatenate(told.controls)
    clusters, groups = np.tile(sources, n), np.tile(categories, n)
    return {
        **scores,
        **_named("control_accuracy", clustered_interval(second, clusters, groups=groups)),
        **_named("selectivity", clustered_difference(first, second, clusters, groups=groups)),
    }


def _named(name: str, interval: Interval | Difference) -> dict[str, float]:
    """An estimate and the ends of its interval.

    >>> _named("auc", Interval(0.5, 0.4, 0.6))
    {'auc': 0.5, 'auc_low': 0.4, 'auc_high': 0.6}
    """
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


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
    """Scores are compared within what one probe was asked about."""
    parts = _numbered(*(columns[name] for name in ("category", "seed", "fold")))
    scores = columns["score"].astype(np.float64)
    return stratified_auc(scores, columns["label"], parts, columns["source_id"])


def _numbered(*columns: np.ndarray) -> np.ndarray:
    """A number for each combination of values."""
    codes = np.stack([np.unique(column, return_inverse=True)[1] for column in columns], axis=1)
    return np.unique(codes, axis=0, return_inverse=True)[1]


def site_order(site: str) -> tuple[str, str, int]:
    """Kinds and positions together, layers in order."""
    place = site_of(site)
    return place.kind, place.position or "", -1 if place.layer is None else place.layer


def probe_markdown(table: pa.Table) -> str:
    """Accuracy in per cent with its interval: a table for each kind of site, a line each layer.

    At token positions it is the balanced accuracy, as in the published tables. The columns that
    follow are about all categories together, or about the only one.
    """
    rows = table.to_pylist()
    about = [f"{name}: {rows[0][name]}" for name in ("model", "adapter", "prompt", "split")]
    texts = [
        "# What a line can tell",
        f"{', '.join(about)}. In per cent, with 95 % intervals by source. Controls learn labels of "
        "which half are swapped, source by source.",
    ]
    for kind, position in dict.fromkeys((row["kind"], row["position"]) for row in rows):
        own = [row for row in rows if (row["kind"], row["position"]) == (kind, position)]
        measure = "balanced_accuracy" if position else "accuracy"
        texts.append(f"## {kind}{'@' + position if position else ''}, {measure.replace('_', ' ')}")
        texts.append(_by_layer(own, measure))
    return "\n\n".join(texts) + "\n"


def _by_layer(rows: list[dict[str, Any]], measure: str) -> str:
    found = {(row["layer"], row["category"], row["method"]): row for row in rows}
    categories = list(dict.fromkeys(row["category"] for row in rows))
    shown = [(category, PROBE, measure) for category in categories]
    shown += [
        (categories[-1], method, name)
        for method, name in (
            (PROBE, "auc"), (PROBE, "control_accuracy"), (PROBE, "selectivity"), (RIDGE, measure),
        )
    ]  # fmt: skip
    titles = [*categories, "AUC", "control", "selectivity", "ridge"]
    lines = [
        f"| layer | {' | '.join(title.replace('_', ' ') for title in titles)} |",
        f"|---:|{'---:|' * len(titles)}",
    ]
    for layer in dict.fromkeys(row["layer"] for row in rows):
        cells = [
            _cell(found.get((layer, category, method)), name) for category, method, name in shown
        ]
        lines.append(f"| {MISSING if layer is None else layer} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(row: Mapping[str, Any] | None, measure: str) -> str:
    if row is None or math.isnan(row[measure]):
        return MISSING
    value, low, high = (100 * row[name] for name in (measure, f"{measure}_low", f"{measure}_high"))
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"
