"""What the models of a study answer about each category, with intervals, beside the base model."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from otoscope.probes.table import ALL
from otoscope.reports.readings import Answers
from otoscope.statistics.clustered_pairs import clustered_difference
from otoscope.statistics.intervals import clustered_interval

Row = dict[str, Any]


def answered_rows(
    runs: Mapping[str, Answers], models: Iterable[str], categories: Iterable[str], base: str
) -> list[Row]:
    """A row a model and category, and one over all categories, which count alike.

    Args:
        runs: Answers by model.
        models: In order; those without answers are passed over.
        categories: In order.
        base: The model that the others are compared with, over the clips that both were asked
            about.
    """
    found: list[Row] = []
    every = (*categories, ALL)
    for model in (m for m in models if m in runs):
        for category in every:
            own = _of(runs[model], category)
            if not len(own):
                continue
            right, groups = own["outcome"] == "correct", own["category"].astype(str)
            share = clustered_interval(right.astype(bool), _sources(own), groups=groups)
            row = {
                "key": model, "asked": category, "n": len(own),
                "n_sources": len(np.unique(_sources(own))), "accuracy": share.estimate,
                "accuracy_low": share.low, "accuracy_high": share.high,
            }  # fmt: skip
            if base in runs and model != base:
                row |= _change(_of(runs[base], category), own)
            found.append(row)
    return found


def _change(before: Answers, after: Answers) -> Row:
    """Accuracy after less before, over the clips that both were asked about."""
    place = {name: k for k, name in enumerate(before["id"])}
    shared = np.array([name in place for name in after["id"]], dtype=bool)
    own = after.at(shared)
    if not len(own):
        return {}
    old = before.at(np.array([place[name] for name in own["id"]]))
    change = clustered_difference(
        (own["outcome"] == "correct").astype(bool),
        (old["outcome"] == "correct").astype(bool),
        _sources(own),
        groups=own["category"].astype(str),
    )
    return {
        "change": change.estimate,
        "change_low": change.low,
        "change_high": change.high,
        "n_shared": len(own),
    }


def _of(answers: Answers, category: str) -> Answers:
    return answers if category == ALL else answers.where(category=category)


def _sources(answers: Answers) -> np.ndarray:
    """The source of each clip; one that names none is its own."""
    pairs = zip(answers["source_id"], answers["id"], strict=True)
    return np.array([str(source or name) for source, name in pairs])
