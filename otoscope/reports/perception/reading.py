"""Perception runs: the kind of each question and the attribute it names."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from otoscope.audits.runs import RunError
from otoscope.prompts.questions import SOURCE, split_name
from otoscope.reports.scoring import ScoredRun, score_runs
from otoscope.statistics.direction import DIRECTION_LABELS

AUDIT = "perception"
BEEP, CLIP, CROSS = "beep", "clip", "cross"
OPTIONAL = ("attribute", "config", "profile", "direction", "curve", "tier", "no_effect")


@dataclass(frozen=True)
class PerceptionRun(ScoredRun):
    """A perception run. Beside the columns of `score` there are:

    - `base_prompt`: the prompt's name without `@attribute`.
    - `queried_attribute`: what the question names, written like a category.
    - `kind`: `clip`, `beep`, `source`, or `cross` where a clip's question names another attribute.
    """

    @cached_property
    def clips(self) -> pd.DataFrame:
        """Questions about the direction in a changed clip that name its own attribute."""
        return about_direction(self.answers[self.answers["kind"] == CLIP])


def read_perception(paths: Sequence[Path | str]) -> list[PerceptionRun]:
    """Every run, scored.

    Raises:
        RunError: Not a perception run, of another schema, or its plan lacks a column.
        LookupError: A question names a parser that does not exist.
    """
    runs = score_runs(paths, AUDIT)
    for run in runs:
        for name in ("category", "labels"):
            if len(run.answers) and run.answers[name].isna().all():
                raise RunError(f"{run.name}: its plan.parquet has no {name}")
    return [PerceptionRun(run.name, run.about, with_kinds(run.answers)) for run in runs]


def with_kinds(answers: pd.DataFrame) -> pd.DataFrame:
    """Answers with the columns of `PerceptionRun`; None in those that a dataset may lack."""
    answers = answers.assign(**{name: None for name in OPTIONAL if name not in answers})
    keys = answers[["prompt_name", "category", "attribute", "config"]]
    added = [_kind(*row) for row in keys.itertuples(index=False)]
    names = ("base_prompt", "queried_attribute", "kind")
    return answers.join(pd.DataFrame(added, answers.index, names, dtype=object))


def _kind(
    prompt_name: str, category: str, attribute: str | None, config: str | None
) -> tuple[str, str, str]:
    base, crossed = split_name(prompt_name)
    kind = BEEP if config == BEEP else CLIP
    if category == SOURCE:
        kind = SOURCE
    elif crossed is not None:
        kind = CROSS
    return base, attribute.replace(" ", "_") if attribute else category, kind


def about_direction(answers: pd.DataFrame) -> pd.DataFrame:
    """Questions with a reference label that offer the two directions and nothing else."""
    two = [
        labels is not None and set(labels) == set(DIRECTION_LABELS) for labels in answers["labels"]
    ]
    return answers[np.array(two, dtype=bool) & answers["label"].notna()]


def distinct(answers: pd.DataFrame, column: str) -> list[Any]:
    """Values of a column in order of first appearance, without None."""
    return list(answers[column].dropna().unique())


def clusters_of(answers: pd.DataFrame) -> list[str] | None:
    """The source of each clip; None where some have none."""
    sources = answers["source_id"]
    return None if sources.empty or sources.isna().any() else sources.tolist()


def counts_by(answers: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Counts of questions, and of correct, parsed and "increase" answers, by values of columns."""
    flags = pd.DataFrame(
        {
            **{name: answers[name] for name in columns},
            "n": 1,
            "n_correct": answers["outcome"] == "correct",
            "n_parsed": answers["prediction"].notna(),
            "n_increase": answers["prediction"] == "increase",
        }
    )
    return flags.groupby(list(columns), as_index=False).sum()
