"""Tables of questions that offer other labels than two directions: yes/no, ternary."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pandas as pd

from otoscope.acoustics.design import LABELS
from otoscope.prompts.questions import SOURCE
from otoscope.reports.perception.bias import (
    CHANGED,
    CLIPS,
    CLIPS_WITH,
    FALLING,
    NEITHER,
    QUERIED,
    RISING,
    UNCHANGED,
    by_attribute,
    label_rates,
    predicted,
)
from otoscope.reports.perception.reading import PerceptionRun, clusters_of
from otoscope.reports.perception.scores import ACCURACY, ALL, PARSED, RUN, N, all_first, flat
from otoscope.reports.scoring import with_effect
from otoscope.reports.tables import BOOTSTRAP_CI, ReportTable, TableColumn, with_interval
from otoscope.statistics.direction import DIRECTION_LABELS
from otoscope.statistics.macro_f1 import score_macro_f1


def format_tables(runs: Sequence[PerceptionRun]) -> list[ReportTable]:
    """For each question that offers other labels than two directions: macro F1, predictions."""
    found: dict[str, list[FormatAnswers]] = {}
    for run in runs:
        labelled = with_effect(run.answers[run.answers["label"].notna()])
        for base, answers in labelled.groupby("base_prompt", sort=False):
            offered = tuple(answers["labels"].iloc[0])
            if set(offered) != set(DIRECTION_LABELS):
                found.setdefault(base, []).append(FormatAnswers(run.name, offered, answers))
    tables = []
    for base, answered in found.items():
        tables += [_scores(base, answered), _predictions(base, answered)]
    return tables


class FormatAnswers(NamedTuple):
    """Answers of one run to one format, with the labels that it offers."""

    run: str
    labels: tuple[str, ...]
    answers: pd.DataFrame


def _scores(base: str, answered: Sequence[FormatAnswers]) -> ReportTable:
    rows: list[dict[str, Any]] = []
    for run, labels, answers in answered:
        scores = score_macro_f1(
            answers["label"].tolist(), answers["prediction"].tolist(), labels,
            clusters=clusters_of(answers), by={"category": answers["queried_attribute"].tolist()},
        )  # fmt: skip
        rows += [
            {"category": category, "run": run} | flat(own)
            for category, own in [(ALL, scores), *scores["category"].items()]
        ]
    return ReportTable(
        f"format_{base}",
        f"Question format: {base}",
        (
            QUERIED, RUN, N, *with_interval("macro_f1", "macro F1, %", BOOTSTRAP_CI),
            TableColumn("best_constant", "chance: constant answer, %", "share"),
            TableColumn("uniform_guess", "chance: uniform, %", "share"),
            TableColumn("proportional_guess", "chance: proportional, %", "share"),
            ACCURACY, PARSED,
            *(TableColumn(f"f1_{n}", f"F1 {n}, %", "share") for n in answered[0].labels),
        ),
        all_first(rows),
        (
            "Chance levels of macro F1 depend on the class sizes; they are not one over the "
            "number of labels.",
        ),
    )  # fmt: skip


def _predictions(base: str, answered: Sequence[FormatAnswers]) -> ReportTable:
    rows = [
        {"category": queried, "run": run, "clips": kind} | predicted(own["prediction"], labels)
        for run, labels, answers in answered
        for kind, clips in _by_kind(answers)
        for queried, own in by_attribute(clips)
    ]
    return ReportTable(
        f"predictions_{base}",
        f"Predictions about rising, falling and unchanged clips: {base}",
        (QUERIED, RUN, CLIPS, N, *label_rates(answered[0].labels), NEITHER),
        all_first(rows),
        (
            "Rates that are equal in all three kinds of clips mean that the answer does not depend "
            "on the audio. No prediction: missing or unparsed.",
        ),
    )


def _by_kind(answers: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Rising, falling and unchanged clips; changed ones of unknown direction after these."""
    label = answers["direction"].map(LABELS).fillna(answers["label"])
    kind = label.map(CLIPS_WITH).fillna(CHANGED).mask(answers["kind"] == SOURCE, UNCHANGED)
    for name in (RISING, FALLING, UNCHANGED, CHANGED):
        yield name, answers[kind == name]
