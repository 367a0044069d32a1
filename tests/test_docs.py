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
