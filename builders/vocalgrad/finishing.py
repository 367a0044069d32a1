"""What follows once all clips are there: measurements, the card, the page, the summary."""

import io

from rich.console import Console
from rich.table import Table

from builders.building.finished import FinishedBuild
from builders.building.folder import claimed_folder, plain_disk_errors
from builders.vocalgrad.measuring.build_confounds import (
    TOGETHER,
    ConfoundReport,
    auc_text,
    by_category,
    confound_report,
    joint_auc,
    worst,
)
from builders.vocalgrad.measuring.findings import store_findings
from builders.vocalgrad.measuring.measurement import Verify, measure_build
from builders.vocalgrad.measuring.observer_accuracy import ObserverReport, observer_report
from builders.vocalgrad.pages.build_page import write_page
from builders.vocalgrad.pages.card import configs_of, omitted_sources, write_card
from builders.vocalgrad.planning.build_plan import PlannedBuild
from otoscope.acoustics.contrasts import contrast_title
from otoscope.acoustics.gradients import attribute_of
from otoscope.errors import first_names
from otoscope.progress import Progress
from otoscope.reports.terminal import shell_word
from otoscope.statistics.method_names import CLUSTERED


def finish(
    build: FinishedBuild,
    planned: PlannedBuild,
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
    plan, folder = planned.plan, build.folder
    measurement = measure_build(plan, folder, verify=verify, num_proc=num_proc, progress=progress)
    observer, confounds = observer_report(measurement), confound_report(measurement)
    with claimed_folder(folder, plan), plain_disk_errors(folder):
        write_card(build, planned, observer, confounds)
        page = write_page(build, planned, observer, confounds)
        store_findings(build, planned, observer, confounds)
    n_rows = sum(file["rows"] for file in build.files.values())
    n_no_effect = sum(f["no_effect"] for f in build.files.values())
    first = configs_of(build, plan)["all"][0]
    lines = [
        f"{n_rows:,} rows in {len(build.files)} files, {build.n_rows_made:,} made now; "
        f"{len(omitted_sources(planned))} left out of the corpus (the card says why), "
        f"{len(planned.survey.doubtful)} with a span in doubt, "
        f"{n_no_effect:,} clips with no effect at their rate",
        f"load it: load_dataset({str(folder)!r}, {first!r})"
        '.cast_column("audio", Audio(decode=False))',
        f"its page: {page}",
        f"next: otoscope run perception --dataset {shell_word(folder)} --model observer "
        "--out runs/observer",
    ]
    if build.changed:
        lines.insert(
            0,
            f"{len(build.changed)} files were not as they had been written, and were made again: "
            f"{first_names(build.changed)}",
        )
    tables = observer_text(observer) + confounds_text(confounds) if observer.rows else ""
    return tables + "\n".join(lines)


def observer_text(report: ObserverReport) -> str:
    """The observer's table for a terminal: per cent correct, with intervals."""
    table = Table(title=f"Slope observer, % correct [95 % CI, {CLUSTERED}]: {report.basis}")
    heads = ("clips", "not measurable", "clip alone", "with its source", "no effect", "of all")
    for name in ("category", "tier", *heads):
        table.add_column(name, justify="left" if name in ("category", "tier") else "right")
    for row in report.rows:
        table.add_row(
            attribute_of(row.category), row.tier, str(row.n), str(row.n_unanswered),
            str(row.alone), str(row.with_source), str(row.n_no_effect), row.of_all,
        )  # fmt: skip
    return (
        _printed(table)
        + "The observer measures the cue and takes the sign of its slope: from the clip alone, or\n"
        + "with the unmodified source at hand. No effect: clips that do not change at this\n"
        + "sampling rate, left out. Of all: clip alone with these, the published denominator.\n\n"
    )


def confounds_text(report: ConfoundReport) -> str:
    """What else predicts the label: each category's worst confound, and all together."""
    table = Table(title="Confounds: area under the ROC curve (0.5 is chance) [95 %]")
    for name in ("category", "worst avoidable confound", "its area", *TOGETHER):
        table.add_column(name)
    for category, rows in by_category(report.all_tiers.rows).items():
        row = worst(list(rows.values()))
        table.add_row(
            attribute_of(category),
            contrast_title(row.name) if row else "–",
            auc_text(row.auc) if row else "–",
            auc_text(joint_auc(report.all_tiers, category, avoidable_only=False)),
            auc_text(joint_auc(report.all_tiers, category, avoidable_only=True)),
        )
    return (
        _printed(table)
        + "Contrasts (second half minus first, tail minus head, length) are compared within tier\n"
        + "and curve. Together: a logistic model, tested on held-out sources. Avoidable: without\n"
        + "those that every rendering of the factor has; the card names these, and says why.\n\n"
    )


def _printed(table: Table) -> str:
    text = io.StringIO()
    Console(width=110, file=text).print(table)
    return text.getvalue()
