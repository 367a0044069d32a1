import csv
import io
from fractions import Fraction

import pytest

from otoscope.reports.tables import (
    Tally,
    accuracy,
    increase_share,
    parsed_rate,
    percent,
    tabulate,
    to_csv,
    to_markdown,
    total,
)

RUN = {
    ("mine", "echo"): Tally(8, 6, 1, 5),
    ("mine", "volume"): Tally(4, 1, 0, 4),
    ("other|model", "volume"): Tally(4, 4, 0, None),
}


def table(measure=accuracy, **options):
    return tabulate(RUN, title="A run", corner="model", measure=measure, **options)


def test_cells_are_shares_and_gaps_are_gaps():
    assert table().printed() == [
        ["model", "average", "echo", "volume"],
        ["mine", "50.0", "75.0", "25.0"],  # each column weighs the same, 8 answers or 4
        ["other|model", "–", "–", "100.0"],  # no average over columns that are not there
    ]


def test_measures_keep_to_their_denominators():
    tally = Tally(8, 6, 1, 5)
    assert accuracy(tally) == Fraction(6, 8)
    assert parsed_rate(tally) == Fraction(7, 8)
    assert increase_share(tally) == Fraction(5, 7)


@pytest.mark.parametrize("measure", [accuracy, parsed_rate, increase_share])
def test_a_share_of_nothing_is_none(measure):
    assert measure(Tally(0, 0, 0, 0)) is None


def test_increase_share_is_none_when_unknown_or_when_nothing_was_parsed():
    assert increase_share(Tally(4, 0, 0, None)) is None
    assert increase_share(Tally(4, 0, 4, 0)) is None


def test_columns_can_be_chosen_and_put_in_order():
    chosen = table(columns=("volume", "echo", "pitch"), averages=False)
    assert chosen.printed()[:2] == [
        ["model", "volume", "echo", "pitch"],
        ["mine", "25.0", "75.0", "–"],
    ]


def test_a_table_of_nothing_has_a_head_only():
    empty = tabulate({}, title="nothing", corner="model")
    assert empty.printed() == [["model", "average"]]
    assert to_csv(empty) == "model,average\n"


def test_total_adds_up_and_forgets_what_one_part_does_not_know():
    assert total([Tally(8, 6, 1, 5), Tally(4, 1, 0, 4)]) == Tally(12, 7, 1, 9)
    assert total(RUN.values()).n_increase is None
    assert total([]) == Tally(0, 0, 0, 0)


@pytest.mark.parametrize(
    ("share", "even", "up"),
    [
        (Fraction(111, 240), "46.2", "46.3"),  # 46.25
        (Fraction(5035, 10000), "50.4", "50.4"),  # 50.35: the even digit is above; a float is below
        (Fraction(1, 3), "33.3", "33.3"),
        (Fraction(0), "0.0", "0.0"),
        (Fraction(1), "100.0", "100.0"),
    ],
)
def test_ties_go_where_they_are_sent(share, even, up):
    assert percent(share) == even
    assert percent(share, ties="up") == up


def test_markdown_keeps_a_bar_in_a_name_inside_its_cell():
    lines = to_markdown(table()).splitlines()
    assert lines[0] == "**A run**"
    assert lines[2:4] == ["| model | average | echo | volume |", "| --- | ---: | ---: | ---: |"]
    assert lines[-1] == "| other\\|model | – | – | 100.0 |"


def test_csv_is_not_rounded_and_leaves_gaps_empty():
    thirds = tabulate({("a", "x"): Tally(3, 1, 0, 0)}, title="t", corner="model")
    assert to_csv(thirds) == f"model,average,x\na,{100 / 3},{100 / 3}\n"
    rows = list(csv.reader(io.StringIO(to_csv(table()))))
    assert rows[2] == ["other|model", "", "", "100.0"]
