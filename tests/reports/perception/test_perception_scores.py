"""Numbers of the report, worked out by hand from hand-made answers."""

import csv
from fractions import Fraction
from pathlib import Path

import pytest

from otoscope.audits.runs import load_run
from otoscope.reports.compare import compare
from otoscope.reports.perception.beside_published import comparison_table
from otoscope.reports.perception.findings import findings
from otoscope.reports.perception.published import CATEGORIES, results
from otoscope.reports.perception.reading import read_perception
from otoscope.reports.perception.report import report
from otoscope.reports.scoring import OUTCOMES
from otoscope.responses.reading import read_answers
from otoscope.statistics.direction import score_directions
from tests.reports.perception.tiny_runs import answer_line, eight_and_four, row, write_run

ROOT = Path(__file__).parents[3]


@pytest.fixture
def made(tmp_path):
    return findings(read_perception([write_run(tmp_path / "run", eight_and_four(False))]))


def rows_of(found, name, **values):
    """The rows of a table with these values."""
    return [
        r for r in found.tables[name].rows if all(r[key] == value for key, value in values.items())
    ]


def only(found, name, **values):
    (one,) = rows_of(found, name, **values)
    return one


def test_what_is_not_an_answer_is_not_correct_and_has_a_rate_of_its_own(made):
    cell = only(made, "outcomes_by_category", category="volume")
    assert cell["n"] == 8
    assert cell["accuracy"] == 3 / 8
    for outcome in ("wrong", "unparsed", "refused", "failed", "unanswered"):
        assert cell[outcome] == 1 / 8, outcome
    assert cell["filtered"] == 0
    assert sum(cell[outcome] for outcome in OUTCOMES) == 1


def test_shares_keep_to_their_denominators(made):
    cell = only(made, "outcomes_by_category", category="volume")
    assert cell["parsed_rate"] == 4 / 8
    assert cell["increase_share"] == 3 / 4  # the text of the refused one says nothing
    assert (cell["accuracy_increase"], cell["accuracy_decrease"]) == (2 / 4, 1 / 4)
    assert cell["balanced_accuracy"] == 3 / 8
    assert cell["exact_rate"] == 2 / 8
    assert cell["accuracy_exact"] == 1 / 8  # the other exact one is wrong
    assert cell["accuracy_parsed"] == 3 / 4


def test_against_chance_with_holm_over_categories(made):
    volume = only(made, "accuracy_by_category", category="volume")
    echo = only(made, "accuracy_by_category", category="echo")
    assert volume["p_chance"] == pytest.approx(2 * (1 + 8 + 28 + 56) / 256)
    assert echo["p_chance"] == pytest.approx(2 / 16)
    assert echo["p_holm"] == pytest.approx(2 * 2 / 16)
    assert volume["p_holm"] == pytest.approx(2 * (1 + 8 + 28 + 56) / 256)
    assert (volume["wilson_low"], volume["wilson_high"]) == pytest.approx(
        (0.1368, 0.6943), abs=1e-4
    )
    assert volume["n_clusters"] == 2


@pytest.mark.parametrize(
    ("answer", "side"),
    [("{label}", "above"), ("{other}", "below"), ("increase", "undecided"), ("what?", "below")],
)
def test_a_side_of_chance_needs_the_test_and_the_clustered_interval(tmp_path, answer, side):
    other = {"increase": "decrease", "decrease": "increase"}
    planned = [
        row(direction=d, clip=source, source_id=source)
        for source in map(str, range(10))
        for d in ("up", "down")
    ]
    answered = [(r, answer.format(label=r["label"], other=other[r["label"]])) for r in planned]
    found = findings(read_perception([write_run(tmp_path / "run", answered)]))
    assert only(found, "accuracy_by_category", category="volume")["versus_chance"] == side


def test_clips_of_one_source_that_agree_do_not_make_it_more_than_chance(tmp_path):
    # 40 of 40 and 22 of 40: a small p, but only two sources
    answered = [
        (row(direction="up", clip=f"{source}-{i}", source_id=source), word)
        for source, n_right in (("p1", 40), ("p2", 22))
        for i in range(40)
        for word in ["increase" if i < n_right else "decrease"]
    ]
    found = findings(read_perception([write_run(tmp_path / "run", answered)]))
    cell = only(found, "accuracy_by_category", category="volume")
    assert cell["p_holm"] < 0.001
    assert cell["wilson_low"] > 0.5 > cell["clustered_low"]
    assert cell["versus_chance"] == "undecided: interval contains 50 %"


def test_by_tier_and_direction(made):
    assert [(r["tier"], r["n_correct"], r["n"]) for r in made.tables["accuracy_by_tier"].rows] == [
        ("low", 2, 4), ("mid", 4, 4), ("high", 1, 4),
    ]  # fmt: skip
    assert only(made, "accuracy_by_direction", direction="down")["accuracy"] == 3 / 6
    cells = {(r["category"], r["tier"]): r["n"] for r in
             made.tables["accuracy_by_category_and_tier"].rows}  # fmt: skip
    assert cells == {("echo", "mid"): 4, ("volume", "low"): 4, ("volume", "high"): 4}


def test_breakdowns_that_nobody_knows_are_left_out(made, tmp_path):
    assert "accuracy_by_curve" not in made.tables
    bare = [(row(direction=None, clip=str(i)) | {"label": "increase"}, "increase") for i in "ab"]
    found = findings(read_perception([write_run(tmp_path / "bare", bare)]))
    assert "breakdowns" not in found.sections
    assert "clustered_low" not in only(found, "accuracy_by_category", category="volume")
    assert "clustered_low" not in [c.key for c in found.tables["accuracy_by_category"].filled]


def test_humans_stand_beside_runs_by_curve(tmp_path):
    answered = [(row(direction=d, curve="jump"), "increase") for d in ("up", "down")]
    found = findings(read_perception([write_run(tmp_path / "run", answered)]))
    assert only(found, "accuracy_by_curve", run="human")["accuracy"] == 0.9846
    assert "curve and direction were confounded" in found.tables["accuracy_by_curve"].notes[0]


def test_no_effect_is_left_out_counted_and_shown_beside(tmp_path):
    found = findings(read_perception([write_run(tmp_path / "run", eight_and_four())]))
    for name in ("accuracy_by_category", "no_effect"):
        every = only(found, name, category="all")
        assert (every["n"], every["accuracy"]) == (8, 3 / 8)
        assert (every["n_no_effect"], every["n_all"], every["accuracy_all"]) == (4, 12, 7 / 12)
    assert only(found, "no_effect", category="all")["accuracy_no_effect"] == 1
    echo = only(found, "accuracy_by_category", category="echo")
    assert (echo["n"], echo["accuracy"], echo["accuracy_all"]) == (0, None, 1)
    assert "p_holm" not in echo
    assert only(found, "accuracy_by_category", category="volume")["accuracy_all"] == 3 / 8
    assert only(found, "outcomes_by_category", category="all")["wrong"] == 1 / 8
    (mine, *_) = found.tables["published"].rows  # as published: all clips
    assert (mine["echo"], mine["volume"]) == (1, Fraction(3, 8))


def test_a_run_without_the_column_leaves_nothing_out(tmp_path):
    planned = [({k: v for k, v in row.items() if k != "no_effect"}, answer)
               for row, answer in eight_and_four()]  # fmt: skip
    found = findings(read_perception([write_run(tmp_path / "run", planned)]))
    every = only(found, "accuracy_by_category", category="all")
    assert (every["n"], every["accuracy"]) == (12, 7 / 12)
    assert "n_no_effect" not in every
    assert compare(tmp_path / "run", tmp_path / "run").n_compared == 12


def test_published_rows_and_humans_stand_below_a_run_of_all_categories(tmp_path):
    answered = [
        (row(category=category, direction=d), "increase")
        for category in CATEGORIES
        for d in ("up", "down")
    ]
    table = findings(read_perception([write_run(tmp_path / "run", answered)])).tables["published"]
    printed = [[cell.text for cell in line] for line in table.printed()]
    assert [line[2] for line in printed] == ["50.0", "49.6", "50.2", "51.8", "50.3", "50.0", "94.4"]
    assert printed[3][:4] == ["kimi-audio", "published", "51.8", "51.6"]
    assert printed[6] == ["human", "published", "94.4", *["–"] * 9]


def test_averages_of_published_rows_are_over_the_categories_shown(made):
    rows = made.tables["published"].rows
    kimi = next(r for r in rows if r["name"] == "kimi-audio")
    counts = results().query("experiment == 'main' and model == 'kimi-audio'")
    cells = {
        name: Fraction(n, 2400)
        for name, n in zip(counts["test_category"], counts["n_correct"], strict=True)
    }
    assert kimi["average"] == (cells["echo"] + cells["volume"]) / 2
    assert "human" not in [r["name"] for r in rows]


def test_published_rows_are_those_of_the_same_prompt(made):
    answered = [(run, answers) for (run, _), answers in zip(made.scored, made.clips, strict=True)]
    assert comparison_table(answered, "swap_order").rows[1]["name"] == "audioflamingo3"
    assert all(r["origin"] == "this report" for r in comparison_table(answered, "rise_fall").rows)


def test_beeps_are_not_mixed_with_clips_and_print_as_in_the_paper(tmp_path):
    beep = row(category="voice_vibration", clip="b", config="beep")
    answered = [(row(category="voice_vibration", clip="a"), "increase"), (beep, "decrease")]
    found = findings(read_perception([write_run(tmp_path / "run", answered)]))
    assert only(found, "accuracy_by_category", category="voice_vibration")["accuracy"] == 1
    assert only(found, "accuracy_on_beeps", category="voice_vibration")["accuracy"] == 0
    printed = {line[0].text: line[3].text for line in found.tables["published_on_beeps"].printed()}
    assert printed["gemini-3-flash"] == "46.3"  # 111 of 240


def test_numbers_are_those_of_the_core_and_of_compare(tmp_path):
    run = write_run(tmp_path / "run", eight_and_four())
    columns = load_run(run)[:]
    texts = [
        text if status == "ok" else None
        for text, status in zip(columns["text"], columns["status"], strict=True)
    ]
    read = read_answers(texts)
    scores = score_directions(
        columns["label"], read.labels, read.exact, clusters=columns["source_id"],
        no_effect=columns["no_effect"], by={"category": columns["category"]},
    )  # fmt: skip
    found = findings(read_perception([run]))
    for category, cell in scores["category"].items():
        mine = only(found, "accuracy_by_category", category=category)
        assert {key: mine[key] for key in cell} == cell
    (made,) = found.runs
    compared = compare(run, run)
    assert compared.overall.accuracies == (scores["accuracy"], scores["accuracy"])
    assert compared.n_no_effect == scores["n_no_effect"] == 4
    assert compared.accuracies_all == (scores["accuracy_all"], scores["accuracy_all"])
    assert made.answers["prediction"].tolist() == read.labels


@pytest.mark.slow
def test_the_metric_loaded_by_its_path_gives_the_numbers_of_the_report(tmp_path, monkeypatch):
    import evaluate

    monkeypatch.setattr(evaluate.config, "HF_METRICS_CACHE", str(tmp_path / "cache"))
    metric = evaluate.load(str(ROOT / "metrics" / "direction_accuracy"))
    run = write_run(tmp_path / "run", eight_and_four())
    report([run])
    columns = load_run(run)[:]
    texts = [
        text if status == "ok" else None
        for text, status in zip(columns["text"], columns["status"], strict=True)
    ]
    scores = metric.compute(
        predictions=texts, references=columns["label"], clusters=columns["source_id"],
        no_effect=columns["no_effect"], by={"category": columns["category"]},
    )  # fmt: skip
    with (run / "report" / "tables" / "accuracy_by_category.csv").open() as file:
        for cell in csv.DictReader(file):
            of = scores if cell["category"] == "all" else scores["category"][cell["category"]]
            for key in ("accuracy", "wilson_low", "simulation_high", "clustered_low", "p_chance"):
                assert (float(cell[key]) if cell[key] else None) == of[key]
            assert int(cell["n_no_effect"]) == of["n_no_effect"]
            assert float(cell["accuracy_all"]) == of["accuracy_all"]


def test_a_run_in_which_nothing_was_parsed(tmp_path):
    answered = [(row(direction=d), answer_line("I cannot tell.")) for d in ("up", "down")]
    found = findings(read_perception([write_run(tmp_path / "run", answered)]))
    cell = only(found, "outcomes_by_category", category="volume")
    assert (cell["accuracy"], cell["unparsed"], cell["increase_share"]) == (0, 1, None)
    assert only(found, "unparsed", category="volume")["rule: no word"] == 2
