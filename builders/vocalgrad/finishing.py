"""What follows once all clips are there: the first listener, the card, the page, the summary."""

import io

from rich.console import Console
from rich.table import Table

from builders.vocalgrad.describe import left_out, write_card
from builders.vocalgrad.making import Built, owned, plain_disk_errors
from builders.vocalgrad.observe import Report, Verify, observe
from builders.vocalgrad.page import write_page
from builders.vocalgrad.sources.base import Corpus
from otoscope.acoustics.gradients import attribute_of
from otoscope.progress import Progress


def finish(
    built: Built,
    corpus: Corpus,
    *,
    verify: Verify | str = Verify.SAMPLE,
    num_proc: int = 1,
    progress: Progress | None = None,
) -> str:
    """Writes README.md and index.html, and returns the summary to print.

    All of it is computed from the plan and the files, so it can be redone at any time.

    Raises:
        BuildError: The folder is in use, or cannot be written.
    """
    report = observe(built.plan, built.folder, verify=verify, num_proc=num_proc, progress=progress)
    with owned(built.folder, built.plan, overwrite=False), plain_disk_errors(built.folder):
        write_card(built, corpus, report)
        page = write_page(built, corpus, report)
    n_rows = sum(file["rows"] for file in built.files.values())
    lines = [
        f"{n_rows:,} rows in {len(built.files)} files, {built.n_rows_made:,} made now; "
        f"{len(left_out(built, corpus))} left out of the corpus (the card says why), "
        f"{len(built.survey.doubtful)} with a span in doubt, "
        f"{sum(f['no_effect'] for f in built.files.values()):,} clips with no effect at their rate",
        f'load it: load_dataset("{built.folder}", "{built.plan.categories[0]}")',
        f"look at it: {page}",
    ]
    return (observer_text(report) if report.rows else "") + "\n".join(lines)


def observer_text(report: Report) -> str:
    """The observer's table for a terminal: per cent right, 95 % intervals clustered by source."""
    table = Table(title=f"Slope observer, % right [95 % interval by source]: {report.basis}")
    for name in ("category", "tier", "clips", "not measurable", "clip alone", "with its source"):
        table.add_column(name, justify="left" if name in ("category", "tier") else "right")
    for row in report.rows:
        table.add_row(
            attribute_of(row.category), row.tier, str(row.n), str(row.n_unanswered),
            str(row.alone), str(row.with_source),
        )  # fmt: skip
    text = io.StringIO()
    Console(width=110, file=text).print(table)
    return (
        text.getvalue()
        + "The observer only measures the cue and looks at its slope: from the clip alone, or\n"
        + "with the unmodified source at hand. 0 clips: the cell changes nothing at this rate.\n\n"
    )
