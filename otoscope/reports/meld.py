"""The report on MELD runs: scores by emotion, and which predictions differ between models.

Every number is computed from the raw answers; an unanswered utterance is not correct. Intervals
resample whole dialogues.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from otoscope.audits.meld import AUDIT, EMOTIONS
from otoscope.audits.runs import RunError
from otoscope.errors import InputError
from otoscope.reports.scoring import ScoredRun, is_correct, score_runs
from otoscope.reports.tables import (
    BOOTSTRAP_CI,
    ReportTable,
    TableColumn,
    in_markdown,
    with_interval,
)
from otoscope.reports.writing import report_folder, write_report
from otoscope.statistics.intervals import clustered_interval, named_interval
from otoscope.statistics.macro_f1 import score_macro_f1
from otoscope.statistics.transfer import class_scores, crossed, macro_f1_difference

RUN = TableColumn("run", "run", "run")
LETTERS = list(EMOTIONS)


def report(
    runs: Sequence[Path | str], out: Path | str | None = None, *, dataset: Any = None
) -> Path:
    """See `otoscope.reports.report`; the first run is the baseline of the others.

    Raises:
        InputError: No run, or a dataset, is given: there are no audio players.
        RunError: Not MELD runs, or about different utterances.
    """
    if dataset is not None:
        raise InputError("a MELD report has no audio players; leave the dataset out")
    scored = read_meld(runs)
    return write_report(
        Path(out) if out is not None else report_folder(runs),
        tables(scored),
        heading="MELD report",
        facts=map(_facts, scored),
        template="runs.html.jinja",
        values={
            "lead": "Utterances of MELD, and which of seven emotions has the largest logit.",
            "runs": scored,
            "models": {run.name: model_of(run) for run in scored},
        },
    )


def read_meld(runs: Sequence[Path | str]) -> list[ScoredRun]:
    """Every run, with its answers in the order of ids.

    Raises:
        RunError: Not MELD runs, or about different utterances.
    """
    scored = [
        ScoredRun(run.name, run.about, run.answers.sort_values("id", ignore_index=True))
        for run in score_runs(runs, AUDIT)
    ]
    first = scored[0]
    for other in scored[1:]:
        if not other.answers[["id", "label"]].equals(first.answers[["id", "label"]]):
            n_different = len(set(first.answers["id"]) ^ set(other.answers["id"]))
            raise RunError(
                f"{first.name} and {other.name} are about different utterances: {n_different} are "
                "in one only"
            )
    return scored


def model_of(run: ScoredRun) -> str:
    """The model as it was named, with its adapter."""
    adapter = (run.about.get("model_description") or {}).get("adapter")
    model = str(run.about.get("model") or "")
    return f"{model} + {adapter['name']}" if isinstance(adapter, dict) else model


def _facts(run: ScoredRun) -> str:
    partial = f"; **partial: {in_markdown(run.partial)}**" if run.partial else ""
    name, model = in_markdown(run.name), in_markdown(model_of(run))
    return f"{name}: {model}, {len(run.answers):,} utterances{partial}"


def main_scores(path: Path | str) -> ReportTable:
    """Accuracy of one run, for its headline."""
    (run,) = read_meld([path])
    _, _, dialogues = _columns(run)
    accuracy = clustered_interval(is_correct(run.answers), np.array(dialogues))
    row = {"n": len(run.answers), **named_interval("accuracy", accuracy)}
    return ReportTable("headline", "Accuracy", with_interval("accuracy", "accuracy, %"), (row,))


def tables(runs: Sequence[ScoredRun]) -> list[ReportTable]:
    """Scores, scores by emotion, confusion; then, for each later run, changes from the first."""
    return [
        _scores(runs),
        _by_emotion(runs),
        *(_confusion(run) for run in runs),
        *(_changes(runs[0], run) for run in runs[1:]),
    ]


def _columns(run: ScoredRun) -> tuple[list[str], list[str | None], list[str]]:
    """Reference labels, predictions and dialogues."""
    answers = run.answers
    label, prediction, dialogue = (answers[n] for n in ("label", "prediction", "source_id"))
    return label.tolist(), prediction.tolist(), dialogue.tolist()


def _scores(runs: Sequence[ScoredRun]) -> ReportTable:
    rows: list[dict[str, Any]] = []
    _, baseline, _ = _columns(runs[0])
    for run in runs:
        labels, predictions, dialogues = _columns(run)
        f1 = score_macro_f1(labels, predictions, LETTERS, clusters=dialogues)
        accuracy = clustered_interval(is_correct(run.answers), np.array(dialogues))
        row: dict[str, Any] = {
            "run": run.name,
            "n": len(labels),
            "n_dialogues": len(set(dialogues)),
            "n_unanswered": predictions.count(None),
            **{key: f1[key] for key in ("macro_f1", "macro_f1_low", "macro_f1_high")},
            **_macro_means(labels, predictions),
            "best_constant": f1["best_constant"],
            **named_interval("accuracy", accuracy),
        }
        if run is not runs[0]:
            change = macro_f1_difference(labels, predictions, baseline, LETTERS, dialogues)
            row |= named_interval("change", change)
            row["relative_change"] = _relative(row["macro_f1"], rows[0]["macro_f1"])
        rows.append(row)
    columns = (
        RUN,
        TableColumn("n", "utterances", "count"),
        TableColumn("n_dialogues", "dialogues", "count"),
        TableColumn("n_unanswered", "no prediction", "count"),
        *with_interval("macro_f1", "macro F1, %", BOOTSTRAP_CI),
        TableColumn("best_constant", "chance: constant answer, %", "share"),
        *with_interval("change", "change of macro F1 from the first run, points", BOOTSTRAP_CI),
        TableColumn("relative_change", "in per cent of the first run's", "share"),
        TableColumn("macro_precision", "macro precision, %", "share"),
        TableColumn("macro_recall", "macro recall, %", "share"),
        *with_interval("accuracy", "accuracy, %"),
    )
    notes = (
        "The prediction is the option letter with the largest logit at the last input position; "
        "ties go to the earliest. Macro F1, precision and recall are unweighted means over the "
        "emotions that occur; the precision of one that is never predicted is 0. Clusters are "
        "dialogues.",
    )
    return ReportTable("meld_scores", "Emotion recognition", columns, tuple(rows), notes)


def _macro_means(labels: list[str], predictions: list[str | None]) -> dict[str, float]:
    """Mean precision and recall over the emotions that occur."""
    scores = [s for s in class_scores(labels, predictions, LETTERS).values() if s.n]
    return {
        "macro_precision": float(np.mean([score.precision for score in scores])),
        "macro_recall": float(np.mean([score.recall for score in scores])),
    }


def _relative(value: float | None, baseline: float | None) -> float | None:
    """Change relative to a baseline; None where that is 0 or not defined.

    >>> _relative(0.3, 0.4), _relative(0.3, 0.0)
    (-0.25, None)
    """
    if not baseline or value is None:
        return None
    return round(value / baseline - 1, 12)


def _by_emotion(runs: Sequence[ScoredRun]) -> ReportTable:
    scores = [class_scores(*_columns(run)[:2], LETTERS) for run in runs]
    rows = [
        {"run": run.name, "emotion": EMOTIONS[letter], **score._asdict()}
        | ({"relative_change": _relative(score.f1, scores[0][letter].f1)} if own else {})
        for own, run in enumerate(runs)
        for letter, score in scores[own].items()
    ]
    columns = (
        RUN,
        TableColumn("emotion", "emotion", "name"),
        TableColumn("n", "utterances", "count"),
        TableColumn("precision", "precision, %", "share"),
        TableColumn("recall", "recall, %", "share"),
        TableColumn("f1", "F1, %", "share"),
        TableColumn("relative_change", "change of F1 in per cent of the first run's", "share"),
    )
    return ReportTable("meld_by_emotion", "By emotion", columns, tuple(rows))


def _confusion(run: ScoredRun) -> ReportTable:
    labels, predictions, _ = _columns(run)
    return _cross_table(
        f"meld_confusion_{run.name}", f"{run.name}: confusion matrix, reference by prediction",
        "reference", labels, predictions,
    )  # fmt: skip


def _changes(baseline: ScoredRun, run: ScoredRun) -> ReportTable:
    return _cross_table(
        f"meld_changes_{run.name}",
        f"Predictions of {baseline.name} (row) by predictions of {run.name} (column)",
        f"predicted by {baseline.name}", _columns(baseline)[1], _columns(run)[1],
    )  # fmt: skip


def _cross_table(
    name: str, title: str, corner: str, down: Sequence[str | None], across: Sequence[str | None]
) -> ReportTable:
    emotions = list(EMOTIONS.values())
    rows = tuple(
        {"row": emotion, **dict(zip(emotions, line, strict=True)), "all": sum(line)}
        for emotion, line in zip(emotions, crossed(down, across, LETTERS).tolist(), strict=True)
    )
    counts = (TableColumn(key, key, "count") for key in (*emotions, "all"))
    return ReportTable(name, title, (TableColumn("row", corner), *counts), rows)
