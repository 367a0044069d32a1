"""The `otoscope` command: parses, calls and prints.

otoscope render speech.wav louder.wav --category volume --direction up
otoscope compare runs/first runs/second
otoscope show runs/first ID
otoscope audit-parse runs/first
otoscope fit-observer --dataset ./vocalgrad --out observer.json
otoscope inside studies/listener
otoscope doctor
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from otoscope.cli_fit import fit_observer
from otoscope.cli_meld import meld
from otoscope.cli_run import app as run_app

app = typer.Typer(
    help="Examine whether audio language models use what they hear.",
    no_args_is_help=True,
    add_completion=False,
)
run_app.command()(meld)
app.add_typer(run_app, name="run")
app.command()(fit_observer)


@app.command()
def render(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Any audio file.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .wav or .flac file to write.")],
    category: Annotated[str, typer.Option(help="What changes, e.g. `volume` or `voice_pitch`.")],
    direction: Annotated[str, typer.Option(help="`up` or `down`.")] = "up",
    tier: Annotated[str, typer.Option(help="How much: `low`, `mid` or `high`.")] = "high",
    curve: Annotated[
        str, typer.Option(help="`linear`, `quad_first_flat`, `quad_last_flat` or `jump`.")
    ] = "linear",
    profile: Annotated[
        str, typer.Option(help="Which rules: `paper`, as published, or `controlled`.")
    ] = "paper",
    span: Annotated[
        str | None,
        typer.Option(help="START:END of speech in seconds; found in the signal when absent."),
    ] = None,
    clip_id: Annotated[
        str | None, typer.Option(help="Seeds the noise; made from the file's name when absent.")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace OUT if it is there.")] = False,
) -> None:
    """Writes a copy of one clip in which one acoustic factor rises or falls."""
    from otoscope.acoustics import codec
    from otoscope.acoustics.design import Condition
    from otoscope.acoustics.files import render_file

    try:
        made = render_file(
            source,
            out,
            category=category,
            condition=Condition(tier, curve, direction),
            profile=profile,
            span_s=_seconds(span),
            clip_id=clip_id,
            overwrite=overwrite,
        )
    except (codec.AudioError, LookupError, ValueError, OSError) as error:
        _fail(error)
    typer.echo(made.describe())


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder: A.")],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="Another: B.")],
    common: Annotated[
        bool, typer.Option("--common", help="Compare what both ask; say what is left out.")
    ] = False,
    out: Annotated[
        list[Path] | None,
        typer.Option(help="A .csv or .json file to write as well; may be repeated."),
    ] = None,
) -> None:
    """Says which of two runs is right more often, and whether that could be chance.

    Questions are the same, so the test is paired: it counts those that only one run gets right.
    Runs that ask about different clips are refused; --common compares the ones they share.

    otoscope compare runs/qwen2-audio runs/observer --out difference.csv
    """
    from otoscope.reports.compare import compare as compare_runs
    from otoscope.reports.compare_text import print_comparison
    from otoscope.reports.html import write
    from otoscope.reports.terminal import console

    endings = {path: path.suffix.lower() for path in out or []}
    for path, ending in endings.items():
        if ending not in (".csv", ".json"):
            raise typer.BadParameter(f"{path}: ends in none of .csv, .json", param_hint="--out")
    with _clear_errors():
        compared = compare_runs(first, second, common=common)
        for path, ending in endings.items():
            write(path, compared.to_csv() if ending == ".csv" else compared.to_json())
    print_comparison(compared, console())


@app.command()
def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    name: Annotated[
        str, typer.Argument(metavar="ID", help="An item's id, or ID|PROMPT for one question.")
    ],
    dataset: Annotated[
        str | None,
        typer.Option(help="Where it is from, for its columns: a folder or a Hub repository."),
    ] = None,
    config: Annotated[list[str] | None, typer.Option(help="Of the dataset; repeatable.")] = None,
    split: Annotated[str, typer.Option(help="Of the dataset.")] = "test",
    revision: Annotated[str | None, typer.Option(help="Of a Hub repository.")] = None,
) -> None:
    """Shows all about one item: what was asked, what is right, what came back, how it is read.

    Every attempt is shown, and what every parser makes of it; * marks the question's own.

    otoscope show runs/qwen2-audio "test-volume-p225_001__s1__linear__high__up"
    """
    from otoscope.audits.items import open_items
    from otoscope.reports.show import show as show_item

    with _clear_errors():
        items = None
        if dataset is not None:
            items = open_items(dataset, config or (), split=split, revision=revision)
        shown = show_item(run, name, items)
    typer.echo(shown.text())


@app.command()
def audit_parse(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    parser: Annotated[
        str | None, typer.Option(help="Read all answers by this rule, not by each prompt's own.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A CSV file for every distinct text.")] = None,
    texts: Annotated[int, typer.Option(min=0, help="Texts to show of each rule.")] = 10,
) -> None:
    """Tabulates raw answers by the rule that fired and by shape, and counts doubtful ones.

    Scores rest on rules that read text. Here is what they were given, what they made of it, and
    how many answers a rule may be blind to: "does not increase", "increasing".

    otoscope audit-parse runs/qwen2-audio --parser paraphrase --out answers.csv
    """
    from otoscope.reports.html import write
    from otoscope.reports.parse_audit import audit_run, print_audit
    from otoscope.reports.terminal import console

    with _clear_errors():
        found = audit_run(run, parser=parser)
        if out is not None:
            write(out, found.to_csv())
    print_audit(found, console(), n_texts=texts)


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, in order.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write into; the first run's report/ if absent.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="The dataset folder: puts players beside sample answers.")
    ] = None,
) -> None:
    """Writes a page, Markdown and CSV of what came of one or more runs.

    otoscope report runs/observer runs/qwen2 --dataset ./vocalgrad
    otoscope report runs/meld-base runs/meld-volume    # runs on MELD
    """
    from otoscope.reports import meld
    from otoscope.reports.perception import report as perception

    with _clear_errors():
        if any(map(meld.is_meld, runs)):
            page = meld.report(runs, out)
        else:
            page = perception.report(runs, out, dataset=dataset)
    typer.echo(f"look at it: {page}")


@app.command()
def inside(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="A study's folder.")],
) -> None:
    """Writes a page and tables of what a model encodes, what it says, and what teaching changed.

    A study under way has a report too; it says what is not there yet.

    otoscope inside studies/listener
    """
    from otoscope.reports.inside.report import write_inside

    with _clear_errors():
        page = write_inside(study)
    typer.echo(f"look at it: {page}")


@app.command()
def doctor() -> None:
    """Says what is installed, what is missing for what, and how to get it."""
    from otoscope.doctor import examine

    report = examine()
    typer.echo(report.text)
    if not report.healthy:
        raise typer.Exit(1)


def _seconds(span: str | None) -> tuple[float, float] | None:
    if span is None:
        return None
    start, _, end = span.partition(":")
    try:
        return float(start), float(end)
    except ValueError:
        raise typer.BadParameter(f"{span!r} is not START:END in seconds") from None


@contextmanager
def _clear_errors() -> Iterator[None]:
    """What the user can mend ends in one line and exit code 2."""
    from otoscope.audits.items import DatasetError
    from otoscope.audits.runs import RunError
    from otoscope.reports.terminal import visible

    try:
        yield
    except (RunError, DatasetError, LookupError, OSError) as error:
        told = error.args[0] if isinstance(error, LookupError) and error.args else error
        typer.echo(f"error: {visible(str(told))}", err=True)
        raise typer.Exit(2) from None


def _fail(error: Exception) -> None:
    typer.echo(f"error: {error.args[0] if isinstance(error, LookupError) else error}", err=True)
    raise typer.Exit(2)


def main() -> None:
    """Entry point."""
    app()


if __name__ == "__main__":
    main()
