"""Accuracy over calls and cost: every point with its band, and the area between the selectors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.contract import FULL, NO_CALL
from otoscope.reports.call_value.curves import AXES, CurvePoint, curve_points
from otoscope.reports.call_value.outcomes import (
    accuracy,
    interval_name,
    known_interval,
    resampled_means,
)
from otoscope.reports.tables import ReportTable, TableColumn, with_interval
from otoscope.statistics.intervals import named_interval, percentile_interval
from otoscope.statistics.simultaneous import area_between, interval_of_draws, simultaneous_band

NOISE = 1e-9
NAMES = {
    "call_rate": ("share of calls", "%"),
    "wall_s": ("time", "s"),
    "price": ("money", "price"),
    "audio_s": ("audio sent", "s of audio"),
}


def frontier(audit: CallAudit) -> tuple[ReportTable, ReportTable]:
    """A row for each point of each curve, and one for each area between full and no_call."""
    points = curve_points(audit)
    draws = resampled_means(audit, [point.right for point in points])
    rows = [_row(audit, point) for point in points]
    for curve in dict.fromkeys(point.curve for point in points):
        own = [k for k, point in enumerate(points) if point.curve == curve]
        _add_band([rows[k] for k in own], draws[:, own])
    policies = [row for row, point in zip(rows, points, strict=True) if point.is_policy]
    for row in policies:
        row["dominated"] = "dominated" if any(_better(other, row) for other in policies) else None
    return _table(audit, rows), areas(audit, points)


def _table(audit: CallAudit, rows: Sequence[dict[str, Any]]) -> ReportTable:
    return ReportTable(
        "frontier",
        "Accuracy over calls and cost",
        (
            TableColumn("curve", "curve"),
            TableColumn("lambda", "λ", "number"),
            TableColumn("budget", "budget, %", "share"),
            TableColumn("call_rate", "calls, %", "share"),
            *with_interval("accuracy", "accuracy, %", f"{interval_name(audit)}, pointwise"),
            TableColumn("band_low", "95 % band of the curve", "interval", high="band_high"),
            TableColumn("wall_s", "total, s", "number"),
            TableColumn("price", "total, price", "number"),
            TableColumn("audio_s", "audio sent, s", "number"),
            TableColumn("dominated", "dominated"),
        ),
        tuple(rows),
        (
            "Dominated: another point is at least as accurate, calls no more and costs no more in "
            "any known column, and is better in one.",
            "The band holds all points of its curve at once (sup-t over resampled "
            "clusters, which are examples where no cluster has several); it is never narrower "
            "than the pointwise interval.",
            "Random calls: the expectation where as many examples, drawn at random, have the call "
            "and the others keep what no_call does.",
            "Curves are drawn with held-out labels; no policy is selected on them.",
        ),
    )


def _row(audit: CallAudit, point: CurvePoint) -> dict[str, Any]:
    row: dict[str, Any] = {"curve": point.curve, **point.at}
    row["call_rate"] = float(point.costs["call_rate"].mean())
    for name in AXES[1:]:
        row[name] = _known(float(point.costs[name].sum()))
    if point.is_policy:
        right = point.right.astype(bool)
        return row | named_interval("accuracy", accuracy(right, audit.holdout.clusters))
    return row | {"accuracy": float(point.right.mean())}


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _add_band(rows: Sequence[dict[str, Any]], draws: Float[np.ndarray, "n_draws n"]) -> None:
    estimates = np.array([row["accuracy"] for row in rows])
    band = simultaneous_band(estimates, draws)
    for k, row in enumerate(rows):
        if "accuracy_low" not in row:
            row |= named_interval("accuracy", percentile_interval(estimates[k], draws[:, k], 0.95))
        row["band_low"] = min(max(0.0, float(band.low[k])), row["accuracy_low"])
        row["band_high"] = max(min(1.0, float(band.high[k])), row["accuracy_high"])


def _better(other: dict[str, Any], row: dict[str, Any]) -> bool:
    gain = [other["accuracy"] - row["accuracy"], row["call_rate"] - other["call_rate"]]
    for name in AXES[1:]:
        if (own := row.get(name)) is not None and (others := other.get(name)) is not None:
            gain.append(own - others)
    return min(gain) >= -NOISE and max(gain) > NOISE


def areas(audit: CallAudit, points: Sequence[CurvePoint]) -> ReportTable:
    """The area between full over all λ and no_call as frozen, over each axis of cost."""
    full = [point for point in points if point.selector == FULL]
    weight = audit.frozen.selectors[NO_CALL].weight_of_cost
    own = [point for point in points if point.selector == NO_CALL]
    (reference,) = [point for point in own if point.at["lambda"] == weight]
    axes = [a for a in AXES if all(np.isfinite(point.costs[a]).all() for point in full)]
    columns = [reference.right, *(point.right for point in full)]
    columns += [point.costs[axis] for axis in axes for point in full]
    means = np.vstack([[column.mean() for column in columns], resampled_means(audit, columns)])
    n = len(full)
    rows = []
    for k, axis in enumerate(axes):
        cost = means[:, 1 + n * (k + 1) : 1 + n * (k + 2)]
        area, reach = area_between(cost, means[:, 1 : 1 + n], means[:, 0])
        if reach[0] <= NOISE:
            continue
        gain = np.divide(area, reach, out=np.full_like(area, np.nan), where=reach > NOISE)
        scale = 1 if axis == "call_rate" else audit.holdout.n
        rows.append(
            {
                "axis": NAMES[axis][0],
                "unit": NAMES[axis][1],
                "from": scale * float(cost[0].min()) * (100 if scale == 1 else 1),
                "to": scale * float(cost[0].max()) * (100 if scale == 1 else 1),
                **known_interval("gain", interval_of_draws(float(gain[0]), gain[1:])),
            }
        )
    return ReportTable(
        "areas",
        "Mean gain of full over no_call along its curve",
        (
            TableColumn("axis", "over"),
            TableColumn("unit", "unit"),
            TableColumn("from", "from", "number"),
            TableColumn("to", "to", "number"),
            *with_interval("gain", "mean gain, points", "95 % CI, bootstrap of the curve"),
        ),
        tuple(rows),
        (
            "The area between full, joined over all λ in the order of cost, and no_call as it was "
            "frozen, over the range of cost that full has: what calls add on average over budgets. "
            "No_call costs the same at every λ. An axis on which full never varies is left out.",
        ),
    )
