"""Bands of curves, and the area between the selectors, against plain computations."""

import numpy as np
import pytest

from otoscope.reports.call_value.curves import curve_points
from otoscope.reports.call_value.frontier import frontier


@pytest.fixture(scope="module")
def tables(audit):
    return frontier(audit)


def test_bands_hold_the_pointwise_intervals(tables):
    for row in tables[0].rows:
        assert 0 <= row["band_low"] <= row["accuracy_low"] <= row["accuracy"]
        assert row["accuracy"] <= row["accuracy_high"] <= row["band_high"] <= 1


def test_random_calls_cost_no_call_and_their_share_of_the_call(audit, tables):
    seconds = {name: audit.holdout.costs["wall_s"][:, audit.holdout.index(name)].sum()
               for name in ("text", "clap", "wavlm", "omni")}  # fmt: skip
    row = next(
        r for r in tables[0].rows if r["curve"] == "no_call→omni, random" and r["budget"] == 0.5
    )
    local = seconds["text"] + seconds["clap"] + seconds["wavlm"]
    assert row["wall_s"] == pytest.approx(local + 0.5 * seconds["omni"])


def test_the_area_is_that_of_numpy(audit, tables):
    points = curve_points(audit)
    weight = audit.frozen.selectors["no_call"].weight_of_cost
    reference = next(p for p in points if p.curve == "no_call" and p.at["lambda"] == weight)
    full = [p for p in points if p.curve == "full"]
    for row in tables[1].rows:
        axis = {"share of calls": "call_rate", "time": "wall_s"}[row["axis"]]
        ends = sorted((p.costs[axis].mean(), p.right.mean()) for p in full)
        x, y = np.array(ends).T
        mean = np.trapezoid(y - reference.right.mean(), x) / (x[-1] - x[0])
        assert row["gain"] == pytest.approx(mean)
        assert row["gain_low"] < row["gain"] < row["gain_high"]
    assert [row["axis"] for row in tables[1].rows] == ["share of calls", "time"]


def test_an_unknown_cost_leaves_its_axis_out(tables):
    assert all(row["price"] is None for row in tables[0].rows)
