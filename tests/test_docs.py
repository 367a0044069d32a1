"""Documents: what they name is there, and their command lines are right."""

import importlib
import re
from pathlib import Path

import pytest
import typer

from builders import LABELLED
from otoscope.reports.call_value.published import published_calls
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


def experiments(heading):
    """The part of `docs/experiments.md` about one paper."""
    text = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    return text.partition(f"\n# {heading}\n")[2].partition("\n# ")[0]


def test_experiments_have_a_line_for_every_table_and_figure():
    lines = re.findall(r"^\| (Table|Figure) (\d+) \|", experiments("VocalGrad"), re.MULTILINE)
    assert sorted(lines) == sorted(
        [("Table", str(n)) for n in range(1, 23)] + [("Figure", str(n)) for n in range(1, 10)]
    )


def test_each_of_those_lines_leads_to_a_command():
    """By itself or by way of the lines that it names; Figures 1 and 5 have none, and say why."""
    text = experiments("VocalGrad")
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


CALLS_PAPER = "Auditing Generative Audio Calls"
CALLS_NUMBERS = """
    Table 1: 0.296 34.4 0.854 2.5 0.838 100.0 31.5 0.887 50.8 30.5 21.7 0.921 45.8 0.925 12.5 51.4
        5.6 0.0 240
    abstract: 0.296 0.004 0.025 0.033
    Section 3: 10,000
    Section 4: 0.167 0.296 0.883 0.838 0.808 0.762 0.404 0.792 0.796 0.784 0.850 0.849 0.817 0.813
        0.854 0.853 0.938 0.896 0.892 0.004 0.025 0.033 13 7 6 0.975 2.9 0.071 0.029 0.117 0.841
        0.017 0.083 0.268 0.027 0.895 0.785 0.140 0.425 0.341 0.475 0.444 0.433 0.008 0.067 0.442
        0.550 0.200 0.272 0.184 0.960 0.850 200 90 120 125 100
"""
"""Every result that the paper prints, by where; signs, and repeats in Section 6, left out."""


def test_experiments_have_every_number_of_the_paper_on_calls():
    """Each table, figure and number in a line that leads to a command, or says why it cannot."""
    lines = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+) \|$", experiments(CALLS_PAPER), re.M)
    lines = [line for line in lines if line[0] not in ("paper", "---")]
    numbers = {n for _, text, _, _ in lines for n in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}
    numbers |= {n.rstrip(",") for n in numbers}
    wanted = re.findall(r"\d[\d,]*(?:\.\d+)?(?![\d:])", CALLS_NUMBERS)
    assert [n for n in wanted if n not in numbers] == []
    places = " ".join(place for place, *_ in lines)
    assert all(place in places for place in ("Table 1", "Figure 1", "Figure 2", "Section 3"))
    for _, text, run, _ in lines:
        assert "*audit*" in run or "line above" in run or f"`{STARTS[0]}" in run, text


NAMED_HERE = [row for row in published_calls().to_dict("records") if row["here"]]


@pytest.mark.parametrize("row", NAMED_HERE, ids=lambda row: f"{row['task']} {row['policy']}")
def test_experiments_name_the_policy_that_gives_a_published_accuracy(row):
    lines = experiments(CALLS_PAPER).splitlines()
    number, name = f"{row['printed']:.3f}", f"`{row['here']}`"
    assert any(number in line and name in line for line in lines)


@each_document
def test_command_lines_of_labelled_datasets_are_right(document):
    lines = re.findall(r"python -m (builders\.\w+) build (.*?)[`\n]", document.read_text())
    for module, rest in lines:
        if module not in LABELLED.values():
            continue
        command = typer.main.get_command(importlib.import_module(f"{module}.__main__").app)
        own = getattr(command, "commands", {}).get("build", command)
        known = {name for p in own.params for name in (*p.opts, *p.secondary_opts)}
        assert set(re.findall(r"(?<!\S)--[\w-]+", rest)) <= known, module
