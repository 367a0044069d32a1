import random
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from builders.corpora.base import CorpusError
from builders.labelled.dividing import divide, holdout_targets, joined

clips = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 30).map(str)), min_size=2, max_size=120
)


def divided(drawn, holdout, seed=0):
    labels, clusters = zip(*drawn, strict=True)
    try:
        return divide(labels, clusters, holdout, seed=seed)
    except CorpusError:
        return None  # a class has one cluster, or its clusters are shared in ways that leave none


@given(clips, st.floats(0.1, 0.9))
def test_whole_clusters_stay_together_and_every_class_is_on_both_sides(drawn, share):
    splits = divided(drawn, share)
    assume(splits is not None)
    of_cluster = {}
    for (_, cluster), split in zip(drawn, splits, strict=True):
        assert of_cluster.setdefault(cluster, split) == split
    for label in {label for label, _ in drawn}:
        own = {s for (name, _), s in zip(drawn, splits, strict=True) if name == label}
        assert own == {"development", "holdout"}


@given(clips, st.floats(0.1, 0.9), st.randoms(use_true_random=False))
def test_the_order_of_clips_changes_nothing(drawn, share, rng: random.Random):
    order = list(range(len(drawn)))
    rng.shuffle(order)
    before, after = divided(drawn, share), divided([drawn[i] for i in order], share)
    assert after == (None if before is None else [before[i] for i in order])


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(2, 60), min_size=2))
def test_clips_that_stand_alone_are_balanced_exactly(sizes):
    labels = [label for label, n in sizes.items() for _ in range(n)]
    splits = divide(labels, [str(i) for i in range(len(labels))], 0.5)
    held = Counter(label for label, s in zip(labels, splits, strict=True) if s == "holdout")
    assert held == {label: min(max(1, round(n / 2)), n - 1) for label, n in sizes.items()}


def test_a_hundred_clips_are_held_out_of_a_class_balanced_set():
    labels = ["match", "no match"] * 300
    splits = divide(labels, [str(i) for i in range(600)], 100)
    held = Counter(label for label, s in zip(labels, splits, strict=True) if s == "holdout")
    assert held == {"match": 50, "no match": 50}


def test_twenty_speakers_with_a_clip_of_each_class_are_divided_ten_to_ten():
    labels = [label for _ in range(20) for label in "abcdef"]
    speakers = [str(i) for i in range(20) for _ in "abcdef"]
    splits = divide(labels, speakers, 0.5)
    assert Counter(zip(labels, splits, strict=True)) == {
        (label, split): 10 for label in "abcdef" for split in ("development", "holdout")
    }


def test_another_seed_divides_in_another_way():
    labels, names = ["a", "b"] * 20, [str(i) for i in range(40)]
    assert divide(labels, names, 0.5) != divide(labels, names, 0.5, seed=1)


def test_a_large_cluster_does_not_overfill_holdout():
    labels = ["a"] * 10 + ["b"] * 10
    clusters = ["big"] * 8 + ["x", "y"] + [str(i) for i in range(10)]
    splits = divide(labels, clusters, 0.5)
    assert splits[:8] == ["development"] * 8
    assert splits[8:10] == ["holdout"] * 2


@pytest.mark.parametrize(
    ("holdout", "message"),
    [(0, "must be a share"), (float("nan"), "must be a share"), (1.5, "must be a share"),
     (4, "some must remain"), (-1, "must be a share")],
)  # fmt: skip
def test_a_holdout_that_cannot_be_is_an_error(holdout, message):
    with pytest.raises(CorpusError, match=message):
        holdout_targets({"a": 2, "b": 2}, holdout)


def test_a_class_of_one_cluster_is_named():
    with pytest.raises(CorpusError, match="the label 'b' has 2 clip"):
        divide(["a", "a", "b", "b"], ["x", "y", "z", "z"], 0.5)


def test_keys_join_over_others():
    assert joined([["a", "1"], ["b", "1"], ["b"], ["c"]])[:3] == ["1"] * 3


def test_a_target_is_met_by_a_swap_where_whole_clusters_fell_short():
    """By hand: of sizes 3, 3, 2, 2 half is 5; 2 and 2 come first, and no 1 is left: 3 for one 2."""
    labels = ["a"] * 10
    clusters = ["x"] * 3 + ["y"] * 3 + ["z"] * 2 + ["w"] * 2
    for seed in range(20):
        splits = divide(labels, clusters, 0.5, seed=seed)
        assert splits.count("holdout") == 5
        assert len(set(zip(clusters, splits, strict=True))) == 4
