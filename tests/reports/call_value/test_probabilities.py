"""Calibration and signals on both splits, against scikit-learn and plain counts."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

from otoscope.reports.call_value.probabilities import (
    GAIN,
    calibration_table,
    expected,
    reliability_table,
    signals,
)


@pytest.fixture(scope="module")
def splits(audit):
    return expected(audit)


def test_development_examples_are_predicted_without_their_fold(audit, splits):
    development = splits[0]
    in_sample = audit.frozen.selectors["full"].model.probabilities(audit.development)
    assert not np.allclose(development.probabilities, in_sample)
    assert sorted(set(development.folds.tolist())) == [0, 1, 2, 3, 4]


def test_doubt_of_an_action_on_held_out_examples(splits):
    holdout = splits[1]
    k = holdout.part.index("omni")
    call, right = holdout.part.correct[:, k], holdout.no_call_right
    changed = call != right
    doubt = -holdout.part.margin[changed, holdout.part.index("clap")]
    rows = {(row["split"], row["signal"]): row for row in signals(splits).rows}
    found = rows["holdout", "doubt of clap"]
    assert found["auc"] == pytest.approx(roc_auc_score(call[changed], doubt))
    assert found["n_corrections"] + found["n_harms"] == changed.sum()
    assert 0.5 < rows["holdout", GAIN]["auc"] <= 1


def test_the_gain_is_compared_within_folds_on_development_examples(splits):
    own = splits[0]
    k, local = own.part.index("omni"), np.flatnonzero(~own.part.is_call)
    gain = own.probabilities[:, k] - own.probabilities[:, local].max(axis=1)
    call, right = own.part.correct[:, k], own.no_call_right
    won = pairs = 0.0
    for i in np.flatnonzero(call & ~right):
        for j in np.flatnonzero(right & ~call):
            if own.folds[i] == own.folds[j]:
                pairs += 1
                won += (gain[i] > gain[j]) + 0.5 * (gain[i] == gain[j])
    row = next(r for r in signals(splits).rows if (r["split"], r["signal"]) == (own.split, GAIN))
    assert row.get("auc") == (pytest.approx(won / pairs) if pairs else None)


def test_brier_scores_and_skill_of_both_splits(splits):
    rows = {(row["split"], row["action"]): row for row in calibration_table(splits).rows}
    assert len(rows) == 8
    for own in splits:
        k = own.part.index("wavlm")
        row, right = rows[own.split, "wavlm"], own.part.correct[:, k]
        assert row["brier"] == pytest.approx(brier_score_loss(right, own.probabilities[:, k]))
        rate = splits[0].part.correct[:, splits[0].part.index("wavlm")].mean()
        reference = brier_score_loss(right, np.full(own.part.n, rate))
        assert row["brier_skill"] == pytest.approx(1 - row["brier"] / reference)


def test_bins_of_the_reliability_add_up(splits):
    rows = reliability_table(splits).rows
    for own in splits:
        mine = [row for row in rows if (row["split"], row["action"]) == (own.split, "clap")]
        assert sum(row["n"] for row in mine) == own.part.n
        right = sum(row["n"] * row["share_correct"] for row in mine)
        assert right == pytest.approx(own.part.correct[:, own.part.index("clap")].sum())


def test_a_call_without_harms_has_no_area(splits):
    never_wrong = tuple(
        replace(own, no_call_right=np.zeros(own.part.n, dtype=bool)) for own in splits
    )
    assert all(row.get("auc") is None for row in signals(never_wrong).rows)
    assert "–" in signals(never_wrong).to_markdown() or "auc" not in signals(never_wrong).to_csv()
