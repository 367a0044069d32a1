"""`otoscope run meld`: seven emotions, answered by the logits of lettered options."""

from typing import Annotated, Any

import typer

from otoscope.cli.options import (
    WEIGHTS,
    Cached,
    CheckAudioInput,
    OutRun,
    Revision,
    Split,
    model_options,
)
from otoscope.cli.run.session import ask, preview


@model_options("adapter", "batch_size", *WEIGHTS)
def meld(
    dataset: Annotated[
        str,
        typer.Option(help="Dataset: a folder with MELD's CSV and clips, or a Hub repository."),
    ],
    model: Annotated[
        str,
        typer.Option(
            help=r"Model: transformers:PATH_OR_ID\[@REVISION], or my_package.my_module:MyModel "
            "with a method `option_logits`."
        ),
    ],
    out: OutRun,
    model_options: dict[str, Any],
    split: Split = "test",
    revision: Revision = None,
    limit_dialogues: Annotated[
        int | None, typer.Option(min=1, help="Use at most N dialogues; the result says so.")
    ] = None,
    leave_out_missing: Annotated[
        bool, typer.Option(help="Skip clips that the CSV names and the folder lacks.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option(help="Dry run: print the first request and counts.")
    ] = False,
    cache: Cached = True,
    audio_input_check: CheckAudioInput = True,
) -> None:
    """Asks for the emotion of an utterance: what fine-tuning on one factor did to another task.

    otoscope run meld --dataset /data/MELD --model transformers:PATH_OR_ID@REV --out runs/meld-base
    otoscope run meld … --adapter adapters/volume --out runs/meld-volume
    otoscope report runs/meld-base runs/meld-volume

    The same command resumes a run that was stopped.
    """
    from otoscope.audits import open_audit
    from otoscope.models.opening import open_model
    from otoscope.models.option_logits import OptionLogitsModel

    audit = open_audit("meld")
    reader = OptionLogitsModel(open_model(model, **model_options))
    planned = audit.plan(
        dataset, split=split, revision=revision, limit_dialogues=limit_dialogues,
        leave_out_missing=leave_out_missing,
    )  # fmt: skip
    if dry_run:
        typer.echo(preview(planned, reader))
        return
    ask(
        audit, dataset, reader.model, out=out, planned=planned, spec=model, reuse_answers=cache,
        audio_input_check=audio_input_check,
    )  # fmt: skip
