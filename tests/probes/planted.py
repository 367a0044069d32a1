"""Features of known linear-probe accuracy, and predictions written down by hand."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from otoscope.probes.predictions import PREDICTIONS
from otoscope.representations.features import Features, write_features

PER_SOURCE = 8


def planted(
    folder,
    *,
    n_sources=None,
    categories=("volume", "echo"),
    strength=None,
    width=12,
    seed=0,
    **description,
) -> Features:
    """Three sites: nothing at `text.0`, some at `text.1`, all at `text.2`; a mel site has no label.

    In `text.1` the first number is the label, ±1, plus noise of variance 1, so that no linear probe
    is right more often than 84.1 %, the normal distribution's share below 1. Every source has eight
    clips of each category, half of them rising, and a place of its own in all sites.

    Args:
        folder: New.
        n_sources: Split to number; 30 `train`, 6 `validation` and 14 `test` when None.
        categories: Names.
        strength: Site to size of the label in it.
        width: Numbers a row.
        seed: Of the noise; the rows are the same for every seed.
        description: More for the description.
    """
    sizes = n_sources or {"train": 30, "validation": 6, "test": 14}
    sizes_of_label = strength or {"mel": 0.0, "text.0": 0.0, "text.1": 1.0, "text.2": 8.0}
    rows = [
        (split, category, f"{split}{k}", clip)
        for split, n in sizes.items()
        for category in categories
        for k in range(n)
        for clip in range(PER_SOURCE)
    ]
    split, category, source, clip = (list(column) for column in zip(*rows, strict=True))
    label = np.array(clip) % 2
    rng = np.random.default_rng(seed)
    _, member = np.unique(source, return_inverse=True)
    sites = {}
    for site, size in sizes_of_label.items():
        states = rng.standard_normal((len(rows), width))
        states[:, 1:] += rng.standard_normal((member.max() + 1, width - 1))[member]
        states[:, 0] += size * (2 * label - 1)
        sites[site] = states.astype(np.float16)
    columns = {
        "id": ["-".join(map(str, row)) for row in rows],
        "category": category,
        "label": label,
        "source_id": source,
        "split": split,
        "prompt": ["Does it rise?"] * len(rows),
    }
    about = {"model": {"name": "planted"}, "prompt": "main"} | description
    return write_features(folder, columns, sites, rows_per_block=100, **about)


def predictions_of(labels, scores, *, controls=(), category="volume", seed=1, n_sources=None):
    """Predictions of one probe at `mel` about items `i0`, `i1` …, each of a source of its own.

    Args:
        labels, scores: One an item.
        controls: Labels and scores of each control.
        category, seed: The same for all.
        n_sources: Sources that the items take turns in; as many as there are items when None.
    """
    n = len(labels)
    tables = []
    for k, (label, score) in enumerate([(labels, scores), *controls]):
        columns = {
            "category": [category] * n, "site": ["mel"] * n, "method": ["probe"] * n,
            "labelling": [k] * n, "seed": [seed] * n, "fold": [0] * n,
            "id": [f"i{j}" for j in range(n)],
            "source_id": [f"s{j % (n_sources or n)}" for j in range(n)],
            "label": label, "score": score, "no_effect": [j == 0 for j in range(n)],
            "n_train": [9] * n, "train_accuracy": [0.75] * n, "penalty": [None] * n,
        }  # fmt: skip
        tables.append(pa.table(columns).cast(PREDICTIONS))
    return pa.concat_tables(tables)


def written(folder, *tables):
    """A folder of probes that holds these predictions at `mel`, a table a category."""
    for table in tables:
        path = folder / "predictions" / table["category"][0].as_py() / "mel.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(table, path)
    about = {
        "settings": {"split": "published"},
        "features": {"prompt": "main"},
        "named": {"model": "m", "adapter": "", "dataset": ""},
    }
    (folder / "run.json").write_text(json.dumps(about))
    return folder
