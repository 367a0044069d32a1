"""Documents: what they name is there, and their command lines are right."""

import re
from pathlib import Path

import pytest

from tests.acoustics.test_codec import BAD_INPUT
from tests.cli.commands import fault

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FOLDERS = ("benchmarks", "builders", "cards", "docs", "metrics", "otoscope", "tests", "trainers")
STARTS = ("otoscope ", "python -m ", "accelerate ")
each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT))
)


def test_every_kind_of_file_is_in_the_table_with_its_answer():
    text = (ROOT / "docs" / "bad-input.md").read_text()
    answers = dict(re.findall(r"^\| (.+?) \| (accepted|rejected) \|", text, re.MULTILINE))
    for kind, (_, expected) in BAD_INPUT.items():
        assert answers[kind] == ("rejected" if isinstance(expected, str) else "accepted"), kind


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@each_document
def test_links_lead_somewhere(document):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


@each_document
def test_files_that_are_named_are_there(document):
    """CHANGELOG's old names apart."""
    text = document.read_text()
    if document.name == "CHANGELOG.md":
        text = re.sub(r"^\|.*", "", text, flags=re.MULTILINE)
    names = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)`", text)
    assert [name for name in names if not (ROOT / name).exists()] == []


@each_document
def test_command_lines_are_right(document):
    """Commands and their options exist, in code blocks and in backticks."""
    text = document.read_text()
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    mentions = re.findall(r"`([^`\n]+)`", text)
    faults = [fault(line) for line in lines if line.startswith(STARTS)]
    faults += [fault(line, whole=False) for line in mentions if line.startswith(STARTS)]
    assert [message for message in faults if message] == []


def test_a_wrong_command_line_is_noticed():
    assert fault("otoscope report runs/a --outt x") == "otoscope report has no --outt"
    assert fault("otoscope rprt runs/a") == "no command otoscope"
    assert fault("otoscope run perceptoin") == "no command otoscope run"
    assert fault("accelerate launch -m trainers.extract --model m --out o") == (
        "trainers.extract needs --dataset, --sites"
    )
    assert fault("accelerate launch -m trainers.extract --model m …") == ""
    assert fault("python -m benchmarks.gradients --unknown") == ""


LAST = {"3": 4, "4": 3, "5": 4, "B": 5, "C": 13}
SECTIONS = {f"{part}.{n}" for part, last in LAST.items() for n in range(1, last + 1)}
"""Of the VocalGrad paper; it has 22 tables and 9 figures."""


def citations():
    """Where VocalGrad is cited: sources in code, and the first table of `docs/papers.md`."""
    for folder in ("otoscope", "builders", "trainers", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            for cited in re.findall(r'Source: VocalGrad,.*?(?:\n\n|""")', text, re.DOTALL):
                yield path.relative_to(ROOT).as_posix(), cited
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").partition("### What")[0]
    yield from re.findall(r"^\| (.+?) \| (.+?) \|", text, re.MULTILINE)


def test_cited_sections_tables_and_figures_are_those_of_the_paper():
    cited = list(citations())
    assert len(cited) > 30
    for where, text in cited:
        found = set(re.findall(r"\b[1-9A-Z]\.\d+\b", text))
        assert found <= SECTIONS, where
        lone = re.findall(r"[Aa]ppendix (?![BC]\.\d)\w+", text)
        assert not lone, where
        for kind, last in (("Table", 22), ("Figure", 9)):
            for numbers in re.findall(rf"{kind}s? ([\d, –and]+)", text, re.IGNORECASE):
                assert all(1 <= int(n) <= last for n in re.findall(r"\d+", numbers)), where


def test_experiments_have_a_line_for_every_table_and_figure():
    text = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (Table|Figure) (\d+) \|", text, re.MULTILINE)
    assert sorted(lines) == sorted(
        [("Table", str(n)) for n in range(1, 23)] + [("Figure", str(n)) for n in range(1, 10)]
    )


def test_each_of_those_lines_leads_to_a_command():
    """By itself or by way of the lines that it names; Figures 1 and 5 have none, and say why."""
    text = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| ((?:Table|Figure) \d+) \|[^|]+\|([^|]+)\|(.+)\|$", text, re.MULTILINE)
    run = {name: command for name, command, _ in cells}

    def leads_to_a_command(name, seen=()):
        starts = tuple(f"`{start}" for start in STARTS)
        if any(start in run[name] for start in starts):
            return True
        named = re.findall(r"(?:Table|Figure) \d+", run[name])
        return any(leads_to_a_command(n, (*seen, name)) for n in named if n not in seen)

    without = [name for name in run if not leads_to_a_command(name)]
    assert without == ["Figure 1", "Figure 5"]
    assert all(len(where.strip()) > 30 for name, _, where in cells if name in without)
