"""What a line can tell at each site and in each category, from features that were extracted.

accelerate launch -m trainers.linear_probe --features features/qwen2 --out probes/qwen2
accelerate launch -m trainers.linear_probe --features features/qwen2 --out probes/qwen2-grouped \
    --split grouped --seeds 1234,1235,1236

Probes are trained on processors: they read their features once, and need no GPU. Of several
processes each trains every n-th category and site. Stopped at any moment, or killed, the same
command goes on; other --sites and --categories add to the folder.

    PROBES/probes.parquet, probes.md      accuracy, area under the curve, controls, ridge regression
    PROBES/encoded.parquet                with --run: what is encoded and not said
    PROBES/predictions/CATEGORY/SITE.parquet   every item
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from otoscope.cli_run import plain_errors

GIB = 2**30


def linear_probe(
    features: Annotated[Path, typer.Option(help="Written by trainers.extract.")],
    out: Annotated[Path, typer.Option(help="The probes; run again to go on, or to add.")],
    split: Annotated[
        str,
        typer.Option(
            help="`published`: learn from train and validation, ask about test. `grouped`: "
            "cross-validate by source over all rows."
        ),
    ] = "published",
    sites: Annotated[
        str | None, typer.Option(help="As for trainers.extract; all when absent.")
    ] = None,
    categories: Annotated[
        str | None, typer.Option(help="With commas between; all when absent.")
    ] = None,
    test_features: Annotated[
        Path | None,
        typer.Option(help="Ask about these rows instead: the other profile's, say."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="A run of the same model and prompt, to be joined with by item."),
    ] = None,
    folds: Annotated[int, typer.Option(help="Of `--split grouped`.")] = 5,
    seeds: Annotated[str, typer.Option(help="With commas between.")] = "1234",
    controls: Annotated[int, typer.Option(help="Control labellings, by source.")] = 1,
    ridge: Annotated[bool, typer.Option(help="A second opinion in closed form.")] = True,
    epochs: Annotated[int, typer.Option(help="The last one is used.")] = 200,
    batch_size: Annotated[int, typer.Option(help="Rows a step.")] = 512,
    learning_rate: Annotated[float, typer.Option(help="Of AdamW.")] = 1e-3,
    weight_decay: Annotated[float, typer.Option(help="Of AdamW.")] = 1e-4,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Side by side; all cores shared by the processes.")
    ] = None,
    memory: Annotated[float, typer.Option(help="GiB that a process may hold at once.")] = 8.0,
) -> None:
    """Trains what the folder lacks, and writes the tables when nothing is missing."""
    from otoscope.probes.predicting import Settings
    from otoscope.probes.probe import Recipe
    from otoscope.probes.study import plan_study
    from otoscope.progress import Progress, Shown
    from otoscope.representations.features import ANSWER, Features
    from otoscope.representations.sites import parse_sites

    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    with plain_errors():
        learn = Features.open(features)
        study = plan_study(
            learn,
            out,
            settings=Settings(
                split=split,
                n_folds=folds,
                seeds=tuple(int(seed) for seed in seeds.split(",")),
                n_controls=controls,
                ridge=ridge,
                recipe=Recipe(learning_rate, weight_decay, epochs, batch_size),
            ),
            sites=parse_sites(sites, [s for s in learn.sites if s != ANSWER]) if sites else (),
            categories=categories.split(",") if categories else (),
            asked=None if test_features is None else Features.open(test_features),
        )
        n_own = len(study.jobs[rank::world])
        n_threads = threads or max(1, (os.cpu_count() or 1) // world)
        with (Shown() if rank == 0 else Progress()).bar("Probing", n_own) as step:
            n_trained = study.train(
                step, rank=rank, world=world, n_threads=n_threads, memory_bytes=round(memory * GIB)
            )
        of = f" by process {rank} of {world}" if world > 1 else ""
        typer.echo(f"{out}: {n_trained} of {n_own} categories and sites probed now{of}")
        if not study.missing():  # whoever is last writes the tables
            conclude(out, learn.description, run)


def conclude(out: Path, about: Mapping[str, Any], run: Path | None) -> None:
    """Writes the tables, and joins probes with a run if there is one.

    Args:
        out: A folder of probes.
        about: The description of their features.
        run: A run of the same model and prompt.
    """
    from otoscope.probes.encoded import encoded_table
    from otoscope.probes.table import write_parquet, write_tables
    from otoscope.reports.correctness import right_by_item

    table = write_tables(out)
    typer.echo(f"{out / 'probes.md'}: {len(table)} rows")
    if run is None:
        return
    model = about.get("model")
    answers = right_by_item(
        run, prompt=str(about.get("prompt")), model=model if isinstance(model, Mapping) else None
    )
    joined = encoded_table(out, answers)
    write_parquet(joined, out / "encoded.parquet")
    typer.echo(f"{out / 'encoded.parquet'}: {len(joined)} rows, joined with {run}")


if __name__ == "__main__":
    typer.run(linear_probe)
