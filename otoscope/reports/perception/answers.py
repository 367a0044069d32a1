"""Tables of what a run says, whether right or not: bias, wordings, formats."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from otoscope.prompts.questions import SOURCE
from otoscope.reports.perception.scores import (
    ACCURACY,
    ALL,
    CLUSTERED,
    INCREASE,
    PARSED,
    RUN,
    WILSON,
    N,
    flat,
    overall,
    scores_of,
)  # fmt: skip
from otoscope.reports.readings import CLIP, CROSS, Answers, Run
from otoscope.reports.sheets import Column, Sheet, matrix
from otoscope.reports.tables import accuracy, increase_share, tabulate
from otoscope.statistics.direction import DIRECTIONS
from otoscope.statistics.labels import ratio
from otoscope.statistics.macro_f1 import score_macro_f1

SOURCE_PROMPT = "source_bias"
HEARD = {"increase": "rising clips", "decrease": "falling clips", None: "unchanged clips"}
CROSS_NOTE = (
    "Scored by the clip's own direction. Far from 50 % off the diagonal: the answer follows a "
    "factor that was not asked about."
)


def bias_sheet(answered: Sequence[tuple[Run, Answers]]) -> Sheet:
    """What is said about clips that rise, that fall, and that do not change, by category.

    Args:
        answered: Runs with their answers about clips; answers about sources are looked for in the
            run itself.
    """
    rows = []
    for run, clips in answered:
        changed = [(HEARD[label], clips.where(label=label)) for label in DIRECTIONS[::-1]]
        for heard, answers in [*changed, (HEARD[None], sources_of(run))]:
            names = sorted(set(answers["asked"]))
            for asked in [ALL, *names] if names else []:
                mine = answers if asked == ALL else answers.where(asked=asked)
                rows.append({"category": asked, "run": run.name, "heard": heard} | _said(mine))
    rows.sort(key=lambda row: (row["category"] != ALL, row["category"]))  # stable
    return Sheet(
        "answer_shares",
        "What is said about clips that rise, fall, and do not change",
        (
            Column("category", "asked about", "name"), RUN, Column("heard", "heard", "name"), N,
            Column("increase", "increase, %", "share"), Column("decrease", "decrease, %", "share"),
            Column("neither", "neither, %", "share"), INCREASE,
        ),
        tuple(rows),
        (
            "Who hears the factor says increase about rising clips and not about falling ones. "
            "Where the shares are alike, the answer does not come from the sound. Neither: no "
            "answer, or one without a label. Says increase: of the parsed answers.",
        ),
    )  # fmt: skip


def sources_of(run: Run) -> Answers:
    """Answers about the direction in unchanged clips."""
    answers = run.answers.where(kind=SOURCE)
    return answers.at(np.array([str(b).startswith(SOURCE_PROMPT) for b in answers["base"]], bool))


def _said(answers: Answers) -> dict[str, Any]:
    said, n = Counter(answers["read"]), len(answers)
    n_parsed = n - said[None]
    return {
        "n": n,
        "increase": ratio(said["increase"], n),
        "decrease": ratio(said["decrease"], n),
        "neither": ratio(said[None], n),
        "increase_share": ratio(said["increase"], n_parsed) if n_parsed else None,
    }


def prompt_sheets(runs: Sequence[Run]) -> list[Sheet]:
    """Accuracy and share of "increase" by wording and category; none where only one was used."""
    asked = [
        (run, base, run.clips.where(base=base)) for run in runs for base in run.clips.values("base")
    ]
    if len({base for _, base, _ in asked}) < 2:
        return []
    rows = [{"run": run.name, "prompt": base} | overall(mine) for run, base, mine in asked]
    tallies = {
        (str(i), category): tally
        for i, (_, _, mine) in enumerate(asked)
        for category, tally in mine.tallies("category").items()
    }
    columns = sorted({category for _, category in tallies})
    corner = (RUN, Column("prompt", "prompt"), Column("average", "average", "share"))
    sheets = [
        Sheet(
            "accuracy_by_prompt",
            "Accuracy by wording of the question",
            (RUN, Column("prompt", "prompt"), ACCURACY, CLUSTERED, WILSON, N, PARSED, INCREASE),
            tuple(rows),
            ("All categories that a prompt is worded for, together.",),
        )
    ]
    for name, title, measure in (
        ("accuracy", "Accuracy by wording and category, in %", accuracy),
        ("increase", "Says increase, by wording and category, in % of parsed", increase_share),
    ):
        table = tabulate(tallies, title="", corner="", measure=measure, columns=columns)
        records = [
            {"run": run.name, "prompt": base, "average": row.average}
            | dict(zip(columns, row.cells, strict=True))
            for (run, base, _), row in zip(asked, table.rows, strict=True)
        ]
        sheets.append(matrix(f"{name}_by_prompt_and_category", title, corner, columns, records))
    return sheets


def cross_sheets(runs: Sequence[Run]) -> list[Sheet]:
    """For each run and prompt asked across attributes: category of the clip by attribute asked."""
    sheets: list[Sheet] = []
    for run in runs:
        for base in run.answers.where(kind=CROSS).about_direction.values("base"):
            every = run.answers.where(base=base).about_direction
            both = every.at((every["kind"] == CLIP) | (every["kind"] == CROSS))
            rows = []
            for category in sorted(both.values("category")):
                tallies = both.where(category=category).tallies("asked")
                cells = {name: accuracy(tally) for name, tally in tallies.items()}
                rows.append({"category": category} | cells)
            sheet = matrix(
                f"cross_attribute_{len(sheets) + 1}",
                f"{run.name}, {base}: category of the clip (row) by attribute asked about, in %",
                (Column("category", "clip", "name"),),
                sorted(both.values("asked")),
                rows,
                (CROSS_NOTE,),
            )
            sheets.append(sheet)
    return sheets


def format_sheets(runs: Sequence[Run]) -> list[Sheet]:
    """Macro F1 of the questions that offer other answers than two directions, by attribute."""
    found: dict[str, list[dict[str, Any]]] = {}
    labels: dict[str, tuple[str, ...]] = {}
    for run in runs:
        for base in run.answers.values("base"):
            answers = run.answers.where(base=base)
            answers = answers.at(np.array([label is not None for label in answers["label"]], bool))
            offered = tuple(answers["labels"][0]) if len(answers) else DIRECTIONS
            if set(offered) == set(DIRECTIONS):
                continue
            labels.setdefault(base, offered)
            scores = score_macro_f1(
                answers["label"].tolist(), answers["read"].tolist(), labels[base],
                clusters=answers.clusters, by={"category": answers["asked"].tolist()},
            )  # fmt: skip
            for category, cell in [(ALL, scores), *scores["category"].items()]:
                row = flat(cell) | {"category": category, "run": run.name}
                found.setdefault(base, []).append(row)
    return [
        Sheet(
            f"format_{base}",
            f"Question format: {base}",
            (
                Column("category", "asked about", "name"), RUN, N,
                Column("macro_f1", "macro F1, %", "share"),
                Column("macro_f1_low", "95 %", "interval", high="macro_f1_high"),
                Column("best_constant", "constant answer, %", "share"),
                Column("uniform_guess", "uniform guessing, %", "share"),
                Column("proportional_guess", "proportional, %", "share"),
                ACCURACY, PARSED,
                *(Column(f"f1_{label}", f"F1 {label}, %", "share") for label in labels[base]),
            ),
            tuple(sorted(rows, key=lambda row: (row["category"] != ALL, row["category"]))),
            (
                "What a constant answer and guessing get depends on how many questions each answer "
                "is right for, so it is not one over the number of answers.",
            ),
        )
        for base, rows in found.items()
    ]  # fmt: skip


def no_effect_sheet(answered: Sequence[tuple[Run, Answers]]) -> Sheet | None:
    """Accuracy with and without clips in which nothing changes at their rate; None without any."""
    rows = []
    for run, answers in answered:
        if not any(answers["no_effect"]):
            continue
        scores = scores_of(answers)
        alone = scores_of(answers.where(no_effect=True))
        without = scores_of(answers.at(np.array([not flag for flag in answers["no_effect"]], bool)))
        for category in [ALL, *alone["category"]]:
            every, silent, rest = (
                s if category == ALL else s["category"].get(category, {})
                for s in (scores, alone, without)
            )
            rows.append({
                "category": category, "run": run.name, "n": every["n"],
                "accuracy": every["accuracy"], "n_no_effect": silent["n"],
                "accuracy_no_effect": silent["accuracy"], "n_without": rest.get("n", 0),
                "accuracy_without": rest.get("accuracy"), "wilson_low": rest.get("wilson_low"),
                "wilson_high": rest.get("wilson_high"),
            })  # fmt: skip
    if not rows:
        return None
    rows.sort(key=lambda row: (row["category"] != ALL, row["category"]))
    return Sheet(
        "no_effect",
        "With and without clips in which nothing changes",
        (
            Column("category", "category", "name"), RUN, N, ACCURACY,
            Column("n_no_effect", "without effect", "count"),
            Column("accuracy_no_effect", "on these, %", "share"),
            Column("n_without", "the others", "count"),
            Column("accuracy_without", "on the others, %", "share"), WILSON,
        ),
        tuple(rows),
        (
            "The published rules leave some conditions without effect at some sampling rates; such "
            "clips are counted everywhere else in this report.",
        ),
    )  # fmt: skip
