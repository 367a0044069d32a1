"""Linear-probe accuracy at each site and in each category, from extracted features.

python -m trainers.linear_probe --features features/qwen2 --out probes/qwen2
python -m trainers.linear_probe --features features/qwen2 --out probes/qwen2-grouped \
    --probe-split grouped --seeds 1234,1235,1236

Probes are trained on CPUs: they read their features once, and need no GPU. Of several processes
each trains every n-th category and site. Interrupted or killed, the same command resumes; other
--sites and --categories add to the folder.

    PROBES/probes.parquet, probes.md      accuracy, area under the curve, controls, ridge baseline
    PROBES/encoded.parquet                with --run: decodable but not answered
    PROBES/predictions/CATEGORY/SITE.parquet   every item
"""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from otoscope.cli.errors import program
from otoscope.cli.options import Epochs, LearningRate, TrainBatchSize, WeightDecay, number_option

GIB = 2**30


def linear_probe(
    features: Annotated[Path, typer.Option(help="Features: a folder of trainers.extract.")],
    out: Annotated[Path, typer.Option(help="Output: the probes; run again to resume, or to add.")],
    probe_split: Annotated[
        str,
        typer.Option(
            help="Train and test rows: `published` trains on train and validation and tests on "
            "test; `grouped` and `speaker` cross-validate over all rows, by source or by speaker."
        ),
    ] = "published",
    sites: Annotated[
        str | None, typer.Option(help="Sites, comma-separated; all when absent.")
    ] = None,
    categories: Annotated[
        str | None, typer.Option(help="Categories, comma-separated; all when absent.")
    ] = None,
    test_features: Annotated[
        Path | None,
        typer.Option(help="Features to test on instead, e.g. of the other profile."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="Run folder of the same model and prompt, joined by item."),
    ] = None,
    folds: Annotated[int, typer.Option(help="Folds: of `--probe-split grouped`, `speaker`.")] = 5,
    seeds: Annotated[str, typer.Option(help="Random seeds, comma-separated.")] = "1234",
    controls: Annotated[int, typer.Option(help="Random-label controls, by source.")] = 1,
    ridge: Annotated[bool, typer.Option(help="Add a ridge baseline.")] = True,
    epochs: Epochs = 200,
    train_batch_size: TrainBatchSize = 512,
    learning_rate: LearningRate = 1e-3,
    weight_decay: WeightDecay = 1e-4,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads; all cores, divided by processes, when absent."),
    ] = None,
    memory_gib: Annotated[float, number_option("GiB of memory for each process.")] = 8.0,
) -> None:
    """Trains linear probes on extracted features, and writes their tables.

    python -m trainers.linear_probe --features features/qwen2 --out probes/qwen2

    The same command resumes where it stopped. Other --sites and --categories add to the folder.
    """
    from otoscope.probes.predictions import ProbeConfig, ProbeError
    from otoscope.probes.probe import ProbeRecipe
    from otoscope.probes.probe_set import plan_probes
    from otoscope.processes import process_share
    from otoscope.progress import progress_of
    from otoscope.representations.features import ANSWER, Features
    from otoscope.representations.sites import parse_sites

    if not math.isfinite(memory_gib):
        raise ProbeError(f"--memory-gib must be a finite number, not {memory_gib}")
    rank, world = process_share()
    train = Features.open(features)
    probes = plan_probes(
        train,
        out,
        config=ProbeConfig(
            split=probe_split,
            n_folds=folds,
            seeds=parse_seeds(seeds),
            n_controls=controls,
            ridge=ridge,
            recipe=ProbeRecipe(learning_rate, weight_decay, epochs, train_batch_size),
        ),
        sites=parse_sites(sites, [s for s in train.sites if s != ANSWER]) if sites else (),
        categories=categories.split(",") if categories else (),
        test_features=None if test_features is None else Features.open(test_features),
    )
    n_own = len(probes.jobs[rank::world])
    n_threads = threads or max(1, (os.cpu_count() or 1) // world)
    with progress_of(rank).bar("Training probes", n_own) as step:
        n_trained = probes.train(
            step, rank=rank, world=world, n_threads=n_threads, memory_bytes=round(memory_gib * GIB)
        )
    of = f" by process {rank} of {world}" if world > 1 else ""
    typer.echo(f"{out}: {n_trained} of {n_own} categories and sites probed now{of}")
    if not probes.missing():  # the last process writes the tables
        write_results(out, train.description, run)


def parse_seeds(text: str) -> tuple[int, ...]:
    """Numbers separated by commas.

    >>> parse_seeds("1,2")
    (1, 2)

    Raises:
        ProbeError: One is no number.
    """
    from otoscope.probes.predictions import ProbeError

    try:
        return tuple(int(seed) for seed in text.split(","))
    except ValueError:
        raise ProbeError(f"--seeds are whole numbers separated by commas, not {text!r}") from None


def write_results(out: Path, about: Mapping[str, Any], run: Path | None) -> None:
    """Writes the tables, and joins predictions with the answers of a run if there is one.

    Args:
        out: A folder of probes.
        about: The description of their features.
        run: A run of the same model and prompt.
    """
    import pyarrow.compute as pc

    from otoscope.probes.decodable import decodable_table
    from otoscope.probes.files import write_parquet, write_tables
    from otoscope.probes.predictions import CONVERGED, PROBE
    from otoscope.probes.table import ALL, probe_table
    from otoscope.reports.perception.correctness import correct_by_item

    table = probe_table(out)
    write_tables(out, table)
    typer.echo(f"{out / 'probes.md'}: {len(table)} rows")
    single = pc.not_equal(table["category"], ALL)
    methods = table.filter(single)["method"].to_pylist()
    if behind := methods.count(CONVERGED):
        typer.echo(
            f"not converged: {behind} of {methods.count(PROBE)} probes ended before the training "
            "loss was least; `converged` has the accuracy beyond that"
        )
    if run is None:
        return
    model = about.get("model")
    answers = correct_by_item(
        run, prompt=str(about.get("prompt")), model=model if isinstance(model, Mapping) else None
    )
    joined = decodable_table(out, answers)
    write_parquet(joined, out / "encoded.parquet")
    typer.echo(f"{out / 'encoded.parquet'}: {len(joined)} rows, joined with {run}")


if __name__ == "__main__":
    program(linear_probe)()
