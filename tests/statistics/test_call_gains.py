"""What calls changed: counts by hand, the exact interval by its coverage."""

import numpy as np
import pytest
from scipy.stats import binomtest, multinomial

from otoscope.errors import InvalidValue
from otoscope.statistics.call_gains import call_gains, corrections_auc
from otoscope.statistics.exact_difference import exact_difference
from otoscope.statistics.pairs import PairedCounts

YES, NO = True, False


def test_counts_worked_by_hand():
    policy = np.array([YES, YES, NO, NO, YES, NO, YES])
    baseline = np.array([NO, NO, YES, NO, YES, NO, NO])
    called = np.array([YES, YES, YES, YES, YES, NO, NO])
    found = call_gains(policy, baseline, called)
    assert found[:4] == (5, 2, 1, 2)
    assert found.net_per_call.estimate == pytest.approx(1 / 5)
    assert found.changed_elsewhere == 1
    assert found.cost_per_net_correction(3.0) == 3.0


def test_a_policy_that_never_calls_and_calls_that_change_nothing():
    right = np.array([YES, NO])
    never = call_gains(right, ~right, np.array([NO, NO]))
    assert (never.n_calls, never.changed_elsewhere) == (0, 2)
    assert np.isnan(never.net_per_call).all()
    idle = call_gains(right, right, np.array([YES, YES])).net_per_call
    assert idle.low < idle.estimate == 0 < idle.high
    assert np.isnan(never.cost_per_net_correction(1.0))


def test_exact_ends_are_clopper_and_pearsons():
    # 9 only first and 2 only second of 30, each bound at 97.5 % two-sided
    first, second = (binomtest(k, 30).proportion_ci(0.975, "exact") for k in (9, 2))
    found = exact_difference(PairedCounts(19, 9, 2, 0))
    assert found == pytest.approx((7 / 30, first.low - second.high, first.high - second.low))


@pytest.mark.parametrize("shares", [(0.2, 0.2), (0.02, 0.0), (0.5, 0.1), (1.0, 0.0), (0.05, 0.3)])
def test_exact_interval_covers_at_least_as_often_as_stated(shares):
    n, covered = 12, 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            _, low, high = exact_difference(PairedCounts(n - b - c, b, c, 0))
            if low - 1e-12 <= shares[0] - shares[1] <= high + 1e-12:
                covered += multinomial.pmf([b, c, n - b - c], n, [*shares, 1 - sum(shares)])
    assert covered >= 0.95


def test_signal_is_compared_among_changed_examples_of_one_fold():
    policy = np.array([YES, YES, NO, NO, YES, YES])
    baseline = np.array([NO, NO, YES, YES, YES, YES])
    signal = np.array([0.9, 0.2, 0.3, 0.1, np.nan, np.nan])  # unchanged ones may lack it
    clusters = np.arange(6)
    # pairs: .9>.3, .9>.1, .2<.3, .2>.1
    assert corrections_auc(signal, policy, baseline, clusters).estimate == 0.75
    folds = np.array([0, 1, 0, 1, 0, 1])
    assert corrections_auc(signal, policy, baseline, clusters, folds=folds).estimate == 1.0
    apart = corrections_auc(signal, policy, baseline, clusters, folds=np.array([0, 0, 1, 1, 0, 0]))
    assert np.isnan(apart).all()


def test_a_signal_that_is_nan_and_lengths_that_differ_are_named():
    policy, baseline = np.array([YES, NO]), np.array([NO, YES])
    with pytest.raises(ValueError, match="1 scores are NaN or infinite"):
        corrections_auc(np.array([np.nan, 1.0]), policy, baseline, np.arange(2))
    with pytest.raises(InvalidValue, match="1 signals, 2 and 2 answers and 2 clusters"):
        corrections_auc(np.array([1.0]), policy, baseline, np.arange(2))
    with pytest.raises(InvalidValue, match="1 values of called"):
        call_gains(policy, baseline, np.array([YES]))
