"""Caches a model's hidden states at named sites, for every question of a dataset.

python -m trainers.extract --dataset ./vocalgrad --model transformers:PATH_OR_ID@REV \
    --sites mel,pre_llm,audio.last,text.* --out features/qwen2

Interrupted or killed, the same command resumes with the unfinished block; other --sites add to the
folder. Of several processes each extracts every n-th block.
"""

import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from otoscope.cli.errors import program
from otoscope.cli.options import (
    WEIGHTS,
    Configs,
    DatasetName,
    LimitSources,
    ModelName,
    PromptName,
    Revision,
    model_options,
    number_option,
)

GIB = 2**30


@model_options("adapter", "batch_size", *WEIGHTS)
def extract(
    dataset: DatasetName,
    model: ModelName,
    sites: Annotated[
        str,
        typer.Option(
            help="Sites, comma-separated: mel, pre_llm, audio.K, text.K, answer, audio.K@a1, "
            "text.K@q_attr, …; `*` for all, `last` for the last layer."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="Output: the features; run again to resume, or to add sites."),
    ],
    model_options: dict[str, Any],
    config: Configs = None,
    split: Annotated[
        list[str] | None, typer.Option(help="Dataset split; may be repeated, all when absent.")
    ] = None,
    prompt: PromptName = "main",
    revision: Revision = None,
    limit_sources: LimitSources = None,
    store_dtype: Annotated[
        str, typer.Option(help="Stored precision: float16 or float32.")
    ] = "float16",
    rows_per_block: Annotated[
        int, typer.Option(min=1, help="Rows written at once, the most that a kill can lose.")
    ] = 256,
    max_disk_gib: Annotated[
        float, number_option("GiB that may be written without confirmation.")
    ] = 8.0,
) -> None:
    """Extracts hidden states at named sites for every question of a dataset.

    python -m trainers.extract --dataset ./vocalgrad --out features/qwen2
    --model transformers:PATH_OR_ID@REV --sites mel,pre_llm,text.*

    The same command resumes where it stopped. Other --sites add to the folder.
    """
    from otoscope.audits.audio_input import check_audio_input
    from otoscope.audits.splits import open_splits
    from otoscope.models.opening import open_model
    from otoscope.processes import process_share
    from otoscope.progress import progress_of
    from otoscope.representations.extraction import plan_extraction
    from otoscope.representations.hidden_states import extractor_for
    from otoscope.representations.sites import parse_sites

    rank, world = process_share()
    opened = open_model(model, **model_options)
    extractor = extractor_for(opened)
    wanted = parse_sites(sites, list(extractor.widths))
    planned = open_splits(
        dataset, split or (), configs=config or (), prompt=prompt, revision=revision,
        limit_sources=limit_sources,
    )  # fmt: skip
    planned.validate_audio(
        None if model_options.get("on_long") == "flag" else getattr(opened, "max_audio_s", None)
    )
    first = next(iter(planned.plans.values()))
    check_audio_input(opened, first)
    extraction = plan_extraction(
        extractor, planned.rows, planned.fill, wanted, out, store=store_dtype,
        rows_per_block=rows_per_block, prompt=prompt, dataset=dataset, spec=model,
    )  # fmt: skip
    size = extraction.size()
    if rank == 0:
        for path in extraction.damaged():
            typer.echo(f"{path} is damaged; its rows are extracted anew")
        typer.echo(f"{size.n_rows:,} rows to extract, {size.n_bytes / GIB:.3g} GiB to write")
    confirm_size(size.n_bytes / GIB, max_disk_gib, out, interactive=world == 1)
    n_own = extraction.n_own(rank, world)
    with progress_of(rank).bar("Extracting hidden states", n_own) as step:
        share = extraction.run(step, rank=rank, world=world)
    of = f" by process {rank} of {world}" if world > 1 else ""
    typer.echo(f"{out}: {share.n_extracted:,} of {share.n_rows:,} rows extracted now{of}")


def confirm_size(gib: float, limit_gib: float, out: Path, *, interactive: bool) -> None:
    """Asks for confirmation above the size limit; without a terminal, that is an error.

    Raises:
        FeaturesError: It is too much, or the disk is too small.
    """
    from otoscope.representations.features import FeaturesError

    if gib * GIB > shutil.disk_usage(out).free:
        raise FeaturesError(
            f"{gib:.3g} GiB are to be written, more than the disk of {out} has left"
        )
    if gib <= limit_gib:
        return
    if interactive and sys.stdin.isatty() and typer.confirm(f"Write {gib:.3g} GiB to {out}?"):
        return
    raise FeaturesError(
        f"{gib:.3g} GiB are to be written, more than --max-disk-gib {limit_gib:g}; name fewer "
        f"sites, or allow it with --max-disk-gib {gib * 1.01:.3g}"
    )


if __name__ == "__main__":
    program(extract)()
