"""What came of MELD: scores by emotion, and which answers changed from one model to another.

Every number is made anew from the answers; an utterance that was never answered counts as not
right. Intervals resample whole dialogues.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from otoscope.audits.meld import AUDIT, EMOTIONS
from otoscope.audits.runs import RunError, load_run, read_about
from otoscope.reports import sheets
from otoscope.reports.html import render, write
from otoscope.reports.sheets import Column, Sheet
from otoscope.statistics.intervals import clustered_interval
from otoscope.statistics.macro_f1 import score_macro_f1
from otoscope.statistics.transfer import class_scores, crossed, macro_f1_difference

TITLE = "# MELD report"
RUN = Column("run", "run", "run")


@dataclass(frozen=True)
class Answered:
    """A run on MELD, one entry an utterance, in order of ids.

    Attributes:
        name: Of the run.
        model: How the model was named.
        partial: What part of MELD it is about; empty where of all.
        ids: Of utterances.
        gold: Letters.
        said: Letters, None where nothing was answered.
        dialogues: Which each is from.
    """

    name: str
    model: str
    partial: str
    ids: tuple[str, ...]
    gold: tuple[str, ...]
    said: tuple[str | None, ...]
    dialogues: tuple[str, ...]


def is_meld(run: str | Path) -> bool:
    """Whether a folder is a run on MELD."""
    try:
        return read_about(Path(run)).get("audit") == AUDIT
    except RunError:
        return False


def read_meld(run: str | Path, name: str | None = None) -> Answered:
    """Reads a run.

    Raises:
        RunError: Not a run on MELD.
    """
    run = Path(run)
    about = read_about(run)
    if about.get("audit") != AUDIT:
        raise RunError(f"{run} is a run of {about.get('audit')!r}, not of {AUDIT!r}")
    rows = sorted(load_run(run).to_list(), key=lambda row: row["id"])
    adapter = (about.get("model_description") or {}).get("adapter")
    model = str(about.get("model") or "")
    return Answered(
        name or run.resolve().name,
        f"{model} + {adapter['name']}" if isinstance(adapter, dict) else model,
        str(about.get("partial") or ""),
        tuple(row["id"] for row in rows),
        tuple(row["label"] for row in rows),
        tuple(row["text"] if row["status"] == "ok" else None for row in rows),
        tuple(row["source_id"] for row in rows),
    )


def tables(runs: Sequence[Answered]) -> list[Sheet]:
    """Scores, scores by emotion, who is taken for whom; then, of each later run, what changed.

    Raises:
        RunError: The runs are about different utterances.
    """
    base = runs[0]
    for other in runs[1:]:
        if other.ids != base.ids or other.gold != base.gold:
            raise RunError(
                f"{base.name} and {other.name} are about different utterances: "
                f"{len(set(base.ids) ^ set(other.ids))} are in one only"
            )
    return [
        _scores(runs),
        _by_emotion(runs),
        *(_confusion(run) for run in runs),
        *(_changes(base, run) for run in runs[1:]),
    ]


def report(runs: Sequence[str | Path], out: str | Path | None = None) -> Path:
    """Writes page, Markdown and CSV; returns the page.

    Args:
        runs: The first is what the others are compared with.
        out: The folder; the first run's `report/` when None.

    Raises:
        RunError: Not runs on MELD, or about different utterances.
    """
    read = [read_meld(run) for run in runs]
    made = tables(read)
    folder = Path(out) if out is not None else Path(runs[0]) / "report"
    for sheet in made:
        write(folder / "tables" / f"{sheet.name}.csv", sheets.to_csv(sheet))
    about = "".join(
        f"- {sheets.in_markdown(run.name)}: {sheets.in_markdown(run.model)}, {len(run.ids):,} "
        f"utterances{'; **partial: ' + run.partial + '**' if run.partial else ''}\n"
        for run in read
    )
    text = f"{TITLE}\n\n{about}\n" + "\n".join(sheets.to_markdown(sheet) for sheet in made)
    write(folder / "report.md", text)
    named = {sheet.name: sheet for sheet in made}
    values = {"title": "MELD report", "runs": read, "sheets": named, "swatch": {}, "grey": ""}
    return write(folder / "index.html", render("meld.html.jinja", values))


def _scores(runs: Sequence[Answered]) -> Sheet:
    rows = []
    for run in runs:
        found = score_macro_f1(run.gold, run.said, list(EMOTIONS), clusters=run.dialogues)
        right = [a == b for a, b in zip(run.said, run.gold, strict=True)]
        share = clustered_interval(np.array(right, bool), np.array(run.dialogues))
        row: dict[str, Any] = {
            "run": run.name,
            "n": len(run.ids),
            "n_dialogues": len(set(run.dialogues)),
            "n_unanswered": run.said.count(None),
            "macro_f1": found["macro_f1"],
            "macro_f1_low": found["macro_f1_low"],
            "macro_f1_high": found["macro_f1_high"],
            "best_constant": found["best_constant"],
            "accuracy": share.estimate,
            "accuracy_low": share.low,
            "accuracy_high": share.high,
        }
        if run is not runs[0]:
            less = macro_f1_difference(
                run.gold, run.said, runs[0].said, list(EMOTIONS), run.dialogues
            )
            row |= {"change": less.estimate, "change_low": less.low, "change_high": less.high}
        rows.append(row)
    columns = (
        RUN,
        Column("n", "utterances", "count"),
        Column("n_dialogues", "dialogues", "count"),
        Column("n_unanswered", "not answered", "count"),
        Column("macro_f1", "macro F1", "share"),
        Column("macro_f1_low", "95 %", "interval", high="macro_f1_high"),
        Column("best_constant", "best single answer", "share"),
        Column("change", "less the first run", "share"),
        Column("change_low", "95 %", "interval", high="change_high"),
        Column("accuracy", "right", "share"),
        Column("accuracy_low", "95 %", "interval", high="accuracy_high"),
    )
    notes = (
        "The answer is the letter whose token is likeliest at the last place of the input; of "
        "equals the earliest. Macro F1 is the plain mean over emotions; its intervals resample "
        "whole dialogues.",
    )
    return Sheet("meld_scores", "Which emotion is heard", columns, tuple(rows), notes)


def _by_emotion(runs: Sequence[Answered]) -> Sheet:
    rows = [
        {"run": run.name, "emotion": EMOTIONS[letter], **score._asdict()}
        for run in runs
        for letter, score in class_scores(run.gold, run.said, list(EMOTIONS)).items()
    ]
    columns = (
        RUN,
        Column("emotion", "emotion", "name"),
        Column("n", "utterances", "count"),
        *(Column(name, name, "share") for name in ("precision", "recall")),
        Column("f1", "F1", "share"),
    )
    return Sheet("meld_by_emotion", "By emotion", columns, tuple(rows))


def _confusion(run: Answered) -> Sheet:
    counts = crossed(run.gold, run.said, list(EMOTIONS))
    return _square(
        f"meld_confusion_{run.name}", f"{run.name}: right emotion, and what was answered",
        "right", counts.tolist(),
    )  # fmt: skip


def _changes(base: Answered, tuned: Answered) -> Sheet:
    counts = crossed(base.said, tuned.said, list(EMOTIONS))
    return _square(
        f"meld_changes_{tuned.name}",
        f"What became of the answers of {base.name} in {tuned.name}",
        f"answer of {base.name}", counts.tolist(),
    )  # fmt: skip


def _square(name: str, title: str, corner: str, counts: list[list[int]]) -> Sheet:
    emotions = list(EMOTIONS.values())
    rows = tuple(
        {"row": emotion, **dict(zip(emotions, line, strict=True)), "all": sum(line)}
        for emotion, line in zip(emotions, counts, strict=True)
    )
    columns = (
        Column("row", corner),
        *(Column(emotion, emotion, "count") for emotion in emotions),
        Column("all", "all", "count"),
    )
    return Sheet(name, title, columns, rows)
