"""What follows once all clips are there: listening to them, the card, the page, the summary."""

import io

from rich.console import Console
from rich.table import Table

from builders.corpora.base import Corpus
from builders.vocalgrad.confounds_of_build import (
    TOGETHER,
    ConfoundReport,
    auc_text,
    by_category,
    confounds_of,
    together_auc,
    worst,
)
from builders.vocalgrad.describe import left_out, write_card
from builders.vocalgrad.findings import keep_findings
from builders.vocalgrad.listening import Verify, listen_to
from builders.vocalgrad.making import Built, owned, plain_disk_errors
from builders.vocalgrad.observe import Report, observe
from builders.vocalgrad.page import write_page
from builders.vocalgrad.repository import configs_of
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
    hearing = listen_to(
        built.plan, built.folder, verify=verify, num_proc=num_proc, progress=progress
    )
    report, confounds = observe(hearing), confounds_of(hearing)
    with owned(built.folder, built.plan, overwrite=False), plain_disk_errors(built.folder):
        write_card(built, corpus, report, confounds)
        page = write_page(built, corpus, report, confounds)
        keep_findings(built, corpus, report, confounds)
    n_rows = sum(file["rows"] for file in built.files.values())
    first = configs_of(built.plan, built.files)["all"][0]
    lines = [
        f"{n_rows:,} rows in {len(built.files)} files, {built.n_rows_made:,} made now; "
        f"{len(left_out(built, corpus))} left out of the corpus (the card says why), "
        f"{len(built.survey.doubtful)} with a span in doubt, "
        f"{sum(f['no_effect'] for f in built.files.values()):,} clips with no effect at their rate",
        f'load it: load_dataset("{built.folder}", "{first}")',
        f"look at it: {page}",
    ]
    tables = observer_text(report) + confounds_text(confounds) if report.rows else ""
    return tables + "\n".join(lines)


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
    return (
        _printed(table)
        + "The observer only measures the cue and looks at its slope: from the clip alone, or\n"
        + "with the unmodified source at hand. 0 clips: the cell changes nothing at this rate.\n\n"
    )


def confounds_text(report: ConfoundReport) -> str:
    """What else tells the label, for a terminal: each category's worst, and all together."""
    table = Table(title="What else moves: area under the ROC curve (0.5 says nothing) [95 %]")
    for name in ("category", "worst free confound", "its area", *TOGETHER):
        table.add_column(name)
    for category, cells in by_category(report.all_tiers.rows).items():
        row = worst(list(cells.values()))
        table.add_row(
            attribute_of(category),
            attribute_of(row.name) if row else "–",
            auc_text(row.auc) if row else "–",
            auc_text(together_auc(report.all_tiers, category, free=False)),
            auc_text(together_auc(report.all_tiers, category, free=True)),
        )
    return (
        _printed(table)
        + "Contrasts (second half minus first, tail minus head, length) are compared within tier\n"
        + "and curve. Together: a logistic model, heard on unseen sources. Free: all but what no\n"
        + "rendering of the factor can be without; the card names these, and says why.\n\n"
    )


def _printed(table: Table) -> str:
    text = io.StringIO()
    Console(width=110, file=text).print(table)
    return text.getvalue()
