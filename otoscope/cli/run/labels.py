"""`otoscope run labels`: which of a closed set of labels does a model give each clip?"""

from typing import Annotated, Any

import typer

from otoscope.cli.options import (
    Cached,
    CheckAudioInput,
    DatasetName,
    ModelName,
    OutRun,
    Revision,
    Where,
    model_options,
    number_option,
)
from otoscope.cli.run.session import ask, preview
from otoscope.prompts.tasks import TASKS, VARIANTS


@model_options()
def labels(
    dataset: DatasetName,
    model: ModelName,
    out: OutRun,
    model_options: dict[str, Any],
    config: Annotated[str | None, typer.Option(help="Dataset config.")] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Prompt: variant; may be repeated, all by default: {', '.join(VARIANTS)}."
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="Task: whose question is put; the dataset's own when absent. One of "
            f"{', '.join(TASKS)}, or another name for the generic question."
        ),
    ] = None,
    development: Annotated[str | None, typer.Option(help="Name of the development split.")] = None,
    holdout: Annotated[str | None, typer.Option(help="Name of the held-out split.")] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="Column by which examples are clustered: e.g. speaker_id."),
    ] = None,
    where: Where = None,
    revision: Revision = None,
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
        dataset, config=config, prompts=prompt or (), task=task, development=development,
        holdout=holdout, revision=revision, cluster=cluster, where=where or (),
        limit_clusters=limit_clusters,
    )  # fmt: skip
    if dry_run:
        typer.echo(preview(planned, opened))
        return
    ask(
        audit, dataset, opened, out=out, planned=planned, spec=model, reuse_answers=cache,
        audio_input_check=audio_input_check, retry=RetryPolicy(retry or (), None),
        max_cost=max_cost,
    )  # fmt: skip
