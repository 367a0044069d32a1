"""Build the ten animals of ESC-50 as a labelled dataset.

python -m builders.esc50_animals build --from /data/ESC-50-master --out animals
"""

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from builders.esc50_animals.reading import open_esc50_animals
from builders.labelled import LabelledOptions, labelled_app, labelled_options, make


@labelled_options()
def build(
    *,
    options: LabelledOptions,
    from_: Annotated[
        Path, Option("--from", help="Clips: the folder of ESC-50, with meta/esc50.csv and audio.")
    ],
    holdout_folds: Annotated[
        str,
        Option(
            help="Folds that are held out, comma-separated, e.g. `4,5`; 20 clips of each class, "
            "by source recording, when absent."
        ),
    ] = "",
    seed: Annotated[int, Option(help="Random seed: of the division.")] = 0,
) -> None:
    """Builds ten animals of ESC-50: 200 clips held out, no source recording in both splits.

    python -m builders.esc50_animals build --from /data/ESC-50-master --out animals

    The same command resumes a build that was stopped.
    """
    names = [name.strip() for name in holdout_folds.split(",") if name.strip()]
    if not all(name.isdecimal() for name in names):
        raise typer.BadParameter(f"--holdout-folds is {holdout_folds!r}; write e.g. 4,5")
    make(open_esc50_animals(from_, holdout_folds=[int(n) for n in names], seed=seed), options)


app = labelled_app(build)

if __name__ == "__main__":
    app()
