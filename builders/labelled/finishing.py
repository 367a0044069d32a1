"""What follows once all clips are there: the card, the page, the table of files, the summary."""

import csv
import io
from pathlib import Path
from typing import Any

from markupsafe import Markup

from builders.building.finished import FinishedBuild, stored_rows
from builders.building.folder import STATE, claimed_folder, plain_disk_errors, staging_folder
from builders.building.markdown import in_code, in_text
from builders.building.repository import write_readme
from builders.labelled.planning import CONFIG, LabelledPlan, PlannedLabelled
from builders.labelled.rows import features
from builders.labelled.summary import summary_of
from builders.splits import DEVELOPMENT
from cards import render_card
from otoscope.errors import first_names
from otoscope.reports.terminal import shell_word
from otoscope.reports.writing import data_uri, render, write
from otoscope.version import __version__

TEMPLATES = Path(__file__).parent / "templates"
FILES = f"{STATE}/files.csv"
PLAYERS = 3  # of each class
MAX_AUDIO_BYTES = 6_000_000  # of FLAC on a page; as text a third more


def finish(build: FinishedBuild, planned: PlannedLabelled) -> str:
    """Writes README.md, index.html and the table of files; returns the summary to print.

    All of it is computed from the plan and the files, so it can be redone at any time.

    Raises:
        BuildError: The folder is in use, or cannot be written.
    """
    folder, summary = build.folder, summary_of(planned)
    with claimed_folder(folder, planned.plan), plain_disk_errors(folder):
        _write_card(build, planned, summary)
        page = _write_page(build, planned, summary)
        write(folder / FILES, files_table(planned.plan), via=staging_folder(folder))
        build.write_findings(
            {
                "task": planned.plan.task,
                "splits": summary["splits"],
                "guard": [overlap._asdict() for overlap in planned.guard],
                "labels_in_file_names": summary["n_named"],
                "skipped": [list(skipped) for skipped in summary["skipped"]],
            }
        )
    lines = [*_changed(build), *printed(summary)]
    return "\n".join(
        [
            *lines,
            f"{len(build.files)} files, {build.n_rows_made:,} rows made now",
            f"load it: load_dataset({str(folder)!r})",
            f"its page: {page}",
            f"next: otoscope run labels --dataset {shell_word(folder)} --model constant:"
            f"{shell_word(planned.plan.labels[0])} --out runs/constant",
        ]
    )


def printed(summary: dict[str, Any]) -> list[str]:
    """Sizes, and what the splits share, for a terminal."""
    lines = [
        f"{s['name']}: {s['n']} clips, {s['n_clusters']} clusters, {s['n_speakers']} speakers, "
        f"{s['minutes']} min"
        for s in summary["splits"]
    ]
    counts = ", ".join(
        f"{c['label']} {c['counts'][0]} + {c['counts'][1]}" for c in summary["classes"]
    )
    lines.append(f"classes, development + hold-out: {counts}")
    lines += [f"{o.what} in both splits: {o.outcome}" for o in summary["guard"]]
    if summary["n_named"]:
        lines.append(
            f"the label stands in {summary['n_named']} file names; ids and published names hide it"
        )
    if skipped := summary["skipped"]:
        lines.append(f"left out: {len(skipped)} ({first_names([s.name for s in skipped])})")
    return lines


def files_table(plan: LabelledPlan) -> str:
    """Which file each clip is from, as CSV; it stays on this machine."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["id", "split", "label", "file_name", "note", "file_sha256"])
    for s in plan.clips:
        c = s.clip
        table.writerow([c.id, c.split, c.label, c.file_name, c.note, s.file_sha256])
    return text.getvalue()


def _write_card(build: FinishedBuild, planned: PlannedLabelled, summary: dict[str, Any]) -> None:
    plan, source = planned.plan, planned.source
    text = render_card(
        "labelled.md.jinja",
        source=source,
        otoscope_version=__version__,
        example_repo=build.folder.resolve().name,
        n_bytes=sum(file["bytes"] for file in build.files.values()),
        md=in_text,
        code=in_code,
        **summary,
    )
    write_readme(
        build,
        features=features(plan),
        text=text,
        header={
            "license": source.licence,
            "language": [source.language] if source.language else None,
            "pretty_name": source.name,
            "task_categories": ["audio-classification"],
            "tags": ["audio", "benchmark", *["synthetic"] * source.synthetic],
        },
    )


def _write_page(build: FinishedBuild, planned: PlannedLabelled, summary: dict[str, Any]) -> Path:
    values = {
        **summary,
        "title": planned.source.name,
        "source": planned.source,
        "examples": examples(build, planned.plan),
    }
    text = render("labelled.html.jinja", values, folder=TEMPLATES)
    return write(build.folder / "index.html", text, via=staging_folder(build.folder))


def examples(build: FinishedBuild, plan: LabelledPlan) -> list[dict[str, Any]]:
    """A few clips of each class with players, of development: hold-out is for the audit."""
    shown, size = dict[str, list[str]](), 0
    for n in range(PLAYERS):  # a clip of every class before a second one of any
        for label in plan.labels:
            own = [s for s in plan.of_split(DEVELOPMENT) if s.clip.label == label]
            if n < len(own) and size + own[n].pcm_bytes <= MAX_AUDIO_BYTES:
                size += own[n].pcm_bytes
                shown.setdefault(label, []).append(own[n].clip.id)
    rows = stored_rows(build, CONFIG, [name for names in shown.values() for name in names])
    return [
        {
            "label": label,
            "clips": [
                {"row": rows[i], "audio": Markup(data_uri(rows[i]["audio"]["bytes"], "audio/flac"))}
                for i in shown.get(label, [])
            ],
        }
        for label in plan.labels
    ]


def _changed(build: FinishedBuild) -> list[str]:
    if not build.changed:
        return []
    return [
        f"{len(build.changed)} files were not as they had been written, and were made again: "
        f"{first_names(build.changed)}"
    ]
