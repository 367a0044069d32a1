"""Somebody else's text cannot steer a terminal."""

import io

import pytest
from rich.console import Console

from otoscope.reports.terminal import indented, table, visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain [red]text[/red] :smile:", "plain [red]text[/red] :smile:"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("over\rwritten\n", r"over\rwritten\n"),
        ("right\u202eleft\u200b", r"right\u202eleft\u200b"),
        ("\x9b31m", r"\x9b31m"),  # one byte that opens a sequence
        ("half \ud83d", r"half \ud83d"),
        ("增加 – größer", "增加 – größer"),
    ],
)
def test_what_would_not_print_is_written_out(text, seen):
    assert visible(text) == seen
    seen.encode()


def test_lines_stay_lines_but_nothing_can_pretend_to_be_one_of_ours():
    assert indented("a\nid  x\r\n", "| ") == "| a\n| id  x\\r\n| "


def test_cells_are_never_markup():
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    console.print(table(["[bold]head"], [["[red]no[/red] [/]"], ["\x1b[31m"]]))
    shown = console.file.getvalue()
    assert "[bold]head" in shown
    assert "[red]no[/red] [/]" in shown
    assert r"\x1b[31m" in shown
    assert "\x1b[31m" not in shown
