import pytest

from otoscope.statistics.intervals import wilson
from otoscope.statistics.parsing import score_parsing


def test_counts_of_a_small_run():
    scores = score_parsing(
        ["increase", "increase", "decrease", None],
        ["exact", "first hit", "exact", "no word"],
        [True, False, True, False],
        by={"tier": ["low", "low", "high", "high"]},
    )
    tiers = scores.pop("tier")
    assert scores == {
        "n": 4, "n_parsed": 3, "n_exact": 2,
        "parsed_rate": 0.75, "wilson_low": wilson(3, 4).low, "wilson_high": wilson(3, 4).high,
        "exact_rate": 0.5,
        "labels": {"decrease": 1 / 3, "increase": 2 / 3},
        "rules": {"exact": 2, "first hit": 1, "no word": 1},
    }  # fmt: skip
    assert tiers["low"]["labels"] == {"increase": 1.0}
    assert tiers["high"]["rules"] == {"exact": 1, "no word": 1}


def test_nothing_read_is_nothing_known():
    scores = score_parsing([], [], [])
    assert (scores["n"], scores["parsed_rate"], scores["exact_rate"]) == (0, None, None)
    assert scores["labels"] == scores["rules"] == {}


def test_columns_of_other_lengths_are_named():
    with pytest.raises(ValueError, match="1 answers, 0 rules, 1 exact flags"):
        score_parsing([None], [], [False])
