"""The area under the ROC curve within strata, against counts by hand and plain versions."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from otoscope.statistics.separation import stratified_auc


def areas(n_sources=12, seed=0, shift=0.5):
    """Scores with a source effect: two strata, both labels, one item each per source."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(n_sources), 4)
    positive = np.tile([True, True, False, False], n_sources)
    strata = np.tile(["a", "b", "a", "b"], n_sources)
    scores = rng.normal(size=n_sources)[cluster] + rng.normal(size=cluster.size) + shift * positive
    return np.round(scores, 1), positive, strata, cluster  # rounded, so that there are ties


def test_area_counted_by_hand():
    # a: 3 and 1 against 2 and 1: 3>2, 3>1, 1<2, 1=1: 2.5 of 4. b: 0 against 5: 0 of 1.
    scores = np.array([3.0, 1, 2, 1, 0, 5])
    positive = np.array([True, True, False, False, True, False])
    strata = np.array(list("aaaabb"))
    found = stratified_auc(scores, positive, strata, np.arange(6))
    assert found.estimate == pytest.approx(2.5 / 5)


def test_a_stratum_is_what_scikit_learn_says():
    scores, positive, strata, cluster = areas()
    here = strata == "a"
    found = stratified_auc(scores[here], positive[here], strata[here], cluster[here])
    assert found.estimate == pytest.approx(roc_auc_score(positive[here], scores[here]))


def test_strata_weigh_as_many_as_they_have_pairs():
    scores, positive, strata, cluster = areas()
    kept = np.arange(len(scores)) >= 13
    scores, positive, strata, cluster = (x[kept] for x in (scores, positive, strata, cluster))
    parts = [(roc_auc_score(positive[s], scores[s]), positive[s].sum() * (~positive[s]).sum())
             for s in (strata == "a", strata == "b")]  # fmt: skip
    assert len({n for _, n in parts}) == 2
    expected = sum(area * n for area, n in parts) / sum(n for _, n in parts)
    assert stratified_auc(scores, positive, strata, cluster).estimate == pytest.approx(expected)


def test_items_of_different_strata_are_not_compared():
    scores = np.array([9.0, 8, 1, 0])
    positive = np.array([True, False, True, False])
    far_apart = stratified_auc(scores, positive, np.array(list("aabb")), np.arange(4))
    assert far_apart.estimate == 1
    assert np.isnan(stratified_auc(scores, positive, np.array(list("abcd")), np.arange(4)).low)


def test_interval_is_what_pairs_counted_one_by_one_say():
    scores, positive, strata, cluster = areas()
    pairs = [
        (i, j, 1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0)
        for i in np.flatnonzero(positive)
        for j in np.flatnonzero(~positive)
        if strata[i] == strata[j]
    ]
    area = np.mean([won for *_, won in pairs])
    pull = [
        sum((won - area) * [cluster[i], cluster[j]].count(k) for i, j, won in pairs)
        for k in range(12)
    ]
    deviation = np.sqrt(12 / 11 * np.sum(np.square(pull))) / len(pairs)
    reach = 2.201 * deviation / (area * (1 - area))  # Student's t, 11 degrees of freedom
    centre = np.log(area / (1 - area))
    expected = [1 / (1 + np.exp(-(centre + sign * reach))) for sign in (-1, 1)]
    assert stratified_auc(scores, positive, strata, cluster)[1:] == pytest.approx(
        expected, abs=1e-4
    )


def test_interval_is_about_that_of_a_plain_bootstrap_of_sources():
    scores, positive, strata, cluster = areas(60)
    found = stratified_auc(scores, positive, strata, cluster)
    rng = np.random.default_rng(1)
    plain = []
    for _ in range(400):
        drawn = rng.integers(60, size=60)
        items = np.concatenate([np.flatnonzero(cluster == k) for k in drawn])
        parts = [items[strata[items] == s] for s in ("a", "b")]
        plain.append(np.mean([roc_auc_score(positive[i], scores[i]) for i in parts]))
    low, high = np.quantile(plain, [0.025, 0.975])
    assert found.low == pytest.approx(low, abs=0.02)
    assert found.high == pytest.approx(high, abs=0.02)


@pytest.mark.parametrize("n_sources", [8, 40])
def test_interval_covers_the_truth_as_often_as_it_says(n_sources):
    # items of two sources differ by a normal with variance 4, the labels by 1: Φ(1/√4) = 0.691
    covered = []
    for seed in range(300):
        found = stratified_auc(*areas(n_sources, seed, shift=1.0))
        covered.append(found.low <= 0.691 <= found.high)
    assert 0.92 <= np.mean(covered) <= 0.98


def test_what_no_cluster_can_tell_has_no_width():
    # each source has the same score under both labels: what one pair wins, its mirror loses
    cluster = np.repeat(np.arange(7), 2)
    found = stratified_auc(cluster.astype(float), np.tile([True, False], 7), np.zeros(14), cluster)
    assert found == pytest.approx((0.5, 0.5, 0.5))


def test_a_score_that_is_always_the_same_says_nothing():
    found = stratified_auc(np.ones(8), np.tile([True, False], 4), np.zeros(8), np.arange(8) // 2)
    assert found == (0.5, 0.5, 0.5)


def test_without_spread_at_the_end_of_the_scale_wilson_says_how_far_sources_reach():
    # 10 of 10: the lower bound is 1 / (1 + 1.96²/10) = 0.7225
    positive = np.tile([True, False], 10)
    interval = stratified_auc(positive.astype(float), positive, np.zeros(20), np.arange(20) // 2)
    assert interval == pytest.approx((1, 0.7225, 1), abs=1e-3)
    inverted = stratified_auc(-positive.astype(float), positive, np.zeros(20), np.arange(20) // 2)
    assert inverted == pytest.approx((0, 0, 1 - 0.7225), abs=1e-3)


def test_one_source_says_nothing_about_others():
    found = stratified_auc(np.array([1.0, 0]), np.array([True, False]), np.zeros(2), np.zeros(2))
    assert found == (1, 0, 1)


@pytest.mark.parametrize("positive", [[True, True], [False, False]])
def test_with_one_label_nothing_is_known(positive):
    found = stratified_auc(np.array([1.0, 0]), np.array(positive), np.zeros(2), np.arange(2))
    assert np.isnan(found).all()


def test_nothing_is_known_of_nothing():
    empty = np.empty(0)
    assert np.isnan(stratified_auc(empty, empty.astype(bool), empty, empty)).all()


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"scores": np.array([1.0, np.nan])}, "1 scores are NaN"),
        ({"strata": np.zeros(3)}, "2 scores, 2 labels, 3 strata"),
        ({"confidence": 1.0}, "between 0 and 1, got 1.0"),
    ],
)
def test_bad_input_is_named(changed, match):
    good = {
        "scores": np.array([1.0, 2]), "positive": np.array([True, False]),
        "strata": np.zeros(2), "clusters": np.arange(2),
    }  # fmt: skip
    with pytest.raises(ValueError, match=match):
        stratified_auc(**(good | changed))
