"""Decodable but not answered, counted by hand and by plain versions."""

import math

import numpy as np
import pyarrow as pa
import pytest

from otoscope.probes.decodable import COLUMNS, JoinedItems, decodable_table, join, shares
from otoscope.probes.predictions import ProbeError
from otoscope.statistics.clustered_pairs import clustered_difference
from otoscope.statistics.intervals import clustered_interval
from tests.probes.planted import predictions_of, written

LABELS = [True] * 10
SCORES = [1.0] * 7 + [-1.0] * 3  # right about i0 to i6
RIGHT = [True] * 4 + [False] * 4 + [True, False]  # and the answers about i0 to i3 and i8
ANSWERS = {f"i{k}": right for k, right in enumerate(RIGHT)}


def test_the_four_outcomes_counted_by_hand(tmp_path):
    (row,) = decodable_table(
        written(tmp_path / "p", predictions_of(LABELS, SCORES)), ANSWERS
    ).to_pylist()
    # i0–i3 both, i4–i6 only the probe, i8 only the answer, i7 and i9 neither
    assert [row[name] for name in ("both", "only_probe", "only_answer", "neither")] == [4, 3, 1, 2]
    assert [row[name] for name in ("n", "n_not_asked", "n_sources", "n_seeds")] == [10, 0, 10, 1]
    assert row["encoded_not_said"] == pytest.approx(0.3)
    assert row["said_not_encoded"] == pytest.approx(0.1)
    assert row["encoded"] == pytest.approx(0.7)
    assert row["said"] == pytest.approx(0.5)
    assert row["encoded_where_wrong"] == pytest.approx(3 / 5)
    assert row["beyond_guessing"] == pytest.approx((3 - 2) / 10)
    assert row["encoded_less_said"] == pytest.approx(0.2)
    # 3 against 1 discordant: 2 · (C(4,0) + C(4,1)) / 2⁴ = 10/16
    assert row["p_mcnemar"] == row["p_holm"] == pytest.approx(10 / 16)
    assert (row["site"], row["category"], row["method"]) == ("mel", "volume", "probe")


def test_intervals_are_clustered_by_source():
    rng = np.random.default_rng(0)
    sources = np.repeat(np.arange(20), 12)
    probed = rng.random(240) < rng.beta(6, 2, size=20)[sources]
    answered = rng.random(240) < rng.beta(2, 2, size=20)[sources]
    same = np.zeros(240, int)
    found = shares(JoinedItems(probed, answered, sources, same, same))
    wrong = ~answered
    for name, expected in {
        "encoded_not_said": clustered_interval(probed & wrong, sources),
        "encoded_where_wrong": clustered_interval(probed[wrong], sources[wrong]),
        "beyond_guessing": clustered_difference(probed & wrong, ~probed & wrong, sources),
        "encoded_less_said": clustered_difference(probed, answered, sources),
    }.items():
        got = tuple(found[name + end] for end in ("", "_low", "_high"))
        assert got == pytest.approx(expected)


@pytest.mark.parametrize(("knows", "expected"), [(0.0, 0.0), (1.0, 0.4), (0.5, 0.2)])
def test_the_chance_corrected_share_is_that_of_wrong_answers_the_probe_knows(knows, expected):
    # The answer is wrong about 40 %; the probe knows a share of those, and guesses the rest.
    rng = np.random.default_rng(1)
    n = 40_000
    answered = rng.random(n) < 0.6
    probed = (rng.random(n) < knows) | (rng.random(n) < 0.5)
    one = np.zeros(n, int)
    found = shares(JoinedItems(probed, answered, np.arange(n) // 40, one, one))
    assert found["beyond_guessing"] == pytest.approx(expected, abs=0.01)
    assert found["encoded_where_wrong"] == pytest.approx((1 + knows) / 2, abs=0.02)


def test_shares_are_over_all_seeds_and_counts_of_the_first(tmp_path):
    first = predictions_of(LABELS, SCORES, seed=7)
    second = predictions_of(LABELS, [-score for score in SCORES], seed=3)
    folder = written(tmp_path / "p", pa.concat_tables([first, second]))
    (row,) = decodable_table(folder, ANSWERS).to_pylist()
    assert [row[name] for name in ("n", "n_seeds", "only_probe")] == [10, 2, 3]
    assert row["encoded_not_said"] == pytest.approx((3 + 2) / 20)


def test_items_without_an_answer_are_counted_and_left_out(tmp_path):
    folder = written(tmp_path / "p", predictions_of(LABELS, SCORES))
    fewer = {name: right for name, right in ANSWERS.items() if name not in ("i4", "i7")}
    (row,) = decodable_table(folder, fewer | {"elsewhere": True}).to_pylist()
    assert [row[name] for name in ("n", "n_not_asked")] == [8, 2]
    assert [row[name] for name in ("both", "only_probe", "only_answer", "neither")] == [4, 2, 1, 1]


def test_controls_are_right_by_chance_where_the_answer_is_wrong(tmp_path):
    # Wrong answers are i4–i7 and i9; the control is right about i4 and i5 of them, and i0.
    control = ([True] * 10, [1.0, -1, -1, -1, 1, 1, -1, -1, -1, -1])
    folder = written(tmp_path / "p", predictions_of(LABELS, SCORES, controls=[control]))
    (row,) = decodable_table(folder, ANSWERS).to_pylist()
    assert row["control_where_wrong"] == pytest.approx(2 / 5)
    alone = written(tmp_path / "q", predictions_of(LABELS, SCORES))
    assert math.isnan(decodable_table(alone, ANSWERS).to_pylist()[0]["control_where_wrong"])


def test_categories_count_alike_in_their_mean(tmp_path):
    few = predictions_of(LABELS[:4], [1.0, 1, -1, -1], category="echo")  # all four answered rightly
    folder = written(tmp_path / "p", predictions_of(LABELS, SCORES), few)
    table = decodable_table(folder, ANSWERS)
    assert table.schema.equals(COLUMNS)
    echo, volume, both = table.to_pylist()
    assert [row["category"] for row in (echo, volume, both)] == ["echo", "volume", "all"]
    assert both["said_not_encoded"] == pytest.approx((2 / 4 + 1 / 10) / 2)
    assert both["both"] == 2 + 4
    # Holm over the two categories; the mean is not among them.
    assert [row["p_mcnemar"] for row in (echo, volume)] == [0.5, 0.625]
    assert [row["p_holm"] for row in (echo, volume)] == [1.0, 1.0]
    assert both["p_holm"] is None


def test_nothing_in_common_is_rejected(tmp_path):
    folder = written(tmp_path / "p", predictions_of(LABELS, SCORES))
    with pytest.raises(ProbeError, match=r"none of the 10 probed items of volume .* 'i0'"):
        decodable_table(folder, {"elsewhere": True})


def test_a_method_that_was_not_trained_is_rejected():
    with pytest.raises(ProbeError, match="no predictions by 'ridge'"):
        join(predictions_of(LABELS, SCORES), ANSWERS, "ridge")
