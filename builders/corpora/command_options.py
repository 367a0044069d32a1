"""The options of commands that read a corpus."""

from pathlib import Path
from typing import Annotated

import typer

from builders.corpora.options import CorpusOptions

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


def corpus_options(context: typer.Context) -> CorpusOptions:
    """The corpus options of the command that was called."""
    return CorpusOptions.from_options(context.params)
