"""The tables of old and new names: every new name exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("otoscope", "builders", "trainers")
FILES = [path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.endswith("| now |")
]


def names_of(path):
    """Names that a file defines or takes, its words in quotes, and its parts as a module."""
    yield from path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


NAMES = {name for path in FILES for name in names_of(path)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_new_name_exists(row):
    found = re.findall(r"`(?:python -m )?([^` ]+)[^`]*`", row[1])
    words = [word for name in found for word in re.findall(r"[A-Za-z_][\w-]*\w", name)]
    assert words, row
    assert [word for word in words if word.replace("-", "_") not in NAMES] == []


def test_there_are_tables():
    assert len(ROWS) > 40
