"""What a model holds at named sites for every question of a dataset, kept for probes to read.

accelerate launch -m trainers.extract --dataset ./vocalgrad --model transformers:PATH_OR_ID@REV \
    --sites mel,pre_llm,audio.last,text.* --out features/qwen2

Stopped at any moment, or killed, the same command goes on with the block it was at; other --sites
add to the folder. Of several processes each makes every n-th block.
"""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from otoscope.cli_options import (
    Adapter,
    BatchSize,
    Configs,
    DatasetName,
    DeviceMap,
    Dtype,
    OnLong,
    PromptName,
    Revision,
    SourcesOfEachSplit,
    TrustRemoteCode,
)
from otoscope.cli_run import plain_errors

GIB = 2**30


def extract(
    dataset: DatasetName,
    model: Annotated[
        str, typer.Option(help=r"As for `otoscope run`: transformers:PATH_OR_ID\[@REVISION], …")
    ],
    sites: Annotated[
        str,
        typer.Option(
            help="With commas between: mel, pre_llm, audio.K, text.K, answer, audio.K@a1, "
            "text.K@q_attr, …; `*` for all, `last` for the last layer."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The features; run again to go on, or to add sites.")],
    config: Configs = None,
    split: Annotated[
        list[str] | None, typer.Option(help="Split; may be repeated. All when absent.")
    ] = None,
    prompt: PromptName = "main",
    revision: Revision = None,
    limit_sources: SourcesOfEachSplit = None,
    adapter: Adapter = None,
    dtype: Dtype = None,
    device_map: DeviceMap = None,
    batch_size: BatchSize = None,
    on_long: OnLong = None,
    trust_remote_code: TrustRemoteCode = False,
    store: Annotated[str, typer.Option(help="Precision kept: float16 or float32.")] = "float16",
    rows_per_block: Annotated[int, typer.Option(min=1, help="Most that a kill can cost.")] = 256,
    memory: Annotated[float, typer.Option(help="GiB that may be kept without asking.")] = 8.0,
) -> None:
    """Looks at what the folder lacks, and keeps it."""
    from otoscope.audits.hearing import hearing
    from otoscope.audits.splits import open_splits
    from otoscope.models.opening import open_model
    from otoscope.progress import Progress, Shown
    from otoscope.representations.extraction import plan_extraction
    from otoscope.representations.hidden_states import extractor_for
    from otoscope.representations.sites import parse_sites

    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    options: dict[str, Any] = {
        "adapter": adapter, "dtype": dtype, "device_map": device_map, "batch_size": batch_size,
        "on_long": on_long, "trust_remote_code": trust_remote_code or None,
    }  # fmt: skip
    with plain_errors():
        opened = open_model(model, **options)
        extractor = extractor_for(opened)
        wanted = parse_sites(sites, list(extractor.widths))
        asked = open_splits(
            dataset, split or (), configs=config or (), prompt=prompt, revision=revision,
            limit_sources=limit_sources,
        )  # fmt: skip
        asked.refuse_unheard(None if on_long == "flag" else getattr(opened, "max_audio_s", None))
        first = next(iter(asked.plans.values()))
        hearing(opened, first.items, first.questions, asked.fill)
        extraction = plan_extraction(
            extractor, asked.rows, asked.fill, wanted, out, store=store,
            rows_per_block=rows_per_block, prompt=prompt, dataset=dataset, spec=model,
        )  # fmt: skip
        size = extraction.size()
        if rank == 0:
            typer.echo(f"{size.n_rows:,} rows to look at, {size.n_bytes / GIB:.3g} GiB to keep")
        allow(size.n_bytes / GIB, memory, out, alone=world == 1)
        n_own = extraction.n_own(rank, world)
        with (Shown() if rank == 0 else Progress()).bar("Looking", n_own) as step:
            share = extraction.make(step, rank=rank, world=world)
    of = f" by process {rank} of {world}" if world > 1 else ""
    typer.echo(f"{out}: {share.n_made:,} of {share.n_rows:,} rows looked at now{of}")


def allow(gib: float, most: float, out: Path, *, alone: bool) -> None:
    """Asks before more is kept than was allowed; where nobody can answer, refuses.

    Raises:
        FeaturesError: It is too much, or the disk has no room for it.
    """
    from otoscope.representations.extraction import free_bytes
    from otoscope.representations.features import FeaturesError

    if gib * GIB > free_bytes(out):
        raise FeaturesError(f"{gib:.3g} GiB are to be kept and the disk of {out} has not so much")
    if gib <= most:
        return
    if alone and sys.stdin.isatty() and typer.confirm(f"Keep {gib:.3g} GiB in {out}?"):
        return
    raise FeaturesError(
        f"{gib:.3g} GiB are to be kept, more than --memory {most:g}; name fewer sites, or allow it "
        f"with --memory {gib * 1.01:.3g}"
    )


if __name__ == "__main__":
    typer.run(extract)
