"""`otoscope run labels`: which of a closed set of labels does a model give each clip?"""

from typing import Annotated, Any

import typer

from otoscope.cli.options import (
    Cached,
    CheckAudioInput,
    DatasetName,
    ModelName,
    OutRun,
    dataset_options,
    model_options,
    number_option,
)
from otoscope.cli.run.session import ask, preview
from otoscope.prompts.tasks import VARIANTS


@dataset_options()
@model_options()
def labels(
    dataset: DatasetName,
    model: ModelName,
    out: OutRun,
    model_options: dict[str, Any],
    dataset_options: dict[str, Any],
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Prompt: variant; may be repeated, all by default: {', '.join(VARIANTS)}."
        ),
    ] = None,
    limit_clusters: Annotated[
        int | None, typer.Option(min=1, help="Use at most N clusters of each split.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(help="Dry run: print the first request of each prompt, counts and price."),
    ] = False,
    max_cost: Annotated[float | None, number_option("Stop once this much is spent.")] = None,
    retry: Annotated[
        list[str] | None,
        typer.Option(help="Retry answers with this status, e.g. refused; may be repeated."),
    ] = None,
    cache: Cached = True,
    audio_input_check: CheckAudioInput = True,
) -> None:
    """Asks for one label of a closed set, about every clip of both splits.

    otoscope run labels --dataset ./animals --model transformers:PATH_OR_ID@REV --out runs/animals

    The dataset has the columns `audio` and `label`, and two splits. Which prompt variant counts is
    decided on development examples. The same command resumes a run that was stopped.
    """
    from otoscope.audits import open_audit
    from otoscope.models.opening import open_model
    from otoscope.models.retrying import RetryPolicy

    audit = open_audit("labels")
    opened = open_model(model, **model_options)
    planned = audit.plan(
        dataset, prompts=prompt or (), limit_clusters=limit_clusters, **dataset_options
    )
    if dry_run:
        typer.echo(preview(planned, opened))
        return
    ask(
        audit, dataset, opened, out=out, planned=planned, spec=model, reuse_answers=cache,
        audio_input_check=audio_input_check, retry=RetryPolicy(retry or (), None),
        max_cost=max_cost,
    )  # fmt: skip
