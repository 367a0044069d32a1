"""Tables by prompt and by attribute in the question, and of clips in which nothing changes."""

from collections.abc import Sequence

import pandas as pd

from otoscope.reports.perception.reading import (
    CLIP,
    CROSS,
    PerceptionRun,
    about_direction,
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
    Scored,
    all_first,
    flat,
    scores_of,
)
from otoscope.reports.scoring import with_effect
from otoscope.reports.tables import (
    ACCURACY_OF,
    INCREASE_RATE_OF,
    ReportTable,
    TableColumn,
    cross_shares,
    share_matrix,
)

CROSS_NOTE = (
    "Scored by the clip's own direction. An accuracy far from 50 % off the diagonal means that the "
    "answer follows a factor that the question does not name."
)


def prompt_tables(runs: Sequence[PerceptionRun]) -> list[ReportTable]:
    """Accuracy and rate of "increase" by prompt and category; none where only one was used."""
    by_prompt = [
        (run, base, own)
        for run in runs
        for base, own in with_effect(run.clips).groupby("base_prompt", sort=False)
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
        answers = with_effect(about_direction(run.answers))
        crossed = answers[answers["kind"] == CROSS]
        for base in distinct(crossed, "base_prompt"):
            chosen = (answers["base_prompt"] == base) & answers["kind"].isin([CLIP, CROSS])
            both = answers[chosen]
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


def no_effect_table(scored: Scored) -> ReportTable | None:
    """Accuracy with and without clips that the rules leave unchanged; None without any."""
    rows = []
    for run, scores in scored:
        for category, own in {ALL: flat(scores), **scores["category"]}.items():
            if n_left_out := own.get("n_no_effect"):
                n_correct = round(own["accuracy_all"] * own["n_all"]) - own["n_correct"]
                also = {"accuracy_no_effect": n_correct / n_left_out}
                rows.append({"category": category, "run": run.name} | own | also)
    if not rows:
        return None
    return ReportTable(
        "no_effect",
        "With and without clips in which nothing changes",
        (
            CATEGORY, RUN, N, ACCURACY, CLUSTERED, WILSON,
            TableColumn("n_no_effect", "clips without effect", "count"),
            TableColumn("accuracy_no_effect", "accuracy on these, %", "share"),
            TableColumn("n_all", "all clips", "count"),
            TableColumn("accuracy_all", "accuracy on all (published denominator), %", "share"),
        ),
        all_first(rows),
        (
            "The published rules leave some conditions without effect at some sampling rates. Such "
            "clips have no direction to hear: accuracy leaves them out in every table, save beside "
            "the published models, which were scored on all clips.",
        ),
    )  # fmt: skip
