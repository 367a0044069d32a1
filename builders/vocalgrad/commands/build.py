"""`build`: a dataset folder."""

import os
from pathlib import Path
from typing import Annotated

import typer

from builders.building.folder import size_text
from builders.corpora.beeps import open_beeps
from builders.corpora.options import CorpusOptions, corpus_options, open_corpus
from builders.corpora.reading.partition import leaks
from builders.vocalgrad.commands.options import (
    Corrections,
    LoudStart,
    NothingFound,
    Short,
    print_omitted,
    span_policies,
)
from builders.vocalgrad.finishing import finish
from builders.vocalgrad.measuring.measurement import Verify
from builders.vocalgrad.planning.build_plan import plan_build
from builders.vocalgrad.planning.corrections import read_corrections
from builders.vocalgrad.planning.estimate import TYPICAL_S, BuildSize, estimate, plan_without_audio
from builders.vocalgrad.rendering.rows import build as build_dataset
from otoscope.acoustics.spans import Policy
from otoscope.cli.options import Overwrite, ProfileName
from otoscope.progress import ProgressBars


@corpus_options()
def build(
    *,
    options: CorpusOptions,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output: the dataset folder; `vocalgrad` or `vocalgrad-controlled` when absent."
        ),
    ] = None,
    categories: Annotated[
        str,
        typer.Option(help="Categories, comma-separated; the published nine when absent."),
    ] = "",
    profile: ProfileName = "paper",
    beeps: Annotated[bool, typer.Option(help="Add the ten-tone ablation as config `beep`.")] = True,
    corrections: Corrections = None,
    on_nothing_found: NothingFound = Policy.REJECT,
    on_short: Short = Policy.KEEP,
    on_loud_start: LoudStart = Policy.QUIETEST_FLOOR,
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
    out = out or Path("vocalgrad" if profile == "paper" else f"vocalgrad-{profile}")
    corrected = read_corrections(corrections) if corrections else None
    if dry_run and options.kind == "voices":
        unspoken = plan_without_audio(options, _names(categories), profile=profile, beeps=beeps)
        _print_size(estimate(unspoken), out)
        typer.echo(f"(no speech was synthesised: {TYPICAL_S:g} s counted for each source)")
        return
    planned = plan_build(
        open_corpus(options, progress),
        open_beeps() if beeps else None,
        categories=_names(categories),
        profile=profile,
        policies=span_policies(on_nothing_found, on_short, on_loud_start),
        corrections=corrected,
        on_error=options.on_error,
        limit_sources=options.limit_sources,
        progress=progress,
    )
    plan, survey, corpus = planned
    for leak in leaks(corpus.sources):
        typer.echo(f"warning: {leak}", err=True)
    print_omitted([*corpus.skipped, *survey.rejected, *survey.dropped], survey.doubtful)
    if dry_run:
        _print_size(estimate(plan), out)
        return
    built = build_dataset(plan, out, num_proc=num_proc, overwrite=overwrite, progress=progress)
    typer.echo(finish(built, planned, verify=verify, num_proc=num_proc, progress=progress))


def _names(listed: str) -> list[str] | None:
    return [name for name in listed.split(",") if name] or None


def _print_size(size: BuildSize, out: Path) -> None:
    for name, n in size.rows.items():
        typer.echo(f"{name:18} {n:>9,} clips")
    typer.echo(
        f"{size.n_files} files, {size.audio_hours:.1f} h of audio, "
        f"about {size_text(size.bytes_likely)} (at most {size_text(size.bytes_at_most)}) in {out}; "
        "nothing was written"
    )
