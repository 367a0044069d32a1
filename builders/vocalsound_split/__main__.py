"""Build the six vocal sounds of VocalSound as a labelled dataset.

python -m builders.vocalsound_split build --out vocalsound
"""

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from builders.corpora.options import OnError
from builders.labelled import LabelledOptions, labelled_app, labelled_options, make
from builders.vocalsound_split.fresh import fresh_source
from builders.vocalsound_split.original import open_original
from builders.vocalsound_split.published import (
    DATASET,
    REVISION,
    open_published,
    published_source,
)
from otoscope.progress import ProgressBars


@labelled_options()
def build(
    *,
    options: LabelledOptions,
    from_: Annotated[
        str,
        Option(
            "--from", help="Clips: the published 720 rows, ORG/NAME@REVISION or a folder (Parquet)."
        ),
    ] = f"{DATASET}@{REVISION}",
    original: Annotated[
        Path | None,
        Option(
            help="Original VocalSound, unpacked: for speakers that rows do not name (found by "
            "audio), and for --fresh-holdout."
        ),
    ] = None,
    speaker_disjoint: Annotated[
        bool,
        Option(
            help="Speaker-disjoint splits: development rows whose speaker is in hold-out are left "
            "out."
        ),
    ] = False,
    fresh_holdout: Annotated[
        int,
        Option(
            min=0,
            help="Fresh hold-out: that many clips of the original VocalSound, e.g. 720, by unseen "
            "speakers; 0 keeps the published one.",
        ),
    ] = 0,
    seed: Annotated[int, Option(help="Random seed: of the fresh hold-out.")] = 0,
) -> None:
    """Builds VocalSound in the paper's splits, or with a fresh hold-out of unseen speakers.

    python -m builders.vocalsound_split build --out vocalsound

    The same command resumes a build that was stopped.
    """
    if fresh_holdout and original is None:
        raise typer.BadParameter("--fresh-holdout needs the original VocalSound: --original DIR")
    if fresh_holdout and speaker_disjoint:
        raise typer.BadParameter(
            "--fresh-holdout has unseen speakers; leave --speaker-disjoint out"
        )
    if seed and not fresh_holdout:
        raise typer.BadParameter("--seed is for --fresh-holdout: the published splits are fixed")
    skip = options.on_error == OnError.SKIP
    files = open_original(original, skip=skip) if original else None
    published = open_published(
        from_, original=files, num_proc=options.num_proc, progress=ProgressBars()
    )
    if fresh_holdout and files is not None:
        make(fresh_source(published, files, fresh_holdout, seed=seed), options)
    else:
        make(published_source(published, speaker_disjoint=speaker_disjoint), options)


app = labelled_app(build)

if __name__ == "__main__":
    app()
