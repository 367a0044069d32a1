"""Options that several commands share, so that they are said and explained in one way."""

from typing import Annotated

import typer

DatasetName = Annotated[str, typer.Option(help="A folder or a Hub repository.")]
Configs = Annotated[list[str] | None, typer.Option(help="Config; may be repeated.")]
Revision = Annotated[str | None, typer.Option(help="Of a Hub dataset.")]
Cached = Annotated[bool, typer.Option(help="Take answers of earlier runs to equal questions.")]
HearingCheck = Annotated[
    bool, typer.Option(help="Refuse a model whose input does not change with the sound.")
]
PromptName = Annotated[str, typer.Option(help="A prompt by its name, or `own`.")]
SourcesOfEachSplit = Annotated[
    int | None, typer.Option(min=1, help="So many sources of each split.")
]

Adapter = Annotated[str | None, typer.Option(help="transformers: a PEFT adapter.")]
Dtype = Annotated[str | None, typer.Option(help="transformers: of the weights, e.g. bfloat16.")]
DeviceMap = Annotated[str | None, typer.Option(help="transformers: e.g. auto.")]
BatchSize = Annotated[int | None, typer.Option(min=1, help="transformers: questions in one pass.")]
TrustRemoteCode = Annotated[
    bool, typer.Option(help="transformers: run code that comes with the weights.")
]
OnLong = Annotated[
    str | None,
    typer.Option(
        help="transformers: a clip longer than the model hears: `refuse` (default), or `flag` to "
        "ask about its beginning and mark the answer."
    ),
]
