"""`otoscope run meld`: which of seven emotions a model weighs most, by the logits of letters."""

from pathlib import Path
from typing import Annotated

import typer

from otoscope.cli_options import (
    Adapter,
    BatchSize,
    Cached,
    DeviceMap,
    Dtype,
    HearingCheck,
    OnLong,
    Revision,
    TrustRemoteCode,
)
from otoscope.cli_run import cached, plain_errors, preview, summary, watched


def meld(
    dataset: Annotated[
        str, typer.Option(help="A folder with MELD's CSV and clips, a dataset, a Hub repository.")
    ],
    model: Annotated[
        str,
        typer.Option(
            help=r"transformers:PATH_OR_ID\[@REVISION], or my_package.my_module:MyModel with a "
            "method `option_logits`."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The run folder; run again to go on.")],
    split: Annotated[str, typer.Option(help="Which split.")] = "test",
    revision: Revision = None,
    limit_dialogues: Annotated[
        int | None, typer.Option(min=1, help="So many dialogues; the run is marked partial.")
    ] = None,
    leave_out_missing: Annotated[
        bool, typer.Option(help="Ask about the clips that are there where the CSV names more.")
    ] = False,
    dry_run: Annotated[bool, typer.Option(help="Show a question; ask nothing.")] = False,
    cache: Cached = True,
    hearing_check: HearingCheck = True,
    adapter: Adapter = None,
    dtype: Dtype = None,
    device_map: DeviceMap = None,
    batch_size: BatchSize = None,
    trust_remote_code: TrustRemoteCode = False,
    on_long: OnLong = None,
) -> None:
    """Asks which emotion is heard: what fine-tuning on one factor did to everything else.

    otoscope run meld --dataset /data/MELD --model transformers:PATH_OR_ID@REV --out runs/meld-base
    otoscope run meld … --adapter adapters/volume --out runs/meld-volume
    otoscope report runs/meld-base runs/meld-volume

    Stopped at any moment, the same command goes on where it was.
    """
    from otoscope.audits.meld import plan, run
    from otoscope.models.opening import open_model
    from otoscope.models.option_logits import OptionLogitsModel

    with plain_errors():
        asked = OptionLogitsModel(
            open_model(
                model, adapter=adapter, dtype=dtype, device_map=device_map, batch_size=batch_size,
                trust_remote_code=trust_remote_code or None, on_long=on_long,
            )
        )  # fmt: skip
        planned = plan(
            dataset, split=split, revision=revision, limit_dialogues=limit_dialogues,
            leave_out_missing=leave_out_missing,
        )  # fmt: skip
        if dry_run:
            typer.echo(preview(planned, asked))
            return
        with watched() as on_answer, cached(cache) as answers:
            tally = run(
                dataset, asked.model, out=out, planned=planned, spec=model, cache=answers,
                check_hearing=hearing_check, on_answer=on_answer,
            )  # fmt: skip
    typer.echo(summary(tally, out))
