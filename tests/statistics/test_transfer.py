import numpy as np
import pytest

from otoscope.statistics.transfer import class_scores, crossed, macro_f1_difference

LABELS = ["A", "B", "C"]


def test_scores_of_a_class_worked_by_hand():
    # A: 4 true, answered 3 times, 2 of them right. C is never answered, B once and wrongly.
    gold = ["A", "A", "A", "A", "B", "C"]
    answered = ["A", "A", "B", None, "A", None]
    found = class_scores(gold, answered, LABELS)
    assert found["A"] == pytest.approx((4, 2 / 3, 2 / 4, 4 / 7))
    assert found["B"] == (1, 0.0, 0.0, 0.0)
    assert found["C"] == (1, 0.0, 0.0, 0.0)


def test_answers_that_are_none_are_not_counted():
    assert crossed(["A", None, "B"], ["B", "A", None], LABELS).sum() == 1


def test_the_difference_is_that_of_two_scores_and_keeps_the_pairs():
    rng = np.random.default_rng(0)
    gold = rng.choice(LABELS, 300).tolist()
    worse = [g if rng.random() < 0.5 else "A" for g in gold]
    better = [g if w != g and rng.random() < 0.5 else w for g, w in zip(gold, worse, strict=True)]
    clusters = (np.arange(300) // 5).tolist()
    found = macro_f1_difference(gold, better, worse, LABELS, clusters)
    one, other = (
        np.mean([s.f1 for s in class_scores(gold, answered, LABELS).values()])
        for answered in (better, worse)
    )
    assert found.estimate == pytest.approx(one - other)
    assert 0 < found.low < found.estimate < found.high
    same = macro_f1_difference(gold, worse, worse, LABELS, clusters)
    assert same == (0.0, 0.0, 0.0)


def test_an_interval_covers_a_difference_that_is_not_there():
    covered = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        gold = rng.choice(LABELS, 200).tolist()
        one, other = (
            [g if rng.random() < 0.6 else str(rng.choice(LABELS)) for g in gold] for _ in range(2)
        )
        found = macro_f1_difference(gold, one, other, LABELS, range(200), n_resamples=400)
        covered += found.low <= 0 <= found.high
    assert covered >= 34  # 95 % of 40 is 38; below 34 once in a thousand


@pytest.mark.parametrize(
    ("gold", "clusters", "named"),
    [([], [], "no items"), (["A"], [1, 2], "2 clusters for 1 items")],
)
def test_what_cannot_be_compared(gold, clusters, named):
    with pytest.raises(ValueError, match=named):
        macro_f1_difference(gold, gold, gold, LABELS, clusters)
