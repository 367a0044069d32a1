"""Build a split of the English part of ESD as a labelled dataset.

python -m builders.esd_split build --from /data/ESD --variant speaker_disjoint --out emotions
"""

from pathlib import Path
from typing import Annotated

from typer import Option

from builders.esd_split.reading import VARIANTS, open_esd
from builders.labelled import LabelledOptions, labelled_app, labelled_options, make


@labelled_options()
def build(
    *,
    options: LabelledOptions,
    from_: Annotated[
        Path,
        Option(
            "--from", help="Clips: the folder of ESD, with 0011/Angry/0011_000351.wav and so on."
        ),
    ],
    variant: Annotated[
        str,
        Option(
            help=f"Split: one of `{'`, `'.join(VARIANTS)}`; 90 + 120 clips, or 125 + 125 of 5 + 5 "
            "speakers."
        ),
    ] = "earlier",
    ids: Annotated[
        Path | None,
        Option(
            help="Table of the earlier split's clips, with the columns id (0011_000351) and split; "
            "drawn by hash when absent."
        ),
    ] = None,
    seed: Annotated[int, Option(help="Random seed: of the draw.")] = 0,
) -> None:
    """Builds five emotions of English speech in the earlier or the speaker-disjoint split.

    python -m builders.esd_split build --from /data/ESD --variant speaker_disjoint --out emotions

    The same command resumes a build that was stopped.
    """
    make(open_esd(from_, variant=variant, ids=ids, seed=seed), options)


app = labelled_app(build)

if __name__ == "__main__":
    app()
