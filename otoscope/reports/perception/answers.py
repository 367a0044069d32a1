"""Tables of predictions, whether correct or not: response bias, prompts, formats."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from otoscope.prompts.questions import SOURCE
from otoscope.reports.perception.reading import (
    CLIP,
    CROSS,
    PerceptionRun,
    about_direction,
    clusters_of,
    counts_by,
    distinct,
)
from otoscope.reports.perception.scores import (
    ACCURACY,
    ALL,
    CATEGORY,
    CLUSTERED,
    INCREASE,
    PARSED,
    PROMPT,
    RUN,
    WILSON,
    N,
    all_first,
    flat,
    scores_of,
)
from otoscope.reports.tables import (
    ACCURACY_OF,
    INCREASE_RATE_OF,
    ReportTable,
    TableColumn,
    cross_shares,
    share_matrix,
    with_interval,
)
from otoscope.statistics.direction import DIRECTION_LABELS
from otoscope.statistics.labels import ratio
from otoscope.statistics.macro_f1 import score_macro_f1

SOURCE_PROMPT = "source_bias"
CLIPS_WITH = {"increase": "rising", "decrease": "falling", None: "unchanged"}
QUERIED = TableColumn("category", "attribute in the question", "name")
CROSS_NOTE = (
    "Scored by the clip's own direction. An accuracy far from 50 % off the diagonal means that the "
    "answer follows a factor that the question does not name."
)

RunAnswers = Sequence[tuple[PerceptionRun, pd.DataFrame]]


def bias_table(answered: RunAnswers) -> ReportTable:
    """Predictions about clips that rise, that fall, and that do not change, by attribute.

    Args:
        answered: Runs with their answers about clips; those about unchanged clips are taken from
            the run.
    """
    rows = []
    for run, clips in answered:
        kinds = {
            CLIPS_WITH[label]: clips[clips["label"] == label] for label in DIRECTION_LABELS[::-1]
        }
        for kind, answers in (kinds | {CLIPS_WITH[None]: unchanged(run)}).items():
            groups = dict(list(answers.groupby("queried_attribute")))
            for queried, own in ({ALL: answers} | groups if groups else {}).items():
                row = {"category": queried, "run": run.name, "clips": kind}
                rows.append(row | _predicted(own["prediction"]))
    return ReportTable(
        "prediction_rates",
        "Predictions about rising, falling and unchanged clips",
        (
            QUERIED, RUN, TableColumn("clips", "clips"), N,
            TableColumn("increase", "increase, %", "share"),
            TableColumn("decrease", "decrease, %", "share"),
            TableColumn("neither", "no prediction, %", "share"), INCREASE,
        ),
        all_first(rows),
        (
            'A model that perceives the factor predicts "increase" about rising clips and not '
            "about falling ones. Equal rates mean that the answer does not depend on the audio. No "
            'prediction: missing or unparsed. Predicted "increase": of parsed answers.',
        ),
    )  # fmt: skip


def unchanged(run: PerceptionRun) -> pd.DataFrame:
    """Answers about the direction in unchanged clips."""
    answers = run.answers
    prompts = answers["base_prompt"].map(lambda name: name.startswith(SOURCE_PROMPT)).astype(bool)
    return answers[(answers["kind"] == SOURCE) & prompts]


def _predicted(predictions: pd.Series) -> dict[str, Any]:
    n, n_parsed = len(predictions), int(predictions.notna().sum())
    n_increase, n_decrease = (int((predictions == label).sum()) for label in DIRECTION_LABELS[::-1])
    return {
        "n": n,
        "increase": ratio(n_increase, n),
        "decrease": ratio(n_decrease, n),
        "neither": ratio(n - n_parsed, n),
        "increase_share": ratio(n_increase, n_parsed) if n_parsed else None,
    }


def prompt_tables(runs: Sequence[PerceptionRun]) -> list[ReportTable]:
    """Accuracy and rate of "increase" by prompt and category; none where only one was used."""
    by_prompt = [
        (run, base, own)
        for run in runs
        for base, own in run.clips.groupby("base_prompt", sort=False)
    ]
    if len({base for _, base, _ in by_prompt}) < 2:
        return []
    rows = [
        {"run": run.name, "prompt": base} | scores_of(own, broken_down=False)
        for run, base, own in by_prompt
    ]
    counts = pd.concat(
        [counts_by(own, "category").assign(nth=i) for i, (_, _, own) in enumerate(by_prompt)]
    )
    columns = sorted(counts["category"].unique())
    tables = [
        ReportTable(
            "accuracy_by_prompt",
            "Accuracy by prompt",
            (RUN, PROMPT, ACCURACY, CLUSTERED, WILSON, N, PARSED, INCREASE),
            tuple(rows),
            ("Over all categories that the prompt is worded for.",),
        )
    ]
    for name, title, share in (
        ("accuracy", "Accuracy by prompt and category, %", ACCURACY_OF),
        ("increase", 'Predicted "increase" by prompt and category, % of parsed', INCREASE_RATE_OF),
    ):
        shares = cross_shares(counts, "nth", "category", share, columns=columns)
        records = [
            {"run": run.name, "prompt": base} | row
            for (run, base, _), row in zip(by_prompt, shares, strict=True)
        ]
        corner = (RUN, PROMPT, TableColumn("average", "average", "share"))
        name = f"{name}_by_prompt_and_category"
        tables.append(share_matrix(name, title, corner, columns, records))
    return tables


def cross_tables(runs: Sequence[PerceptionRun]) -> list[ReportTable]:
    """For each run and prompt with crossed questions: category of the clip by attribute named."""
    tables: list[ReportTable] = []
    for run in runs:
        crossed = about_direction(run.answers[run.answers["kind"] == CROSS])
        for base in distinct(crossed, "base_prompt"):
            chosen = (run.answers["base_prompt"] == base) & run.answers["kind"].isin([CLIP, CROSS])
            both = about_direction(run.answers[chosen])
            columns = sorted(distinct(both, "queried_attribute"))
            counts = counts_by(both, "category", "queried_attribute")
            tables.append(
                share_matrix(
                    f"cross_attribute_{len(tables) + 1}",
                    f"{run.name}, {base}: accuracy by category of the clip (row) and attribute in "
                    "the question (column), %",
                    (TableColumn("category", "clip", "name"),),
                    columns,
                    cross_shares(counts, "category", "queried_attribute", columns=columns),
                    (CROSS_NOTE,),
                )
            )
    return tables


def format_tables(runs: Sequence[PerceptionRun]) -> list[ReportTable]:
    """Macro F1 of the questions that offer other labels than two directions, by attribute."""
    found: dict[str, list[dict[str, Any]]] = {}
    labels: dict[str, tuple[str, ...]] = {}
    for run in runs:
        labelled = run.answers[run.answers["label"].notna()]
        for base, answers in labelled.groupby("base_prompt", sort=False):
            offered = tuple(answers["labels"].iloc[0])
            if set(offered) == set(DIRECTION_LABELS):
                continue
            scores = score_macro_f1(
                answers["label"].tolist(), answers["prediction"].tolist(),
                labels.setdefault(base, offered), clusters=clusters_of(answers),
                by={"category": answers["queried_attribute"].tolist()},
            )  # fmt: skip
            found.setdefault(base, []).extend(
                {"category": category, "run": run.name} | flat(own)
                for category, own in [(ALL, scores), *scores["category"].items()]
            )
    return [
        ReportTable(
            f"format_{base}",
            f"Question format: {base}",
            (
                QUERIED, RUN, N, *with_interval("macro_f1", "macro F1, %"),
                TableColumn("best_constant", "chance: constant answer, %", "share"),
                TableColumn("uniform_guess", "chance: uniform, %", "share"),
                TableColumn("proportional_guess", "chance: proportional, %", "share"),
                ACCURACY, PARSED,
                *(TableColumn(f"f1_{name}", f"F1 {name}, %", "share") for name in labels[base]),
            ),
            all_first(rows),
            (
                "Chance levels of macro F1 depend on the class sizes; they are not one over the "
                "number of labels.",
            ),
        )
        for base, rows in found.items()
    ]  # fmt: skip


def no_effect_table(answered: RunAnswers) -> ReportTable | None:
    """Accuracy with and without clips that the rules leave unchanged; None without any."""
    rows = []
    for run, answers in answered:
        unaffected = (answers["no_effect"] == True).to_numpy(bool)  # noqa: E712
        if not unaffected.any():
            continue
        scores, alone, others = map(scores_of, (answers, answers[unaffected], answers[~unaffected]))
        for category in [ALL, *alone["category"]]:
            every, on_these, rest = (
                s if category == ALL else s["category"].get(category, {})
                for s in (scores, alone, others)
            )
            rows.append({
                "category": category, "run": run.name, "n": every["n"],
                "accuracy": every["accuracy"], "n_no_effect": on_these["n"],
                "accuracy_no_effect": on_these["accuracy"], "n_without": rest.get("n", 0),
                "accuracy_without": rest.get("accuracy"), "wilson_low": rest.get("wilson_low"),
                "wilson_high": rest.get("wilson_high"),
            })  # fmt: skip
    if not rows:
        return None
    return ReportTable(
        "no_effect",
        "With and without clips in which nothing changes",
        (
            CATEGORY, RUN, N, ACCURACY,
            TableColumn("n_no_effect", "clips without effect", "count"),
            TableColumn("accuracy_no_effect", "accuracy on these, %", "share"),
            TableColumn("n_without", "clips with effect", "count"),
            TableColumn("accuracy_without", "accuracy on these, %", "share"), WILSON,
        ),
        all_first(rows),
        (
            "The published rules leave some conditions without effect at some sampling rates; such "
            "clips are counted in every other table.",
        ),
    )  # fmt: skip
