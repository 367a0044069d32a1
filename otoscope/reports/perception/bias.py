"""Tables of response bias: which labels are predicted, whether correct or not."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from otoscope.prompts.questions import SOURCE
from otoscope.reports.perception.published import CATEGORIES, PUBLISHED, published_table
from otoscope.reports.perception.reading import PerceptionRun, counts_by, distinct
from otoscope.reports.perception.scores import ALL, INCREASE, RUN, N, all_first
from otoscope.reports.scoring import with_effect
from otoscope.reports.tables import (
    INCREASE_RATE_OF,
    ReportTable,
    TableColumn,
    cross_shares,
)
from otoscope.statistics.direction import DIRECTION_LABELS
from otoscope.statistics.labels import ratio

SOURCE_PROMPT = "source_bias"
RISING, FALLING, CHANGED, UNCHANGED = "rising", "falling", "rising and falling", "unchanged"
CLIPS_WITH = {"increase": RISING, "decrease": FALLING}
QUERIED = TableColumn("category", "attribute in the question", "name")
CLIPS = TableColumn("clips", "clips")
NEITHER = TableColumn("neither", "no prediction, %", "share")

RunAnswers = Sequence[tuple[PerceptionRun, pd.DataFrame]]


def bias_table(answered: RunAnswers) -> ReportTable:
    """Predictions about clips that rise, that fall, and that do not change, by attribute.

    Args:
        answered: Runs with their answers about clips, which may be none; those about unchanged
            clips are taken from the run.
    """
    rows = []
    for run, clips in answered:
        changed = with_effect(clips)
        kinds = {
            CLIPS_WITH[label]: changed[changed["label"] == label]
            for label in DIRECTION_LABELS[::-1]
        }
        for kind, answers in (kinds | {UNCHANGED: unchanged(run)}).items():
            rows += [
                {"category": queried, "run": run.name, "clips": kind} | _rates(own["prediction"])
                for queried, own in by_attribute(answers)
            ]
    return ReportTable(
        "prediction_rates",
        "Predictions about rising, falling and unchanged clips",
        (QUERIED, RUN, CLIPS, N, *label_rates(DIRECTION_LABELS[::-1]), NEITHER, INCREASE),
        all_first(rows),
        (
            'A model that perceives the factor predicts "increase" about rising clips and not '
            "about falling ones. Equal rates mean that the answer does not depend on the audio. No "
            'prediction: missing or unparsed. Predicted "increase": of parsed answers.',
        ),
    )


def unchanged(run: PerceptionRun) -> pd.DataFrame:
    """Answers about the direction in unchanged clips."""
    answers = run.answers
    prompts = answers["base_prompt"].map(lambda name: name.startswith(SOURCE_PROMPT)).astype(bool)
    return answers[(answers["kind"] == SOURCE) & prompts]


def by_attribute(answers: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """All answers as `all`, then those about each attribute; nothing of no answers."""
    if len(answers):
        yield ALL, answers
        yield from answers.groupby("queried_attribute")


def label_rates(labels: Iterable[str]) -> list[TableColumn]:
    """The columns of `predicted`."""
    return [TableColumn(label, f"{label}, %", "share") for label in labels]


def predicted(predictions: pd.Series, labels: Iterable[str]) -> dict[str, Any]:
    """How often each label was predicted, and none, of all planned questions."""
    n = len(predictions)
    counts = {label: int((predictions == label).sum()) for label in labels}
    rates = {label: ratio(count, n) for label, count in counts.items()}
    return {"n": n, **rates, "neither": ratio(int(predictions.isna().sum()), n)}


def _rates(predictions: pd.Series) -> dict[str, Any]:
    n_parsed = int(predictions.notna().sum())
    share = ratio(int((predictions == "increase").sum()), n_parsed) if n_parsed else None
    return predicted(predictions, DIRECTION_LABELS) | {"increase_share": share}


def extremes_table(answered: RunAnswers) -> ReportTable:
    """The rate of "increase": its mean, maximum and minimum over attributes.

    The published models stand below where the answers are to a question that they were asked.

    Args:
        answered: As of `bias_table`.
    """
    rows = []
    published = False
    for run, clips in answered:
        for kind, answers in ((CHANGED, clips), (UNCHANGED, unchanged(run))):
            if not len(answers):
                continue
            counts = counts_by(answers.assign(run=run.name), "run", "queried_attribute")
            (shares,) = cross_shares(counts, "run", "queried_attribute", INCREASE_RATE_OF)
            rows.append(_extremes(shares, "run") | {"clips": kind, "origin": "this report"})
        published |= distinct(clips, "base_prompt") == ["main"] and set(CATEGORIES) == set(
            clips["queried_attribute"]
        )
    if published:
        key = PUBLISHED["main"].row
        rows += [
            _extremes(dict(row), key) | {"clips": CHANGED, "origin": "published"}
            for row in published_table("main", INCREASE_RATE_OF).rows
        ]
    return ReportTable(
        "increase_rates",
        'Predicted "increase" over attributes, % of parsed answers',
        (
            TableColumn("run", "model or run", "run"), TableColumn("origin", "from"), CLIPS,
            TableColumn("n_attributes", "attributes", "count"),
            TableColumn("average", "average", "share"),
            TableColumn("max", "largest", "share"), TableColumn("max_category", "of", "name"),
            TableColumn("min", "smallest", "share"), TableColumn("min_category", "of", "name"),
        ),
        tuple(rows),
        (
            "Average: each attribute has the same weight. The published answers about unchanged "
            "clips are not among the published counts.",
        ),
    )  # fmt: skip


def _extremes(shares: dict[str, Any], key: str) -> dict[str, Any]:
    """One row; attributes without a parsed answer have no rate, and then there is no average."""
    known = {k: v for k, v in shares.items() if k not in (key, "average") and v is not None}
    row = {"run": shares[key], "n_attributes": len(known), "average": shares["average"]}
    if known:
        most, least = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
        row |= {"max": known[most], "max_category": most}
        row |= {"min": known[least], "min_category": least}
    return row
