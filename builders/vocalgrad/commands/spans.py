"""`spans`: a page on which a person corrects the spans of speech."""

from pathlib import Path

import typer

from builders.building.folder import plain_disk_errors
from builders.corpora.options import CorpusOptions, corpus_options, open_corpus
from builders.vocalgrad.commands.options import (
    Corrections,
    LoudStart,
    NothingFound,
    Short,
    print_omitted,
    span_policies,
)
from builders.vocalgrad.pages.spans_page import write_spans_page
from builders.vocalgrad.planning.build_plan import limited_sources
from builders.vocalgrad.planning.corrections import read_corrections
from builders.vocalgrad.planning.survey import survey
from otoscope.acoustics.spans import Policy
from otoscope.cli.options import OutPage
from otoscope.progress import ProgressBars


@corpus_options("licence", "attribution", "language", "on_error")
def spans(
    *,
    options: CorpusOptions,
    out: OutPage = Path("spans.html"),
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
    corpus = open_corpus(options, progress)
    known = read_corrections(corrections) if corrections else None
    sources = limited_sources(corpus.sources, options.limit_sources)
    with progress.bar("Detecting speech spans", len(sources)) as step:
        seen = survey(
            sources,
            policies=span_policies(on_nothing_found, on_short, on_loud_start),
            corrections=known,
            known=corpus.sources,
            on_source=step,
        )
    with plain_disk_errors(out):
        write_spans_page(out, sources, seen)
    print_omitted([*seen.rejected, *seen.dropped], seen.doubtful)
    typer.echo(f"{len(seen.sources)} spans, {len(seen.doubtful)} of them in doubt: {out}")
