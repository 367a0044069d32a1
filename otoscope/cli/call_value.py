"""`otoscope call-value`: what allowing a generative audio call adds."""

from pathlib import Path
from typing import Annotated

import typer


def call_value(
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE…",
            help="Predictions and examples: CSV, TSV, JSON lines or Parquet, or a folder of "
            "`trainers.encoder_probe` or `otoscope transcribe`.",
        ),
    ],
    contract: Annotated[
        Path, typer.Option(help="What is fixed before held-out labels are read; see --init.")
    ],
    out: Annotated[Path | None, typer.Option(help="Output: an empty folder.")] = None,
    from_runs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN",
            help="Runs of `otoscope run labels`: each is a generative action, named after its "
            "model, or ACTION=RUN; may be repeated.",
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="Dataset: the labelled one, folder or Hub id, for players."),
    ] = None,
    revision: Annotated[str | None, typer.Option(help="Revision of a dataset on the Hub.")] = None,
    published: Annotated[
        str | None,
        typer.Option(
            metavar="TASK", help="The paper's results of that task beside; by default of this one."
        ),
    ] = None,
    init: Annotated[
        bool, typer.Option("--init", help="Only write a first contract for these tables.")
    ] = False,
    template: Annotated[
        str | None,
        typer.Option(help="With --init: the contract of a published audit, vocalsound_paper."),
    ] = None,
) -> None:
    """Audits saved predictions: is the generative call worth it on this closed-set task?

    Policies are fitted on development examples and frozen; then labels of held-out examples are
    read, and a log beside the contract counts that. The columns are in docs/call-value.md.

    otoscope call-value predictions.parquet examples.csv --contract contract.json --init
    otoscope call-value predictions.parquet examples.csv --contract contract.json --out audit
    otoscope call-value vocalsound --contract paper.json --init --template vocalsound_paper
    otoscope call-value encoders transcripts --from-runs runs/omni --contract c.json --out audit

    --dataset adds players for the examples that a call corrected or harmed.
    """
    from otoscope.audits.call_value.evidence import tables_in
    from otoscope.audits.call_value.run_tables import tables_of_runs
    from otoscope.audits.call_value.tables import TableSource
    from otoscope.errors import InputError

    if template is not None and not init:
        raise InputError("--template is for --init, which writes a first contract")
    sources: list[TableSource] = [
        *(found for path in tables for found in tables_in(path)),
        *tables_of_runs(from_runs or ()),
    ]
    if init:
        from otoscope.atomic import write_json
        from otoscope.audits.call_value.first_contract import first_contract
        from otoscope.audits.call_value.tables import read_call_tables
        from otoscope.audits.call_value.templates import contract_of_template

        if contract.exists():
            raise InputError(f"{contract} exists; remove it, or choose another --contract")
        found, notes = read_call_tables(sources), list[str]()
        if template is None:
            record = first_contract(found)
        else:
            record, notes = contract_of_template(template, found)
        write_json(contract, record)
        for note in notes:
            typer.echo(note)
        typer.echo(f"{contract}: read and edit it, then run with --out")
        return
    if out is None:
        raise InputError("--out is missing: where results go (or --init, for a first contract)")
    from otoscope.audits.call_value.audit import audit_calls
    from otoscope.reports.call_value.published import validate_published
    from otoscope.reports.call_value.report import write_call_report
    from otoscope.reports.terminal import console, print_line, table

    validate_published(published)
    labelled = None
    if dataset is not None:
        from otoscope.audits.labelled import open_labelled

        labelled = open_labelled(dataset, revision=revision)
    audit = audit_calls(sources, contract, out)
    page, verdict = write_call_report(audit, out, labelled, published)
    for sentence in verdict:
        print_line(console(), sentence)
    rows = [(own.outcome, own.name, own.detail) for own in audit.checks]
    console().print(table(("outcome", "leakage check", "detail"), rows))
    typer.echo(f"report: {page}")
