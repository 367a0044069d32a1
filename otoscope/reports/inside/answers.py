"""Accuracy of a study's models by category, with intervals, beside the base model."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from otoscope.probes.table import ALL
from otoscope.statistics.clustered_pairs import clustered_difference
from otoscope.statistics.intervals import clustered_interval


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
            sources = _sources(own)
            accuracy = clustered_interval(_correct(own), sources, groups=_groups(own))
            row = {
                "key": model, "category": category, "n": len(own),
                "n_sources": len(np.unique(sources)), "accuracy": accuracy.estimate,
                "accuracy_low": accuracy.low, "accuracy_high": accuracy.high,
            }  # fmt: skip
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
    change = clustered_difference(_correct(own), _correct(old), _sources(own), groups=_groups(own))
    return {
        "change": change.estimate,
        "change_low": change.low,
        "change_high": change.high,
        "n_shared": len(own),
    }


def _of(answers: pd.DataFrame, category: str) -> pd.DataFrame:
    return answers if category == ALL else answers[answers["category"] == category]


def _correct(answers: pd.DataFrame) -> np.ndarray:
    return (answers["outcome"] == "correct").to_numpy(bool)


def _groups(answers: pd.DataFrame) -> np.ndarray:
    return answers["category"].to_numpy(str)


def _sources(answers: pd.DataFrame) -> np.ndarray:
    """The source of each clip; a clip without one is its own."""
    sources = answers["source_id"]
    return sources.where(sources.notna(), answers["id"]).to_numpy(str)
