"""Build and check VocalGrad.

python -m builders.vocalgrad build --source vctk:/data/VCTK-Corpus --out vocalgrad
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from builders.corpora.base import CorpusError, Skipped
from builders.corpora.loquacious.verification import verify_rows
from builders.corpora.options import CorpusOptions, loquacious_place, open_corpus
from builders.corpora.reading.partition import leaks
from builders.corpora.vctk.verification import verify
from builders.vocalgrad.dry import TYPICAL_S, unspoken_plan
from builders.vocalgrad.finishing import finish
from builders.vocalgrad.listening import Verify
from builders.vocalgrad.making import (
    Estimate,
    OnError,
    estimate,
    limited,
    plain_disk_errors,
    plan_build,
)
from builders.vocalgrad.making import build as make
from builders.vocalgrad.side_by_side import write_side_by_side
from builders.vocalgrad.spans_page import write_spans_page
from builders.vocalgrad.survey import read_corrections, survey
from otoscope.acoustics.spans import Policy, Problem
from otoscope.cli.errors import App
from otoscope.cli.options import OutPage, Overwrite, Profile
from otoscope.folders import cache_folder
from otoscope.progress import ProgressBars

app = App(help=__doc__, no_args_is_help=True)
sources_app = App(help="The source clips of a corpus.", no_args_is_help=True)
app.add_typer(sources_app, name="sources")

Where = Annotated[
    str,
    typer.Option(
        "--source",
        help="Corpus: KIND[:WHERE], one of `voices[:N]` (N sources; the voices ship in packages), "
        "`vctk:PATH`, `folder:PATH`, `cv-spontaneous:PATH`, `dataset:PATH_OR_REPO`, "
        "`loquacious[:REPO_OR_FOLDER]`; the last two with `@REVISION` when read from the Hub.",
    ),
]
Splits = Annotated[
    str, typer.Option(help="Splits to build, comma-separated: test, train, validation.")
]
Selection = Annotated[
    str,
    typer.Option(
        help="Selection of clips: `published` (our draw by the published rules), `frozen` (the "
        "published list; vctk, loquacious), `all` (every clip; vctk)."
    ),
]
Microphone = Annotated[str, typer.Option(help="Microphone of VCTK 0.92: `mic1` or `mic2`.")]
Metadata = Annotated[
    Path | None,
    typer.Option(
        help="Metadata (folder): CSV with file_name and, if known, speaker_id, sentence_id, "
        "transcript, split, onset_sec, offset_sec, item_id, clip_id; `metadata.csv` when absent."
    ),
]
Licence = Annotated[
    str, typer.Option(help="Licence for the card (folder, dataset): a Hub identifier.")
]
Attribution = Annotated[str, typer.Option(help="Attribution for the card (folder, dataset).")]
Language = Annotated[str, typer.Option(help="Language code for the card (folder, dataset).")]
FromSplit = Annotated[str, typer.Option(help="Split to read (dataset).")]
Config = Annotated[str, typer.Option(help="Dataset config.")]
AudioColumn = Annotated[str, typer.Option(help="Audio column (dataset).")]
Limit = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Use at most N sources of each split; spread over speakers, or the first rows of a "
        "dataset before it is divided into splits.",
    ),
]
Corrections = Annotated[
    Path | None, typer.Option(help="Corrected spans: the CSV that the page of `spans` saves.")
]
NothingFound = Annotated[Policy, typer.Option(help="Policy for a clip without a detectable span.")]
Short = Annotated[Policy, typer.Option(help="Policy for a detected span under 1 s.")]
LoudStart = Annotated[Policy, typer.Option(help="Policy for a clip that begins with speech.")]


def choice(context: typer.Context) -> CorpusOptions:
    """The corpus options of the command that was called."""
    return CorpusOptions.from_options(context.params)


@app.command()
def build(
    context: typer.Context,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output: the dataset folder; `vocalgrad` or `vocalgrad-controlled` when absent."
        ),
    ] = None,
    source: Where = "voices:40",
    splits: Splits = "test",
    selection: Selection = "published",
    microphone: Microphone = "mic1",
    metadata: Metadata = None,
    licence: Licence = "unknown",
    attribution: Attribution = "",
    language: Language = "",
    from_split: FromSplit = "test",
    config: Config = "",
    audio_column: AudioColumn = "audio",
    limit_sources: Limit = None,
    categories: Annotated[
        str, typer.Option(help="Categories, comma-separated; all when absent.")
    ] = "",
    profile: Profile = "paper",
    beeps: Annotated[bool, typer.Option(help="Add the ten-tone ablation as config `beep`.")] = True,
    corrections: Corrections = None,
    on_nothing_found: NothingFound = Policy.REJECT,
    on_short: Short = Policy.KEEP,
    on_loud_start: LoudStart = Policy.QUIETEST_FLOOR,
    on_error: Annotated[
        OnError, typer.Option(help="Policy for a source that cannot be used.")
    ] = OnError.STOP,
    verify: Annotated[Verify, typer.Option(help="Clips to measure.")] = Verify.SAMPLE,
    num_proc: Annotated[int, typer.Option(min=1, help="Worker processes.")] = os.cpu_count() or 1,
    overwrite: Overwrite = False,
    dry_run: Annotated[bool, typer.Option(help="Dry run: print counts and sizes.")] = False,
) -> None:
    """Builds a dataset folder that `load_dataset` and the Hub understand.

    python -m builders.vocalgrad build --source vctk:/data/VCTK-Corpus --out vocalgrad

    The same command resumes a build that was stopped. The bytes do not depend on --num-proc.
    """
    progress = ProgressBars()
    wanted = choice(context)
    out = out or Path("vocalgrad" if profile == "paper" else f"vocalgrad-{profile}")
    if dry_run and wanted.kind == "voices":
        unspoken = unspoken_plan(wanted, _names(categories), profile=profile, beeps=beeps)
        _say_estimate(estimate(unspoken), out)
        typer.echo(f"(nothing was spoken either: {TYPICAL_S:g} s counted for each source)")
        return
    corpus = open_corpus(wanted, progress)
    plan, seen = plan_build(
        corpus,
        open_corpus(CorpusOptions("beep"), progress) if beeps else None,
        categories=_names(categories),
        profile=profile,
        policies=_policies(on_nothing_found, on_short, on_loud_start),
        corrections=read_corrections(corrections) if corrections else None,
        on_error=on_error,
        limit_sources=limit_sources,
        progress=progress,
    )
    for leak in leaks(corpus.sources):
        typer.echo(f"warning: {leak}", err=True)
    _say_left_out([*corpus.skipped, *seen.refused, *seen.dropped], seen.doubtful)
    if dry_run:
        _say_estimate(estimate(plan), out)
        return
    built = make(plan, seen, corpus, out, num_proc=num_proc, overwrite=overwrite, progress=progress)
    typer.echo(finish(built, corpus, verify=verify, num_proc=num_proc, progress=progress))


@app.command()
def spans(
    context: typer.Context,
    out: OutPage = Path("spans.html"),
    source: Where = "voices:40",
    splits: Splits = "test",
    selection: Selection = "published",
    microphone: Microphone = "mic1",
    metadata: Metadata = None,
    from_split: FromSplit = "test",
    config: Config = "",
    audio_column: AudioColumn = "audio",
    limit_sources: Limit = None,
    corrections: Corrections = None,
    on_nothing_found: NothingFound = Policy.REJECT,
    on_short: Short = Policy.KEEP,
    on_loud_start: LoudStart = Policy.QUIETEST_FLOOR,
) -> None:
    """Writes a page of waveforms with their speech spans, to check and correct.

    python -m builders.vocalgrad spans --source folder:recordings --out spans.html

    The page saves a CSV of corrections, which `build --corrections` and this command read.
    """
    progress = ProgressBars()
    corpus = open_corpus(choice(context), progress)
    known = read_corrections(corrections) if corrections else None
    sources = limited(corpus.sources, limit_sources)
    with progress.bar("Detecting speech spans", len(sources)) as step:
        seen = survey(
            sources,
            policies=_policies(on_nothing_found, on_short, on_loud_start),
            corrections=known,
            known=corpus.sources,
            on_source=step,
        )
    with plain_disk_errors(out):
        write_spans_page(out, sources, seen)
    _say_left_out([*seen.refused, *seen.dropped], seen.doubtful)
    typer.echo(f"{len(seen.sources)} spans, {len(seen.doubtful)} to look at first: {out}")


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="BUILD", help="A finished build.")],
    second: Annotated[
        Path, typer.Argument(metavar="BUILD", help="Another, e.g. of the other profile.")
    ],
    out: OutPage = Path("compare.html"),
) -> None:
    """Writes a page that compares two builds: observers and confounds.

    python -m builders.vocalgrad compare vocalgrad vocalgrad-controlled
    """
    with plain_disk_errors(out):
        typer.echo(f"comparison: {write_side_by_side(first, second, out)}")


@sources_app.command("list")
def list_sources(
    context: typer.Context,
    source: Where = "voices:40",
    splits: Splits = "test",
    selection: Selection = "published",
    microphone: Microphone = "mic1",
    metadata: Metadata = None,
    from_split: FromSplit = "test",
    config: Config = "",
    audio_column: AudioColumn = "audio",
    limit_sources: Limit = None,
) -> None:
    """Prints the selected source clips as CSV.

    python -m builders.vocalgrad sources list --source vctk:/data/VCTK-Corpus
    """
    import csv
    import sys

    corpus = open_corpus(
        choice(context), ProgressBars(write_line=lambda line: typer.echo(line, err=True))
    )
    writer = csv.writer(sys.stdout)
    writer.writerow(
        ["split", "item_id", "clip_id", "speaker_id", "sentence_id", "path", "transcript"]
    )
    for s in limited(corpus.sources, limit_sources):
        writer.writerow(
            [s.split, s.item_id, s.clip_id, s.speaker_id, s.sentence_id, s.path, s.transcript]
        )


@sources_app.command("verify")
def verify_sources(
    corpus: Annotated[
        str,
        typer.Argument(
            help="A VCTK folder (with speaker-info.txt in it), or "
            "`loquacious[:REPO_OR_FOLDER]`, with `@REVISION` when read from the Hub."
        ),
    ],
    microphone: Microphone = "mic1",
) -> None:
    """Compares a corpus with the published list of test clips; exit code 1 where they differ.

    python -m builders.vocalgrad sources verify /data/VCTK-Corpus

    VCTK and LoquaciousSet have such a list; of Common Voice only the rules are known.
    """
    asked = CorpusOptions(corpus)
    if asked.kind == "cv-spontaneous":
        raise CorpusError("there is no published list of Common Voice clips to compare with")
    if asked.kind == "loquacious":
        agrees, summary = _compare_rows(asked)
    else:
        folder = Path(asked.where if asked.kind == "vctk" else corpus).expanduser()
        report = verify(folder, microphone=microphone)
        agrees, summary = report.agrees and report.complete, report.summary()
    typer.echo(summary)
    if not agrees:
        raise typer.Exit(1)


def _compare_rows(asked: CorpusOptions) -> tuple[bool, str]:
    where, revision = loquacious_place(asked)
    with ProgressBars().bar("Reading rows", 0) as step:
        report = verify_rows(
            where,
            revision=revision,
            work_folder=cache_folder() / "streamed",
            progress=lambda done, total: step(done, total=True),
        )
    return report.agrees, report.summary()


def _policies(nothing_found: Policy, short: Policy, loud_start: Policy) -> dict[Problem, Policy]:
    return {
        Problem.NOTHING_FOUND: nothing_found,
        Problem.SHORT: short,
        Problem.FROM_FIRST_FRAME: loud_start,
    }


def _names(listed: str) -> list[str] | None:
    return [name for name in listed.split(",") if name] or None


def _say_left_out(refused: Sequence[Skipped], doubtful: Sequence[Skipped]) -> None:
    for title, lines in (("left out", refused), ("span in doubt", doubtful)):
        for skipped in lines[:10]:
            typer.echo(f"{title}: {skipped.name}: {skipped.reason}", err=True)
        if len(lines) > 10:
            typer.echo(f"{title}: and {len(lines) - 10} more", err=True)


def _say_estimate(e: Estimate, out: Path) -> None:
    for name, n in e.rows.items():
        typer.echo(f"{name:18} {n:>9,} clips")
    typer.echo(
        f"{e.n_files} files, {e.audio_hours:.1f} h of audio, about {e.bytes_likely / 1e9:.2f} GB "
        f"(at most {e.bytes_at_most / 1e9:.2f} GB) in {out}; nothing was written"
    )


if __name__ == "__main__":
    app()
