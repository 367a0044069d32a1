"""Accuracy of a study's models by category, with intervals, beside the base model."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from otoscope.probes.table import ALL
from otoscope.reports.scoring import is_correct, sources_of
from otoscope.statistics.clustered_pairs import clustered_difference
from otoscope.statistics.intervals import clustered_interval, named_interval


def answered_rows(
    runs: Mapping[str, pd.DataFrame], models: Iterable[str], categories: Iterable[str], base: str
) -> list[dict[str, Any]]:
    """A row for each model and category, and one over all categories with equal weights.

    Args:
        runs: Scored answers by model.
        models: In order; those without answers are left out.
        categories: In order.
        base: The model that the others are compared with, over the clips that both have.
    """
    found: list[dict[str, Any]] = []
    every = (*categories, ALL)
    for model in (m for m in models if m in runs):
        for category in every:
            own = _of(runs[model], category)
            if own.empty:
                continue
            sources = sources_of(own)
            accuracy = clustered_interval(is_correct(own), sources, groups=_groups(own))
            row = {
                "key": model,
                "category": category,
                "n": len(own),
                "n_sources": len(np.unique(sources)),
                **named_interval("accuracy", accuracy),
            }
            if base in runs and model != base:
                row |= _change(_of(runs[base], category), own)
            found.append(row)
    return found


def _change(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, Any]:
    """Accuracy after less before, over the clips that both have."""
    own = after[after["id"].isin(before["id"])]
    if own.empty:
        return {}
    old = before.set_index("id").loc[own["id"]]
    change = clustered_difference(
        is_correct(own), is_correct(old), sources_of(own), groups=_groups(own)
    )
    return {**named_interval("change", change), "n_shared": len(own)}


def _of(answers: pd.DataFrame, category: str) -> pd.DataFrame:
    return answers if category == ALL else answers[answers["category"] == category]


def _groups(answers: pd.DataFrame) -> np.ndarray:
    return answers["category"].to_numpy(str)
