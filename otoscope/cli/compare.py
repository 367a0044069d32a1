"""`otoscope compare`: two runs, question by question."""

from pathlib import Path
from typing import Annotated

import typer

from otoscope.cli.options import RunFolder


def compare(
    first: RunFolder,
    second: RunFolder,
    common: Annotated[
        bool, typer.Option("--common", help="Compare the questions that both runs have.")
    ] = False,
    out: Annotated[
        list[Path] | None, typer.Option(help="Output: a .csv or .json file; may be repeated.")
    ] = None,
) -> None:
    """Compares two runs on the same questions with paired tests.

    McNemar's test counts the questions that only one run gets right. Runs about different clips are
    rejected; --common compares the clips they share.

    otoscope compare runs/qwen2-audio runs/observer --out difference.csv
    """
    from otoscope.reports.compare import compare as compare_runs
    from otoscope.reports.compare_text import print_comparison
    from otoscope.reports.terminal import console
    from otoscope.reports.writing import write

    endings = {path: path.suffix.lower() for path in out or []}
    for path, ending in endings.items():
        if ending not in (".csv", ".json"):
            raise typer.BadParameter(f"{path}: ends in none of .csv, .json", param_hint="--out")
    compared = compare_runs(first, second, common=common)
    for path, ending in endings.items():
        write(path, compared.to_csv() if ending == ".csv" else compared.to_json())
    print_comparison(compared, console())
