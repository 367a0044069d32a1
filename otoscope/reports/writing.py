"""Report folders: a self-contained page, the same tables as Markdown, and each table as CSV.

A page is one file that loads nothing from anywhere, and escapes what it is given.
"""

import base64
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from otoscope.atomic import write_atomic
from otoscope.reports.tables import ReportTable, without_controls

TEMPLATES = Path(__file__).parent / "templates"
LONGEST_NAME = 80  # characters, which are up to 3 bytes each of the 255 that a name may have


def data_uri(content: bytes, media_type: str) -> str:
    """Bytes as a `data:` address.

    >>> data_uri(b"hi", "text/plain")
    'data:text/plain;base64,aGk='
    """
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def report_folder(runs: Sequence[Path | str]) -> Path:
    """Where a report is written by default, always in the first run's folder.

    That of one run is `report`. One of several runs is named after the others, and so replaces
    neither that of the first alone nor one with other runs.

    >>> report_folder(["runs/a"]).as_posix(), report_folder(["runs/a", "runs/b", "c/d"]).as_posix()
    ('runs/a/report', 'runs/a/report-with-b-c-d')
    """
    first, *others = map(Path, runs)
    if not others:
        return first / "report"
    beside = first.resolve().parent
    paths = [Path(os.path.relpath(other.resolve(), beside)) for other in others]
    name = "-".join(
        ["report-with", *(part for path in paths for part in path.parts if part != "..")]
    )
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return first / name


def render(template: str, values: Mapping[str, Any], *, folder: Path | None = None) -> str:
    """A page's text. Strings are escaped unless they are `Markup`, control characters written out.

    Args:
        template: File name; usually one that extends `page.html.jinja`.
        values: Of its variables.
        folder: Where to look for templates before those of this package.

    Raises:
        jinja2.UndefinedError: A variable of the template is not given.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, TEMPLATES] if folder else [TEMPLATES]),
        undefined=jinja2.StrictUndefined,  # a missing value is an error, not a gap on the page
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return without_controls(environment.get_template(template).render(values), keep="\n\t\r")


def write(path: Path, text: str, *, via: Path | None = None) -> Path:
    """Writes a text file atomically.

    What UTF-8 cannot encode (half a surrogate pair from a file name) becomes a question mark.
    """
    return write_atomic(path, text.encode("utf-8", "replace"), via=via)


def write_report(
    folder: Path,
    tables: Iterable[ReportTable],
    *,
    heading: str,
    facts: Iterable[str],
    template: str,
    values: Mapping[str, Any],
    page: str = "index.html",
    markdown: str = "report.md",
) -> Path:
    """Writes the page, the Markdown, and `tables/*.csv` and `*.md`; returns the page's path.

    Tables of an earlier report are removed: this one may not have all of them.

    Args:
        tables: In order; those without rows are left out.
        heading: First line of the Markdown; by it an earlier report is known.
        facts: Lines below it, as Markdown.
        values: Of the template, beside `tables` (by name), `swatch` and `grey`.
    """
    filled = [table for table in tables if table.rows]
    first_line, text = f"# {heading}", folder / markdown
    if text.is_file() and text.read_text(encoding="utf-8").startswith(first_line):
        for old in (folder / "tables").iterdir() if (folder / "tables").is_dir() else ():
            if old.suffix in (".csv", ".md"):
                old.unlink()
    texts = {table.name: table.to_markdown() for table in filled}
    for table in filled:
        write(folder / "tables" / f"{table.name}.csv", table.to_csv())
        write(folder / "tables" / f"{table.name}.md", texts[table.name])
    lines = "".join(f"- {fact}\n" for fact in facts)
    write(text, "\n".join([f"{first_line}\n\n{lines}", *texts.values()]))
    shared = {"tables": {table.name: table for table in filled}, "swatch": {}, "grey": ""}
    return write(folder / page, render(template, {"title": heading} | shared | dict(values)))
