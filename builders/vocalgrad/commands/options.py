"""Options that `build` and `spans` share, and what they print in the same way."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from builders.corpora.base import Skipped
from otoscope.acoustics.spans import Policy, Problem

Corrections = Annotated[
    Path | None, typer.Option(help="Corrected spans: the CSV that the page of `spans` saves.")
]
NothingFound = Annotated[Policy, typer.Option(help="Policy for a clip without a detectable span.")]
Short = Annotated[Policy, typer.Option(help="Policy for a detected span under 1 s.")]
LoudStart = Annotated[Policy, typer.Option(help="Policy for a clip that begins with speech.")]


def span_policies(
    nothing_found: Policy, short: Policy, loud_start: Policy
) -> dict[Problem, Policy]:
    """What to do where the span detector fails."""
    return {
        Problem.NOTHING_FOUND: nothing_found,
        Problem.SHORT: short,
        Problem.FROM_FIRST_FRAME: loud_start,
    }


def print_omitted(omitted: Sequence[Skipped], doubtful: Sequence[Skipped]) -> None:
    """The first ten clips that are left out, and the first ten spans in doubt, on stderr."""
    for title, lines in (("left out", omitted), ("span in doubt", doubtful)):
        for skipped in lines[:10]:
            typer.echo(f"{title}: {skipped.name}: {skipped.reason}", err=True)
        if len(lines) > 10:
            typer.echo(f"{title}: and {len(lines) - 10} more", err=True)
