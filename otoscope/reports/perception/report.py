"""The report on perception runs: one page and its tables, from run folders alone.

    report([Path("runs/mine"), Path("runs/theirs")])

No model is called and nothing is downloaded; every number is computed from the raw answers.
"""

from collections.abc import Sequence
from pathlib import Path

from otoscope.audits.items import Items
from otoscope.audits.opening import DatasetLike
from otoscope.reports.parse_audit import doubtful_answers
from otoscope.reports.perception.findings import findings
from otoscope.reports.perception.page import page_values
from otoscope.reports.perception.reading import PerceptionRun, read_perception
from otoscope.reports.samples import players, sample_table, samples_of_all
from otoscope.reports.tables import in_markdown
from otoscope.reports.writing import report_folder, write_report


def report(
    runs: Sequence[Path | str],
    out: Path | str | None = None,
    *,
    dataset: DatasetLike | Items | None = None,
) -> Path:
    """Writes `index.html`, `report.md` and `tables/`; see `otoscope.reports.report`.

    Raises:
        InputError: No run is given.
        RunError: A folder is not a perception run, or of another schema.
        LookupError: A run names a parser that does not exist.
        DatasetError: The dataset cannot be opened.
    """
    found = findings(read_perception(runs))
    chosen = samples_of_all(found.runs)
    audio = players(chosen, dataset)
    samples = sample_table(found.runs, chosen)
    found.sections["samples"] = [samples]
    return write_report(
        Path(out) if out is not None else report_folder(runs),
        found.tables.values(),
        heading="Perception report",
        facts=[_facts(run, found.summaries.get(run.name, "")) for run in found.runs],
        template="perception.html.jinja",
        values=page_values(found, samples, audio, with_audio=dataset is not None),
    )


def _facts(run: PerceptionRun, summary: str) -> str:
    facts = [
        f"{len(run.answers):,} questions",
        *([f"**{run.n_unanswered:,} unanswered**"] if run.n_unanswered else []),
        *([f"**{in_markdown(doubt)}**"] if (doubt := doubtful_answers(run.answers)) else []),
        *([f"**partial: {in_markdown(run.partial)}**"] if run.partial else []),
    ]
    return " ".join(
        filter(None, [f"{in_markdown(run.name)}:", in_markdown(summary), "; ".join(facts)])
    )
