"""`otoscope run perception`: does the model perceive one acoustic factor rising or falling?"""

from typing import Annotated, Any

import typer

from otoscope.cli.options import (
    Cached,
    CheckAudioInput,
    Configs,
    DatasetName,
    LimitSources,
    ModelName,
    OutRun,
    PromptNames,
    Revision,
    Split,
    model_options,
    number_option,
)
from otoscope.cli.run.session import ask, preview


@model_options()
def perception(
    dataset: DatasetName,
    model: ModelName,
    out: OutRun,
    model_options: dict[str, Any],
    config: Configs = None,
    prompt: PromptNames = None,
    cross_attribute: Annotated[
        bool, typer.Option(help="Ask about every category's attribute, not only the row's own.")
    ] = False,
    split: Split = "test",
    revision: Revision = None,
    limit_sources: LimitSources = None,
    dry_run: Annotated[
        bool,
        typer.Option(help="Dry run: print the first request of each prompt, counts and price."),
    ] = False,
    max_cost: Annotated[float | None, number_option("Stop once this much is spent.")] = None,
    retry: Annotated[
        list[str] | None,
        typer.Option(help="Retry answers with this status, e.g. refused; may be repeated."),
    ] = None,
    retry_unparsed: Annotated[
        bool, typer.Option(help="Retry once on parse failure, with 256 new tokens.")
    ] = False,
    cache: Cached = True,
    audio_input_check: CheckAudioInput = True,
    batch_invariant_check: Annotated[
        int | None,
        typer.Option(min=1, help="First compare batched with single answers to N questions."),
    ] = None,
) -> None:
    """Asks whether one acoustic factor rises or falls.

    otoscope run perception --dataset ./vocalgrad --model observer --out runs/observer

    The same command resumes a run that was stopped. `accelerate launch -m otoscope.cli run …`
    spreads it over processes.
    """
    from otoscope.audits import open_audit
    from otoscope.audits.audio_input import bandwidth_warning
    from otoscope.models.opening import open_model
    from otoscope.models.retrying import PUBLISHED_MAX_NEW_TOKENS, RetryPolicy

    audit = open_audit("perception")
    policy = RetryPolicy(retry or (), PUBLISHED_MAX_NEW_TOKENS if retry_unparsed else None)
    opened = open_model(model, **model_options)
    planned = audit.plan(
        dataset, configs=config or (), prompts=prompt or (), split=split, revision=revision,
        cross_attribute=cross_attribute, limit_sources=limit_sources,
    )  # fmt: skip
    if dry_run:
        typer.echo(preview(planned, opened))
        return
    if warning := bandwidth_warning(opened, planned):
        typer.echo(warning)
    if batch_invariant_check:
        typer.echo(_check_batches(opened, planned, batch_invariant_check))
    ask(
        audit, dataset, opened, out=out, planned=planned, spec=model, reuse_answers=cache,
        audio_input_check=audio_input_check, retry=policy, max_cost=max_cost,
    )  # fmt: skip


def _check_batches(model: Any, planned: Any, n: int) -> str:
    from otoscope.models.batch_invariance import batch_invariance_check

    requests = [planned.fill(q) for q in list(planned.questions)[:n]]
    found = batch_invariance_check(model, requests)
    lines = [
        f"batches of {found.batch_size}: {len(found.different)} of {found.n_questions} answers "
        "differ from single ones"
    ]
    lines += [f"  {d.question_id}: {d.in_batch!r}, alone {d.alone!r}" for d in found.different]
    return "\n".join(lines)
