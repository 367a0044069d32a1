"""Build a labelled dataset from anybody's clips.

python -m builders.labelled_folder build --from /data/animals --task animals --out animals
"""

from pathlib import Path
from typing import Annotated

from typer import Option

from builders.labelled import LabelledOptions, labelled_app, labelled_options, make
from builders.labelled_folder.reading import Terms, open_labelled_folder
from otoscope.cli.options import number_option


@labelled_options()
def build(
    *,
    options: LabelledOptions,
    from_: Annotated[
        Path,
        Option(
            "--from",
            help="Clips: a folder with one folder for each label (or development/LABEL and "
            "holdout/LABEL), or a table (CSV, TSV, JSON lines, Parquet) with audio paths and "
            "labels; a folder with metadata.csv, .jsonl or .parquet is read by that table.",
        ),
    ],
    task: Annotated[str, Option(help="Task: the name of the question.")] = "generic",
    labels: Annotated[
        str, Option(help="Labels in the task's order, comma-separated; sorted when absent.")
    ] = "",
    holdout_share: Annotated[
        float,
        number_option("Hold-out share: of each class, where no split is given.", most=1.0),
    ] = 0.5,
    cluster: Annotated[
        str | None,
        Option(
            help="Column by which examples are clustered: what is never divided and is resampled "
            "together (a table); by default cluster_id, then the source, then the speaker, else "
            "each clip alone."
        ),
    ] = None,
    speaker_disjoint: Annotated[
        bool, Option(help="Speaker-disjoint splits: where no split is given.")
    ] = False,
    source_disjoint: Annotated[
        bool, Option(help="Source-disjoint splits, where no split is given.")
    ] = False,
    seed: Annotated[int, Option(help="Random seed: of the division.")] = 0,
    licence: Annotated[
        str, Option(help="Licence for the card (folder, dataset): a Hub identifier.")
    ] = "unknown",
    attribution: Annotated[
        str,
        Option(help="Attribution for the card (folder, dataset); cc-by and its like demand one."),
    ] = "",
    language: Annotated[
        str | None, Option(help="Language code for the card (folder, dataset).")
    ] = None,
) -> None:
    """Builds a labelled dataset, for `otoscope run labels` and `otoscope call-value`.

    A table has the columns audio (or file_name, path …) and label (or class, target …); and, if
    known, id, split, speaker_id, source_id, cluster_id, text (words that the question quotes),
    transcript. Paths are relative to the table.

    python -m builders.labelled_folder build --from /data/animals --task animals --out animals

    The same command resumes a build that was stopped.
    """
    source = open_labelled_folder(
        from_,
        task=task,
        labels=tuple(name.strip() for name in labels.split(",") if name.strip()),
        holdout=holdout_share,
        cluster=cluster,
        apart=(*["speaker_id"] * speaker_disjoint, *["source_id"] * source_disjoint),
        seed=seed,
        terms=Terms(licence, attribution, language),
    )
    make(source, options)


app = labelled_app(build)

if __name__ == "__main__":
    app()
