"""Call value by group, by class and per call, against counts by hand."""

from dataclasses import replace

import numpy as np
import pytest

from otoscope.reports.call_value.gains import by_class, by_group, value_per_call
from tests.reports.call_value.audits import make_audit, with_right


def with_calls(audit, rows):
    """The audit whose full selector calls omni on given examples."""
    called = np.zeros(audit.holdout.predicted.shape, dtype=bool)
    called[rows, audit.holdout.index("omni")] = True
    policies = tuple(
        replace(own, called=called) if own.name == "full" else own for own in audit.policies
    )
    return replace(audit, policies=policies)


@pytest.fixture(scope="module")
def by_hand(audit):
    """30 calls: 5 correct, 2 harm; elsewhere 2 gained and 4 lost: 7 and 6 of 240 in all."""
    i = np.arange(240)
    full = np.isin(i, np.r_[0:5, 30:32, 40:200])
    no_call = np.isin(i, np.r_[5:7, 32:36, 40:200])
    return with_calls(with_right(audit, full=full, no_call=no_call), np.arange(30))


def turned(audit):
    """What was gained is lost, and the reverse."""
    right = {own.name: own.predicted == audit.holdout.gold for own in audit.policies[:2]}
    return with_right(audit, full=right["no_call"], no_call=right["full"])


def test_value_per_call_by_hand(by_hand):
    row = value_per_call(by_hand).rows[0]
    assert (row["policy"], row["reference"], row["endpoint"]) == ("full", "no_call", "all")
    counts = [row[key] for key in ("n_calls", "corrections", "harms", "neutral")]
    assert counts == [30, 5, 2, 23]
    assert row["changed_elsewhere"] == 6
    assert row["net_per_call"] == pytest.approx(0.1)
    assert row["wall_s_per_net"] == pytest.approx(30 * 0.18 / 3)
    assert row["price_per_net"] is None


def test_no_cost_per_correction_where_calls_harm(by_hand):
    assert value_per_call(turned(by_hand)).rows[0]["wall_s_per_net"] is None


def test_each_route_is_compared_with_where_it_starts(audit):
    rows = {row["policy"]: row for row in value_per_call(audit).rows[2:]}
    row = rows["clap→omni 50 %"]
    assert row["reference"] == "clap"
    assert row["changed_elsewhere"] == 0


def test_classes_in_which_calls_harm_are_flagged(by_hand):
    # labels in turn: corrected are 0 to 4, so cough 2, laughter 2, sigh 1; harmed 5 and 6
    assert [row["corrections"] for row in by_class(by_hand).rows] == [2, 2, 1, 5]
    assert [row["harms"] for row in by_class(by_hand).rows] == [1, 0, 1, 2]
    assert not any(row["flag"] for row in by_class(by_hand).rows)
    flags = [row["flag"] for row in by_class(turned(by_hand)).rows]
    assert flags == ["calls harm", "calls harm", None, "calls harm"]


def test_groups_of_speakers_add_up(tmp_path):
    def grouped(examples, predictions):
        for i, row in enumerate(examples):
            row["group"] = "child" if i % 4 == 0 else "adult"

    audit = make_audit(tmp_path, n_holdout=40, change=grouped)
    rows = by_group(audit).rows
    assert [(row["group"], row["n"]) for row in rows] == [("adult", 30), ("child", 10)]
    assert sum(row["n_calls"] for row in rows) == by_class(audit).rows[-1]["n_calls"]


def test_few_speakers_are_groups_and_many_are_not(tmp_path):
    def spoken_by(n):
        def change(examples, predictions):
            for i, row in enumerate(examples):
                row["speaker"] = f"{row['split']}-{i % n}"

        return change

    few = by_group(make_audit(tmp_path / "few", n_holdout=36, change=spoken_by(12)))
    assert len(few.rows) == 12
    assert few.columns[0].head == "speaker"
    many = by_group(make_audit(tmp_path / "many", n_holdout=36, change=spoken_by(13)))
    assert many.rows == ()
