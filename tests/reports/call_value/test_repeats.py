"""Repeated cross-fitting: what changes with the folds, and how it widens the interval."""

import numpy as np
import pytest

from otoscope.audits.call_value.frozen import read_frozen
from otoscope.reports.call_value.contrasts import contrasts
from otoscope.reports.call_value.repeats import (
    fold_repeats,
    nested_draws,
    repeats_sentence,
    repeats_table,
)
from tests.reports.call_value.audits import make_audit


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repeats")
    return folder, make_audit(folder, n_holdout=60, repeats=6, draws=2000)


def test_every_repeat_is_frozen_with_a_seed_of_its_own(repeated):
    folder, audit = repeated
    seed = audit.contract.settings.seed
    assert list(audit.frozen.repeats) == [str(seed + k) for k in range(1, 7)]
    assert read_frozen(folder / "out", audit.frozen_sha256).repeats == audit.frozen.repeats
    curves = {tuple(own["full"].curve[0].items()) for own in audit.frozen.repeats.values()}
    assert len(curves) > 1  # other folds, other cross-fitted accuracies


def test_rows_are_the_differences_on_held_out_examples(repeated):
    _, audit = repeated
    found = fold_repeats(audit)
    by_lambda = {row["lambda_full"]: row["call_rate"] for row in found.rows}
    frozen = audit.frozen.selectors["full"].weight_of_cost
    if frozen in by_lambda:
        assert by_lambda[frozen] == audit.policies[0].calls.mean()
    differences = [row["difference"] for row in found.rows]
    assert found.median.estimate == np.median(differences)
    assert found.above_zero == np.mean(np.array(differences) > 0)
    assert "Over 6 other draws of folds" in repeats_sentence(found)
    assert repeats_table(found).rows[-1]["seed"] == "median"


def test_seeds_that_agree_have_the_interval_of_one(repeated):
    _, audit = repeated
    found = fold_repeats(audit)
    if len({row["difference"] for row in found.rows}) == 1:
        assert found.fold_share == 0
    assert found.median.low <= found.median.estimate <= found.median.high
    assert contrasts(audit)[0].evidence.counts.n == 60


def test_draws_have_the_variance_of_both_stages():
    # differences of two seeds, 0 and 0.2 ± 0.1: variance 0.1² between and 0.1² / 2 within
    rng = np.random.default_rng(0)
    within = np.column_stack([np.zeros(200_000), 0.2 + 0.1 * rng.standard_normal(200_000)])
    drawn = nested_draws(within, 0)
    assert drawn.mean() == pytest.approx(0.1, abs=0.002)
    assert drawn.var() == pytest.approx(0.01 + 0.005, rel=0.02)


def test_without_repeats_there_is_no_sentence(tmp_path):
    audit = make_audit(tmp_path, n_holdout=30, repeats=0, draws=100)
    assert fold_repeats(audit) is None
    assert repeats_sentence(None) == ""
    assert repeats_table(None).rows == ()
