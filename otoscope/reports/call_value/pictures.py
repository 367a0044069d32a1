"""Small pictures of answers: confusion of labels, and reliability of probabilities."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int
from markupsafe import Markup, escape

from otoscope.audits.call_value.audit import CallAudit
from otoscope.audits.call_value.contract import FULL, NO_CALL
from otoscope.reports.call_value.outcomes import policy_of
from otoscope.reports.confusion import confusion_pictures
from otoscope.reports.strips import css_class
from otoscope.reports.tables import Record, ReportTable, TableColumn

UNPARSED = "(unparsed)"


def confused(audit: CallAudit) -> dict[str, Int[np.ndarray, "n_labels n_answers"]]:
    """For full, no_call and each action: counts by label and prediction, the last unparsed."""
    gold, n = audit.holdout.gold, len(audit.contract.labels)
    assert gold is not None
    counts = {}
    for name in (FULL, NO_CALL, *(action.name for action in audit.holdout.actions)):
        predicted = policy_of(audit, name).predicted
        counts[name] = np.zeros((n, n + 1), dtype=np.int64)
        np.add.at(counts[name], (gold, np.where(predicted < 0, n, predicted)), 1)
    return counts


def confusion_table(audit: CallAudit) -> ReportTable:
    """A row for each policy and label, a column for each prediction."""
    labels = sorted(audit.contract.labels)
    rows = [
        {"policy": name, "label": label}
        | dict(zip((*labels, UNPARSED), map(int, row), strict=True))
        for name, counts in confused(audit).items()
        for label, row in zip(labels, counts, strict=True)
    ]
    return ReportTable(
        "confusion",
        "Confusion of labels: counts of held-out examples by true and predicted label",
        (
            TableColumn("policy", "policy"),
            TableColumn("label", "label"),
            *(TableColumn(label, f"→ {label}", "count") for label in (*labels, UNPARSED)),
        ),
        tuple(rows),
    )


def confusion_panels(audit: CallAudit) -> list[tuple[str, Markup]]:
    """A picture for each policy: rows are true labels, columns predictions."""
    labels = sorted(audit.contract.labels)
    return confusion_pictures(confused(audit), labels)


def reliability_panels(rows: Sequence[Record]) -> list[tuple[str, Markup]]:
    """Share correct over mean probability for each action, a mark for each bin of each split."""
    names = list(dict.fromkeys(row["action"] for row in rows))
    return [(name, _reliability(name, [r for r in rows if r["action"] == name])) for name in names]


def _reliability(name: str, rows: Sequence[Record]) -> Markup:
    left, top, extent = 26, 6, 160

    def x(share: float) -> float:
        return left + extent * share

    def y(share: float) -> float:
        return top + extent * (1 - share)

    parts = [f'<line class="chance" x1="{x(0.0)}" y1="{y(0.0)}" x2="{x(1.0)}" y2="{y(1.0)}"/>']
    for tick in (0.0, 0.5, 1.0):
        parts.append(
            f'<line class="grid" x1="{x(0.0)}" x2="{x(1.0)}" y1="{y(tick)}" y2="{y(tick)}"/>'
            f'<text x="{left - 4}" y="{y(tick) + 3.5}" text-anchor="end">{100 * tick:g}</text>'
            f'<text x="{x(tick)}" y="{y(0.0) + 13}" text-anchor="middle">{100 * tick:g}</text>'
        )
    largest = max(row["n"] for row in rows)
    for row in rows:
        title = escape(
            f"{row['split']}, {row['n']} examples: probability "
            f"{100 * row['mean_probability']:.1f} %, correct {100 * row['share_correct']:.1f} %"
        )
        radius = 1.5 + 5 * (row["n"] / largest) ** 0.5
        css = css_class(int(row["split"] == "holdout"))
        parts.append(
            f'<g class="{css}"><title>{title}</title><circle cx="{x(row["mean_probability"]):.1f}" '
            f'cy="{y(row["share_correct"]):.1f}" r="{radius:.1f}" style="opacity: .6"/></g>'
        )
    alt = f"Reliability of the probability that {name} is correct"
    return Markup('<svg class="panel" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        left + extent + 8, top + extent + 18, alt
    ) + Markup("".join(parts) + "</svg>")
