"""The report on perception runs: one page and its tables, from run folders alone.

    report([Path("runs/mine"), Path("runs/theirs")])

Nothing is asked and nothing is fetched; every number is made anew from the raw answers.
"""

from collections.abc import Sequence
from pathlib import Path

import datasets

from otoscope.audits.items import Items
from otoscope.reports import sheets
from otoscope.reports.html import render, write
from otoscope.reports.perception.findings import Findings, findings
from otoscope.reports.perception.page import page_values
from otoscope.reports.perception.samples import players, sample_rows, sample_sheet, samples_of
from otoscope.reports.readings import read_runs
from otoscope.reports.sheets import Sheet

TITLE = "# Perception report"


def report(
    runs: Sequence[Path],
    out: Path | None = None,
    *,
    dataset: str | Path | datasets.Dataset | Items | None = None,
) -> Path:
    """Writes `index.html`, `report.md` and `tables/*.csv`.

    Args:
        runs: Run folders, side by side in this order.
        out: Folder to write into; `report` in the first run's folder by default.
        dataset: Where the clips are, for players beside the sample answers; none without it.

    Returns:
        The page's path.

    Raises:
        ValueError: No run is given.
        RunError: A folder is not a run, or of another schema.
        LookupError: A run names a parser that does not exist.
        DatasetError: The data set cannot be opened.
    """
    if not runs:
        raise ValueError("a report needs at least one run")
    found = findings(read_runs([Path(run) for run in runs]))
    folder = Path(out) if out is not None else Path(runs[0]) / "report"
    chosen = [samples_of(run) for run in found.runs]
    rows = [sample_rows(run, mine) for run, mine in zip(found.runs, chosen, strict=True)]
    sounds = players(chosen, dataset)
    found.tables["samples"] = [sample_sheet([row for mine in rows for row in mine])]
    every = [sheet for section in found.tables.values() for sheet in section if sheet.rows]
    _forget_tables(folder)
    for sheet in every:
        write(folder / "tables" / f"{sheet.name}.csv", sheets.to_csv(sheet))
    write(folder / "report.md", _markdown(found, every))
    values = page_values(
        found, list(zip(rows, sounds, strict=True)), with_audio=dataset is not None
    )
    return write(folder / "index.html", render("perception.html.jinja", values))


def _forget_tables(folder: Path) -> None:
    """Takes away the tables of an earlier report: this one may not have all of them."""
    if (folder / "report.md").is_file() and (folder / "report.md").read_text().startswith(TITLE):
        for old in (folder / "tables").glob("*.csv"):
            old.unlink()


def _markdown(found: Findings, every: Sequence[Sheet]) -> str:
    parts = [f"{TITLE}\n\n"]
    for run in found.runs:
        facts = [
            f"{len(run.answers):,} questions",
            *([f"**{run.n_unanswered:,} never answered**"] if run.n_unanswered else []),
            *([f"**partial: {sheets.in_markdown(run.partial)}**"] if run.partial else []),
        ]
        parts.append(f"- {sheets.in_markdown(run.name)}: {'; '.join(facts)}\n")
    parts += [f"\n{sheets.to_markdown(sheet)}" for sheet in every]
    return "".join(parts)
