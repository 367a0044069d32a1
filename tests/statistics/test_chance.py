import pytest

from otoscope.statistics.chance import chance_p_value


@pytest.mark.parametrize(
    ("n_correct", "n", "chance", "expected"),
    [
        (8, 8, 0.5, 2 / 256),
        (0, 8, 0.5, 2 / 256),
        (7, 8, 0.5, 2 * 9 / 256),
        (4, 8, 0.5, 1),
        # 3 of 3 at a third: 1/27; no other outcome is as unlikely (none right: 8/27)
        (3, 3, 1 / 3, 1 / 27),
        (0, 5, 0.0, 1),
        (1, 5, 0.0, 0),
    ],
)
def test_matches_sums_worked_by_hand(n_correct, n, chance, expected):
    assert chance_p_value(n_correct, n, chance=chance) == pytest.approx(expected)


def test_without_answers_nothing_speaks_against_chance():
    assert chance_p_value(0, 0) == 1


def test_what_cannot_be_is_rejected():
    with pytest.raises(ValueError, match="n_correct=3, n=2"):
        chance_p_value(3, 2)
    with pytest.raises(ValueError, match=r"chance must lie between 0 and 1, got 1\.5"):
        chance_p_value(1, 2, chance=1.5)
