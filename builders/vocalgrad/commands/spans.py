"""`spans`: a page on which a person corrects the spans of speech."""

from pathlib import Path
from typing import Annotated

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
from builders.vocalgrad.pages.spans_export import write_spans_export
from builders.vocalgrad.pages.spans_page import write_spans_page
from builders.vocalgrad.planning.build_plan import limited_sources
from builders.vocalgrad.planning.corrections import read_corrections
from builders.vocalgrad.planning.survey import survey
from otoscope.acoustics.spans import Policy
from otoscope.progress import ProgressBars


@corpus_options("licence", "attribution", "language", "on_error")
def spans(
    *,
    options: CorpusOptions,
    out: Annotated[
        Path,
        typer.Option(
            help="Output: an HTML page; or a folder, for the page and the detector's numbers."
        ),
    ] = Path("spans.html"),
    corrections: Corrections = None,
    on_nothing_found: NothingFound = Policy.REJECT,
    on_short: Short = Policy.KEEP,
    on_loud_start: LoudStart = Policy.QUIETEST_FLOOR,
) -> None:
    """Writes a page of waveforms with their speech spans, to check and correct.

    python -m builders.vocalgrad spans --source folder:recordings --out spans.html

    python -m builders.vocalgrad spans --source vctk:/data/VCTK-Corpus --out spans

    The page saves a CSV of corrections, which `build --corrections` and this command read. A folder
    gets the detector's threshold, noise floor, peak and segments as a CSV in the published columns,
    histograms of onset and offset, and a summary.
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
    page = out if out.suffix.lower() in (".html", ".htm") else out / "index.html"
    with plain_disk_errors(out):
        if page != out:
            with progress.bar("Writing the detector's numbers", len(sources)) as step:
                write_spans_export(out, sources, step)
        write_spans_page(page, sources, seen)
    print_omitted([*seen.rejected, *seen.dropped], seen.doubtful)
    typer.echo(f"{len(seen.sources)} spans, {len(seen.doubtful)} of them in doubt: {page}")
