"""`sources`: the source clips of a corpus."""

from typing import Annotated

import typer

from builders.corpora.base import SourceClip
from builders.corpora.options import CorpusOptions, corpus_options, open_corpus, verify_corpus
from builders.vocalgrad.commands.options import print_omitted
from builders.vocalgrad.planning.build_plan import limited_sources
from builders.vocalgrad.planning.estimate import sources_without_audio
from otoscope.acoustics import codec
from otoscope.progress import ProgressBars
from otoscope.reports.tables import csv_text

DURATION = "duration_s"
LISTED = (
    "split", "item_id", "clip_id", "speaker_id", "sentence_id", "path", "transcript", DURATION,
    "gender", "accent",
)  # fmt: skip


@corpus_options("licence", "attribution", "language", "on_error")
def list_sources(*, options: CorpusOptions) -> None:
    """Prints the selected source clips as CSV.

    python -m builders.vocalgrad sources list --source vctk:/data/VCTK-Corpus

    What is left out of the corpus is listed on stderr. A cell is empty where something is not
    known: voices that were not synthesised yet have no length.
    """
    if options.kind == "voices":
        sources = tuple(sources_without_audio(options))
    else:
        progress = ProgressBars(write_line=lambda line: typer.echo(line, err=True))
        corpus = open_corpus(options, progress)
        print_omitted(corpus.skipped, ())
        sources = corpus.sources
    rows = [
        {name: str(getattr(s, name, "")) for name in LISTED} | {DURATION: _duration_s(s)}
        for s in limited_sources(sources, options.limit_sources)
    ]
    typer.echo(csv_text(LISTED, rows), nl=False)


def _duration_s(clip: SourceClip) -> str:
    """As the published lists write it, from the file's header; empty where that is not known."""
    try:
        return f"{codec.duration_s(clip.path.read_bytes(), name=clip.clip_id):.6f}"
    except (OSError, codec.AudioError):
        return ""


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
