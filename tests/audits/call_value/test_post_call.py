"""Policies that read what calls return: hand-made answers, and what they pay."""

from dataclasses import replace

import numpy as np
import pytest

from otoscope.audits.call_value.audit import audit_calls
from otoscope.audits.call_value.features import AGREEMENT_OF_ALL, feature_rows, validate_features
from otoscope.audits.call_value.parts import CallAction, CallPart
from otoscope.audits.call_value.post_call import (
    StackedModel,
    fit_stacked,
    stacked_rows,
)
from otoscope.audits.call_value.schema import AGREEMENT, AGREEMENT_NO_CALL, STACKED, CallValueError
from otoscope.audits.call_value.selector import SelectorSettings
from otoscope.reports.call_value.contrasts import contrasts
from tests.audits.call_value.call_tables import write_contract, write_tables

ACTIONS = (
    CallAction("text", "transcript", 0.1),
    CallAction("clap", "encoder", 0.2),
    CallAction("omni", "generative", 1.0),
)
SETTINGS = SelectorSettings(("conf", "action"), False, 1.0, (0.0,), 4, 0)


def part_of(predicted, gold, conf=0.5):
    predicted, gold = np.array(predicted), np.array(gold)
    n = len(gold)
    names = np.array([f"e{i:02d}" for i in range(n)], dtype=object)
    unknown = np.full(predicted.shape, np.nan)
    return CallPart(
        actions=ACTIONS,
        ids=names,
        clusters=names,
        gold=gold,
        predicted=predicted,
        conf=np.full(predicted.shape, float(conf)),
        margin=np.full(predicted.shape, float(conf)),
        numbers={},
        costs=dict.fromkeys(("wall_s", "price", "audio_s", "tokens"), unknown),
    )


def test_agreement_of_local_actions_and_of_calls():
    part = part_of([[0, 0, 0], [0, 1, 1], [-1, -1, -1]], [0, 0, 0])
    _, rows = feature_rows(part, ["agreement", AGREEMENT_OF_ALL])
    assert rows[:, :, 0].tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert rows[:, :, 1].tolist() == [[1, 1, 1], [0, 0, 0.5], [0, 0, 0]]


def test_agreement_with_calls_is_no_feature_of_a_contract():
    with pytest.raises(CallValueError, match="is no feature that is known before a call"):
        validate_features([AGREEMENT_OF_ALL])


def test_rows_of_stacked_fusion():
    rows = stacked_rows(part_of([[1, -1, 0]], [0], conf=0.25), n_labels=2)
    assert rows.tolist() == [[0, 1, 0, 0, 1, 0, 0, 0.25, 0, 0]]


def test_fusion_learns_that_a_call_swaps_two_labels():
    gold = np.arange(60) % 3
    swapped = np.array([1, 0, 2])[gold]
    noise = np.random.default_rng(0).integers(0, 3, (60, 2))
    part = part_of(np.column_stack([noise, swapped]), gold)
    fitted = fit_stacked(part, 3, SETTINGS)
    assert part.correct[:, 2].mean() == pytest.approx(1 / 3)
    assert (fitted.n_correct, fitted.n_correct_in_sample, fitted.n) == (60, 60, 60)


@pytest.mark.parametrize("n_labels", [1, 2])
def test_fusion_of_few_labels(n_labels):
    gold = np.arange(40) % n_labels
    part = part_of(np.column_stack([gold, gold, gold]), gold)
    fitted = fit_stacked(part, 2, SETTINGS)
    assert fitted.n_correct == 40
    assert StackedModel.from_json(fitted.as_json()) == fitted
    assert (fitted.predict(replace(part, gold=None)) == gold).all()


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("post")
    tables = write_tables(folder)
    return audit_calls(tables, write_contract(folder / "c.json", tables, draws=200), folder / "out")


def test_they_pay_for_every_call(audit):
    policies = {own.name: own for own in audit.policies if own.role == "post-call"}
    assert list(policies) == [AGREEMENT, AGREEMENT_NO_CALL, STACKED]
    assert policies[AGREEMENT].calls.all()
    assert not policies[AGREEMENT_NO_CALL].calls.any()
    assert policies[STACKED].runs(audit.holdout).all()
    assert policies[STACKED].chosen is None


def test_their_contrasts_are_no_primary_evidence(audit):
    own = [found for found in contrasts(audit) if found.role == "post-call"]
    assert [(found.policy, found.reference) for found in own] == [
        (AGREEMENT, AGREEMENT_NO_CALL),
        (STACKED, "no_call"),
    ]
    assert all(found.adjusted is None for found in own)
