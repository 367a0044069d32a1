import csv
import io
from fractions import Fraction

import pandas as pd
import pytest

from otoscope.reports.tables import (
    ACCURACY_OF,
    INCREASE_RATE_OF,
    PARSE_RATE_OF,
    ReportTable,
    TableColumn,
    cross_shares,
    csv_text,
    in_markdown,
    per_cent,
    share_matrix,
)

COUNTS = pd.DataFrame(
    [
        ("mine", "echo", 8, 6, 7, 5),
        ("mine", "volume", 4, 1, 4, 4),
        ("other|model", "volume", 4, 4, 4, None),
    ],
    columns=["run", "category", "n", "n_correct", "n_parsed", "n_increase"],
)
CORNER = (TableColumn("run", "model"), TableColumn("average", "average", "share"))


def table(share=ACCURACY_OF, columns=("echo", "volume")):
    rows = cross_shares(COUNTS, "run", "category", share, columns=columns)
    return share_matrix("name", "A run", CORNER, columns, rows)


def texts(made):
    return [[cell.text for cell in row] for row in made.printed()]


def test_cells_are_shares_and_gaps_are_gaps():
    assert texts(table()) == [
        ["mine", "50.0", "75.0", "25.0"],  # each column weighs the same, 8 answers or 4
        ["other|model", "–", "–", "100.0"],  # no average over columns that are not there
    ]


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (ACCURACY_OF, Fraction(6, 8)),
        (PARSE_RATE_OF, Fraction(7, 8)),
        (INCREASE_RATE_OF, Fraction(5, 7)),
    ],
)
def test_shares_are_exact_and_keep_to_their_denominators(share, expected):
    first, _ = cross_shares(COUNTS, "run", "category", share)
    assert first["echo"] == expected


@pytest.mark.parametrize("share", [ACCURACY_OF, PARSE_RATE_OF, INCREASE_RATE_OF])
def test_a_share_of_nothing_is_none(share):
    nothing = pd.DataFrame([("a", "x", 0, 0, 0, 0)], columns=COUNTS.columns)
    assert cross_shares(nothing, "run", "category", share) == [
        {"run": "a", "average": None, "x": None}
    ]


def test_a_rate_of_unknown_counts_is_none():
    _, second = cross_shares(COUNTS, "run", "category", INCREASE_RATE_OF)
    assert second["volume"] is None


def test_columns_can_be_chosen_and_put_in_order():
    chosen = table(columns=("volume", "echo", "pitch"))
    assert [column.key for column in chosen.filled] == ["run", "volume", "echo"]
    assert texts(chosen)[0] == ["mine", "25.0", "75.0"]  # no row has pitch, nor an average with it


def test_a_table_of_nothing_is_empty():
    empty = table(columns=("pitch",))
    assert [column.key for column in empty.filled] == ["run"]
    assert cross_shares(COUNTS[:0], "run", "category") == []


@pytest.mark.parametrize(
    ("share", "even", "up"),
    [
        (Fraction(111, 240), "46.2", "46.3"),  # 46.25
        (Fraction(5035, 10000), "50.4", "50.4"),  # 50.35: the even digit is above; a float is below
        (5035 / 10000, "50.4", "50.4"),
        (Fraction(1, 3), "33.3", "33.3"),
        (Fraction(0), "0.0", "0.0"),
        (Fraction(1), "100.0", "100.0"),
        (None, "–", "–"),
    ],
)
def test_ties_go_where_they_are_sent(share, even, up):
    assert per_cent(share) == even
    assert per_cent(share, "up") == up


def test_markdown_keeps_a_bar_in_a_name_inside_its_cell():
    lines = table().to_markdown().splitlines()
    assert lines[0] == "### A run"
    assert lines[2:4] == ["| model | average | echo | volume |", "| --- | ---: | ---: | ---: |"]
    assert lines[-1] == "| other\\|model | – | – | 100.0 |"


def test_csv_is_not_rounded_and_leaves_gaps_empty():
    columns = (TableColumn("name", "name"), TableColumn("x", "x", "share"))
    rows = ({"name": 'a,"b"\n', "x": Fraction(1, 3)}, {"name": "c", "x": None}, {"name": "d"})
    text = ReportTable("t", "t", columns, rows).to_csv()
    assert text == f'name,x\n"a,""b""\n",{1 / 3}\nc,\nd,\n'
    rows = list(csv.reader(io.StringIO(table().to_csv())))
    assert rows[2] == ["other|model", "", "", "1.0"]
    counts = ReportTable("t", "t", (TableColumn("n", "n", "count"),), ({"n": 3}, {"n": None}))
    assert counts.to_csv() == 'n\n3\n""\n'


FORMULAS = {
    "hyperlink": '=HYPERLINK("http://example.org","increase")',
    "command": "=cmd|' /C calc'!A0",
    "plus": "+1+1",
    "minus": "-2+3",
    "minus_number": "-5",
    "at": "@SUM(1)",
    "tab": "\t=1+1",
    "carriage_return": "\r=1+1",
    "line_break": "\n=1+1",
    "wide_equals": "＝1+1",
}


@pytest.mark.parametrize("text", FORMULAS.values(), ids=FORMULAS)
def test_a_text_that_a_spreadsheet_would_run_begins_with_an_apostrophe(text):
    """In cells and in heads: categories and answers are whatever somebody wrote."""
    made = csv_text([text, "n"], [{text: text, "n": -5}, {text: f"a {text}", "n": -0.5}])
    head, first, second = csv.reader(io.StringIO(made, newline=""))
    expected = "'" + text.replace("\r", "\\r")
    assert (head[0], first[0]) == (expected, expected)
    assert second[0] == "a " + text.replace("\r", "\\r")  # within a text nothing is a formula
    assert (first[1], second[1]) == ("-5", "-0.5")  # numbers stay numbers


CONTROLS = {
    "nul": ("a\0b", r"a\x00b"),
    "escape": ("a\x1b[2Jb", r"a\x1b[2Jb"),
    "csi": ("a\x9b31mb", r"a\x9b31mb"),
    "bell": ("a\x07b", r"a\x07b"),
    "backspace": ("a\x08b", r"a\x08b"),
    "right_to_left": ("a\u202eb", r"a\u202eb"),
    "half_a_pair": ("a\ud83db", r"a\ud83db"),
}


@pytest.mark.parametrize(("text", "seen"), CONTROLS.values(), ids=CONTROLS)
def test_what_steers_a_terminal_is_written_out_in_every_kind_of_file(text, seen):
    columns = (TableColumn("name", "name", "raw"),)
    made = ReportTable("t", f"of {text}", columns, ({"name": text},), (f"note {text}",))
    assert made.to_csv() == f"name\n{seen}\n"
    assert made.to_markdown().count(seen.replace("\\", "\\\\").replace("[", "\\[")) == 3
    assert text not in made.to_markdown()


@pytest.mark.parametrize("text", ["增加 größer 👩‍🔬", "fin\u00a0: 5 %", "क्षि"])
def test_letters_of_any_script_stay(text):
    assert csv_text(["x"], [{"x": text}]) == f"x\n{text}\n"
    assert in_markdown(text) == text.replace("\u00a0", " ")
