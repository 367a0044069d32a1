"""`sources`: the source clips of a corpus."""

import csv
import sys
from typing import Annotated

import typer

from builders.corpora.options import CorpusOptions, corpus_options, open_corpus, verify_corpus
from builders.vocalgrad.planning.build_plan import limited_sources
from otoscope.progress import ProgressBars


@corpus_options("licence", "attribution", "language", "on_error")
def list_sources(*, options: CorpusOptions) -> None:
    """Prints the selected source clips as CSV.

    python -m builders.vocalgrad sources list --source vctk:/data/VCTK-Corpus
    """
    progress = ProgressBars(write_line=lambda line: typer.echo(line, err=True))
    corpus = open_corpus(options, progress)
    writer = csv.writer(sys.stdout)
    writer.writerow(
        ["split", "item_id", "clip_id", "speaker_id", "sentence_id", "path", "transcript"]
    )
    for s in limited_sources(corpus.sources, options.limit_sources):
        writer.writerow(
            [s.split, s.item_id, s.clip_id, s.speaker_id, s.sentence_id, s.path, s.transcript]
        )


def verify_sources(
    corpus: Annotated[
        str,
        typer.Argument(
            help="A VCTK folder (with speaker-info.txt in it), or "
            "`loquacious[:REPO_OR_FOLDER]`, with `@REVISION` when read from the Hub."
        ),
    ],
    microphone: Annotated[
        str | None, typer.Option(help="Microphone of VCTK 0.92: `mic1` (default) or `mic2`.")
    ] = None,
) -> None:
    """Compares a corpus with the published list of test clips; exit code 1 where they differ.

    python -m builders.vocalgrad sources verify /data/VCTK-Corpus

    VCTK and LoquaciousSet have such a list; of Common Voice only the rules are known.
    """
    options = CorpusOptions(corpus, microphone=microphone)
    verification = verify_corpus(options, ProgressBars())
    typer.echo(verification.summary())
    if not verification.matches:
        raise typer.Exit(1)
