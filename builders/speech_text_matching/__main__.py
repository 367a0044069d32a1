"""Build a speech–text matching dataset.

python -m builders.speech_text_matching build --source voices:120 --out speech_text
"""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from builders.corpora import CORPORA
from builders.corpora.options import CorpusOptions, open_corpus
from builders.corpora.voices import planned_clips
from builders.labelled import LabelledOptions, LabelledSource, labelled_app, labelled_options, make
from builders.speech_text_matching.opening import (
    corpus_without_audio,
    open_dynamic_superb,
    pairs_from_corpus,
)
from otoscope.cli.options import number_option
from otoscope.progress import ProgressBars

DYNAMIC_SUPERB = "dynamic-superb"


@labelled_options()
def build(
    *,
    options: LabelledOptions,
    source: Annotated[
        str,
        Option(
            help=f"Corpus: KIND[:WHERE], KIND one of `{'`, `'.join((*CORPORA, DYNAMIC_SUPERB))}`; "
            "e.g. `voices:120` (120 clips, 240 rows), `folder:PATH` (with transcripts in "
            "metadata.csv), `dynamic-superb:@REVISION` or `dynamic-superb:PATH` (the published "
            "pairs)."
        ),
    ] = "voices:120",
    holdout_share: Annotated[
        float, number_option("Hold-out share: of the clips (not dynamic-superb).", most=1.0)
    ] = 0.5,
    near_misses: Annotated[
        float,
        number_option(
            "Near-misses: share of the mismatches in which one word is replaced; the others are "
            "another sentence.",
            most=1.0,
        ),
    ] = 0.5,
    speaker_disjoint: Annotated[
        bool, Option(help="Speaker-disjoint splits: for dynamic-superb.")
    ] = False,
    match_label: Annotated[
        str | None, Option(help="Label of a match as the dataset writes it (dynamic-superb).")
    ] = None,
    seed: Annotated[int, Option(help="Random seed: of division and choice.")] = 0,
    metadata: Annotated[Path | None, Option(help="Metadata (folder): with transcripts.")] = None,
    licence: Annotated[
        str | None, Option(help="Licence for the card (folder, dataset): a Hub identifier.")
    ] = None,
    attribution: Annotated[
        str | None, Option(help="Attribution for the card (folder, dataset).")
    ] = None,
    language: Annotated[
        str | None, Option(help="Language code for the card (folder, dataset).")
    ] = None,
) -> None:
    """Builds pairs of speech and text, labelled match or no match.

    python -m builders.speech_text_matching build --source voices:120 --out speech_text

    The same command resumes a build that was stopped. Synthesised clips are cached.
    """
    if source.split(":")[0] == DYNAMIC_SUPERB:
        where = source.removeprefix(DYNAMIC_SUPERB).removeprefix(":")
        apart = ("speaker_id",) if speaker_disjoint else ()
        make(open_dynamic_superb(where, match_label=match_label, apart=apart, seed=seed), options)
        return
    for name, given in (("speaker-disjoint", speaker_disjoint), ("match-label", match_label)):
        if given:
            raise typer.BadParameter(f"--{name} is for --source {DYNAMIC_SUPERB}")
    chosen = CorpusOptions(
        source, metadata=metadata, licence=licence, attribution=attribution, language=language
    )
    pairs = partial(pairs_from_corpus, holdout=holdout_share, near_misses=near_misses, seed=seed)
    if options.dry_run and chosen.kind == "voices":
        planned = corpus_without_audio(planned_clips(chosen.where, ["test"]), "voices")
        _print_counts(pairs(planned), options)
        return
    make(pairs(open_corpus(chosen, ProgressBars())), options)


def _print_counts(source: LabelledSource, options: LabelledOptions) -> None:
    counted = Counter((clip.split, clip.label) for clip in source.clips)
    for (split, label), n in sorted(counted.items()):
        typer.echo(f"{split}: {n} rows with the label {label}")
    typer.echo(f"no speech was synthesised; nothing was written in {options.out}")


app = labelled_app(build)

if __name__ == "__main__":
    app()
