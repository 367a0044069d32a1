"""The report on runs of the audit `labels`: scores of every prompt variant, and which one counts.

Every number is computed from the raw answers; one that is missing, ambiguous or unparsed is wrong.
The prompt variant is chosen on development examples alone, and all variants are reported.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from otoscope.audits.labelled import DEVELOPMENT, HOLDOUT, open_labelled
from otoscope.audits.labels import AUDIT
from otoscope.audits.opening import DatasetLike
from otoscope.reports.confusion import confusion_pictures
from otoscope.reports.parse_audit import doubtful_answers
from otoscope.reports.samples import players, sample_table, samples_of_all
from otoscope.reports.scoring import ScoredRun, is_correct, score_runs, sources_of
from otoscope.reports.tables import (
    BOOTSTRAP_CI,
    ReportTable,
    TableColumn,
    in_markdown,
    per_cent,
    with_interval,
)
from otoscope.reports.writing import report_folder, write_report
from otoscope.statistics.intervals import clustered_interval, named_interval
from otoscope.statistics.labels import confusion, index_answers
from otoscope.statistics.macro_f1 import score_macro_f1
from otoscope.statistics.transfer import class_scores

SPLITS = (DEVELOPMENT, HOLDOUT)
AMBIGUOUS = "ambiguous"
RUN = TableColumn("run", "run", "run")
PROMPT = TableColumn("prompt", "prompt", "name")
SPLIT = TableColumn("split", "split")
N = TableColumn("n", "questions", "count")


def report(
    runs: Sequence[Path | str], out: Path | str | None = None, *, dataset: DatasetLike | None = None
) -> Path:
    """See `otoscope.reports.report`.

    Raises:
        InputError: No run is given.
        RunError: Not runs of this audit.
        DatasetError: The dataset cannot be opened.
    """
    scored = score_runs(runs, AUDIT)
    chosen = {run.name: chosen_prompt(run.answers) for run in scored}
    by_label = [replace(r, answers=r.answers.assign(category=r.answers["label"])) for r in scored]
    samples = samples_of_all(by_label)  # a sample of each label rather than of each category
    audio = players(samples, None if dataset is None else _items(scored[0], dataset))
    table = sample_table(scored, samples)
    cards = list(zip(table.rows, audio, strict=True))
    every = tables(scored, chosen)
    return write_report(
        Path(out) if out is not None else report_folder(runs),
        [*every, table],
        heading="Report on labels",
        facts=[in_markdown(sentence) for run in scored for sentence in findings(run, every[0])],
        template="labels.html.jinja",
        values={
            "runs": scored,
            "findings": {run.name: list(findings(run, every[0])) for run in scored},
            "samples": [
                (run.name, [card for card in cards if card[0]["run"] == run.name]) for run in scored
            ],
            "confusion": [
                picture
                for run in scored
                if (counts := _counts(run, chosen[run.name])) is not None
                for picture in confusion_pictures({run.name: counts}, labels_of(run))
            ],
            "sample_note": table.notes[0],
            "with_audio": dataset is not None,
        },
    )


def _items(run: ScoredRun, dataset: DatasetLike) -> Any:
    development, holdout = run.about["splits"]
    return open_labelled(
        dataset, config=run.about.get("config"), development=development, holdout=holdout,
        revision=run.about.get("revision"),
    ).items  # fmt: skip


def main_scores(path: Path | str) -> ReportTable:
    """Accuracy of one run's chosen prompt on hold-out, for its headline."""
    (run,) = score_runs([path], AUDIT)
    prompt = chosen_prompt(run.answers)
    rows = [
        {"n": len(own), **_accuracy(own)}
        for name, split, own in _parts(run.answers)
        if (name, split) == (prompt, HOLDOUT)
    ]
    columns = with_interval("accuracy", "accuracy, %")
    return ReportTable("headline", "Accuracy", columns, tuple(rows))


def chosen_prompt(answers: pd.DataFrame) -> str | None:
    """The prompt with the most correct development answers; of equal ones the first by name."""
    own = answers[answers["split"] == DEVELOPMENT]
    correct = {name: int(is_correct(rows).sum()) for name, rows in own.groupby("prompt_name")}
    return min(correct, key=lambda name: (-correct[name], name), default=None)


def tables(runs: Sequence[ScoredRun], chosen: Mapping[str, str | None]) -> list[ReportTable]:
    """Scores; then, of the chosen prompts on hold-out, labels and confusion; positions."""
    return [
        _scores(runs, chosen),
        _by_label(runs, chosen),
        *(table for run in runs for table in _confusion(run, chosen[run.name])),
        _positions(runs),
    ]


def findings(run: ScoredRun, scores: ReportTable) -> Iterator[str]:
    """Sentences on one run: its result, what was not read, and how far prompts differ."""
    own = [row for row in scores.rows if row["run"] == run.name]
    held = [row for row in own if row["split"] == HOLDOUT]
    for row in (row for row in held if row["chosen"]):
        yield (
            f"{run.name}: {per_cent(row['accuracy'])} % of {row['n']:,} hold-out clips correct "
            f"(95 % CI {per_cent(row['accuracy_low'])} to {per_cent(row['accuracy_high'])}) with "
            f"the prompt {row['prompt']}, chosen on development; a constant answer gives "
            f"{per_cent(row['most_frequent'])} %."
        )
        if row["unparsed"]:
            yield (
                f"{per_cent(row['unparsed'])} % of these answers name no single label and count "
                f"as wrong, {per_cent(row['ambiguous'])} % because they name several."
            )
    if not any(row["chosen"] for row in own):
        yield f"{run.name}: no development answers, so no prompt is chosen."
    shares = [row["accuracy"] for row in held]
    if len(shares) > 1:
        yield (
            f"Over {len(shares)} prompts, accuracy on hold-out is {per_cent(min(shares))} to "
            f"{per_cent(max(shares))} %."
        )
    if run.partial:
        yield f"Partial run: {run.partial}."
    if doubt := doubtful_answers(run.answers):
        yield doubt


def _parts(answers: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Prompt, split and answers, in the order of the plan."""
    for name in dict.fromkeys(answers["prompt_name"]):
        for split in SPLITS:
            own = answers[(answers["prompt_name"] == name) & (answers["split"] == split)]
            if len(own):
                yield name, split, own


def _accuracy(answers: pd.DataFrame) -> dict[str, float]:
    return named_interval("accuracy", clustered_interval(is_correct(answers), sources_of(answers)))


def labels_of(run: ScoredRun) -> list[str]:
    """The closed set in the dataset's order."""
    return list(run.about["labels"])


def _scores(runs: Sequence[ScoredRun], chosen: Mapping[str, str | None]) -> ReportTable:
    rows = []
    for run in runs:
        for prompt, split, own in _parts(run.answers):
            clusters = sources_of(own)
            labels, predictions = own["label"].tolist(), own["prediction"].tolist()
            f1 = score_macro_f1(labels, predictions, labels_of(run), clusters=clusters)
            no_label = own["prediction"].isna().to_numpy(bool)
            several = own["rule"].fillna("").str.startswith(AMBIGUOUS).to_numpy(bool)
            rows.append({
                "run": run.name, "prompt": prompt, "split": split,
                "chosen": "chosen" if prompt == chosen[run.name] else "",
                "n": len(own), "n_clusters": len(set(clusters.tolist())),
                **_accuracy(own),
                **{key: f1[key] for key in ("macro_f1", "macro_f1_low", "macro_f1_high")},
                "most_frequent": float(own["label"].value_counts().max() / len(own)),
                **named_interval("unparsed", clustered_interval(no_label, clusters)),
                **named_interval("ambiguous", clustered_interval(several, clusters)),
                "conf_source": "logprob" if own["logprobs"].notna().all() else "constant",
                "n_scored": int(own["logprobs"].notna().sum()),
            })  # fmt: skip
    columns = (
        RUN, PROMPT, SPLIT, TableColumn("chosen", "chosen on development"), N,
        TableColumn("n_clusters", "clusters", "count"),
        *with_interval("accuracy", "accuracy, %"),
        *with_interval("macro_f1", "macro F1, %", BOOTSTRAP_CI),
        TableColumn("most_frequent", "accuracy of the best constant answer, %", "share"),
        *with_interval("unparsed", "no single label, %"),
        *with_interval("ambiguous", "several labels, %"),
        TableColumn("conf_source", "confidence"),
        TableColumn("n_scored", "with label scores", "count"),
    )  # fmt: skip
    notes = (
        "The prompt is chosen by accuracy on development, ties by name; hold-out takes no part. "
        "An answer that is missing or names no single label is wrong. Confidence is “logprob” "
        "where every answer has scores of its labels, else the same (“constant”) for all.",
    )
    return ReportTable("labels_scores", "Scores by prompt and split", columns, tuple(rows), notes)


def _chosen_part(run: ScoredRun, prompt: str | None) -> pd.DataFrame:
    """Hold-out answers to the chosen prompt."""
    answers = run.answers
    return answers[(answers["prompt_name"] == prompt) & (answers["split"] == HOLDOUT)]


def _by_label(runs: Sequence[ScoredRun], chosen: Mapping[str, str | None]) -> ReportTable:
    rows = []
    for run in runs:
        own = _chosen_part(run, chosen[run.name])
        scores = class_scores(own["label"].tolist(), own["prediction"].tolist(), labels_of(run))
        rows += [
            {"run": run.name, "label": label, **score._asdict()}
            for label, score in scores.items()
            if len(own)
        ]
    columns = (
        RUN, TableColumn("label", "label"), N,
        TableColumn("precision", "precision, %", "share"),
        TableColumn("recall", "recall, %", "share"), TableColumn("f1", "F1, %", "share"),
    )  # fmt: skip
    title = "By label: chosen prompt, hold-out"
    return ReportTable("labels_by_label", title, columns, tuple(rows))


def _counts(run: ScoredRun, prompt: str | None) -> np.ndarray | None:
    """Hold-out answers by true label and by answer, the last without one; None without any."""
    own, labels = _chosen_part(run, prompt), labels_of(run)
    if not len(own):
        return None
    counts = confusion(index_answers(own["label"].tolist(), own["prediction"].tolist(), labels))
    return np.column_stack([counts[:, : len(labels)], counts[:, len(labels) :].sum(axis=1)])


def _confusion(run: ScoredRun, prompt: str | None) -> Iterator[ReportTable]:
    counts, labels = _counts(run, prompt), labels_of(run)
    if counts is None:
        return
    heads = [f"answer {i}" for i in range(len(labels))]
    rows = tuple(
        {"label": label, **dict(zip((*heads, "none"), line.tolist(), strict=True)),
         "all": int(line.sum())}
        for label, line in zip(labels, counts, strict=True)
    )  # fmt: skip
    columns = (
        TableColumn("label", "reference"),
        *(TableColumn(key, label, "count") for key, label in zip(heads, labels, strict=True)),
        TableColumn("none", "no single label", "count"), TableColumn("all", "all", "count"),
    )  # fmt: skip
    title = f"{run.name}: confusion, reference by answer ({prompt}, hold-out)"
    yield ReportTable(f"labels_confusion_{run.name}", title, columns, rows)


def _positions(runs: Sequence[ScoredRun]) -> ReportTable:
    """How often each place in the order of options is the answer, and the truth."""
    rows = []
    for run in runs:
        for prompt in dict.fromkeys(run.answers["prompt_name"]):
            own = run.answers[run.answers["prompt_name"] == prompt]
            own = own[own["prediction"].notna()]
            offered = list(map(list, own["labels"]))
            answered, true = (
                np.array([order.index(x) for order, x in zip(offered, own[name], strict=True)])
                for name in ("prediction", "label")
            )
            clusters = sources_of(own)
            for place in range(len(labels_of(run)) if len(own) else 0):
                share = clustered_interval(answered == place, clusters)
                rows.append({
                    "run": run.name, "prompt": prompt, "position": place + 1, "n": len(own),
                    **named_interval("answered", share), "true": float((true == place).mean()),
                })  # fmt: skip
    columns = (
        RUN, PROMPT, TableColumn("position", "position", "count"),
        TableColumn("n", "parsed answers", "count"),
        *with_interval("answered", "answered, %"), TableColumn("true", "true, %", "share"),
    )  # fmt: skip
    notes = (
        "Both splits. Only “shuffled” tells position from label: elsewhere each label has one "
        "position. A position that is answered more often than it is true draws answers.",
    )
    title = "By position of the option"
    return ReportTable("labels_by_position", title, columns, tuple(rows), notes)
