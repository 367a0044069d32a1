"""`otoscope show`: one item of a run."""

from typing import Annotated

import typer

from otoscope.cli.options import Configs, Revision, RunFolder, Split


def show(
    run: RunFolder,
    name: Annotated[
        str, typer.Argument(metavar="ID", help="An item's id, or ID|PROMPT for one question.")
    ],
    dataset: Annotated[
        str | None,
        typer.Option(help="Dataset: a folder or a Hub repository, to show the item's columns."),
    ] = None,
    config: Configs = None,
    split: Split = "test",
    revision: Revision = None,
) -> None:
    """Shows one item: its questions, the right answer, every attempt and how each parser reads it.

    The question's own parser is marked with *.

    otoscope show runs/qwen2-audio "test-volume-p225_001__s1__linear__high__up"
    """
    from otoscope.audits.items import open_items
    from otoscope.reports.show import show as show_item

    items = None
    if dataset is not None:
        items = open_items(dataset, config or (), split=split, revision=revision)
    typer.echo(show_item(run, name, items).text())
